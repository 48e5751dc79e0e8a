"""The time grammar of `--since` and `--until`."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

from agent.terminal import one_line
from viewer.costing.calendars import local_zone

_AGO = re.compile(r"(\d+)([mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class BadTime(ValueError):
    """A time or a time zone that cannot be read; the text says what can."""


def zone(name: str | None) -> tzinfo:
    """The time zone of that name, or the local one. Raises BadTime."""
    if name is None:
        return local_zone()
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as error:
        raise BadTime(f"there is no time zone {name!r}: write one like Europe/Paris or UTC") from error


def moment(text: str, now: datetime, where: tzinfo) -> str:
    """`90m`, `2h`, `7d` (ago), `today`, `yesterday`, a date or a date and time, as UTC ISO 8601 text. Raises BadTime."""
    try:
        return iso(_moment(text.strip(), now, where))
    except OverflowError as error:
        raise BadTime(f"{text!r} is outside of the years 1 to 9999") from error


def iso(when: datetime) -> str:
    """As `runs.started_at` has it."""
    return when.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def clock(when: datetime, to: str = "minutes") -> str:
    """`2026-11-24 14:00`, without its zone; `strftime` writes the year 1 as `1`."""
    return when.replace(tzinfo=None).isoformat(" ", timespec=to)


def local(text: str | None, where: tzinfo) -> str:
    """UTC ISO 8601 text as local time, to the second; "" for none."""
    if not text:
        return ""
    return clock(datetime.fromisoformat(text).astimezone(where), "seconds")


def _moment(text: str, now: datetime, where: tzinfo) -> datetime:
    if match := _AGO.fullmatch(text):
        try:
            return now - timedelta(**{_UNITS[match[2]]: int(match[1])})
        except (OverflowError, ValueError) as error:
            raise BadTime(f"{one_line(text, 40)!r} is too long ago") from error
    if text in ("today", "yesterday"):
        day = now.astimezone(where).date() - timedelta(days=text == "yesterday")
        return datetime(day.year, day.month, day.day, tzinfo=where)
    try:
        when = datetime.fromisoformat(text)
    except ValueError as error:
        raise BadTime(
            f"{text!r} is no time: write 90m, 2h, 7d, today, yesterday, 2026-11-24 or 2026-11-24T14:00"
        ) from error
    return when if when.tzinfo else when.replace(tzinfo=where)

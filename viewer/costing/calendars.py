"""Hours, days, weeks and months of any time zone, as stretches of UTC.

A call belongs to the day that a clock on the wall showed when it began. The clock is put forward and back: a day has 23
or 25 hours, or is not there at all (Apia, 30 December 2011), or comes back after its end (St. John's put its clocks back
at a minute past midnight). So the stretches are cut where the zone's offset changes as well as at each local boundary,
and one day may be several of them. Where the offset stays for some time it is looked at once a day; no zone of the tz
database changes it twice within three.
"""

import os
import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

UNITS = ("hour", "day", "week", "month")

SECOND = 10**9
_HOUR, _DAY = 3600, 86_400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1).toordinal()


class Key(NamedTuple):
    """What rows are grouped by."""

    order: Any
    """Rows are sorted by it."""
    label: str | None
    """`2026-10-25T02:00+01:00`, `2026-10-25`, `2026-W43`, `2026-10`; or the name of something, None for none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """A stretch of time, `end_ns` not included, in which all of the keys stay the same."""

    start_ns: int
    end_ns: int
    keys: tuple[Key, ...]
    """One for each unit that was asked for."""


class LocalZone(tzinfo):
    """The time zone of this machine, as the C library knows it: for a TZ like `CET-1CEST`, which has no name."""

    def utcoffset(self, when: datetime | None) -> timedelta | None:
        if when is None:
            return None
        fields = (*when.timetuple()[:8], -1)
        return timedelta(seconds=time.localtime(time.mktime(fields)).tm_gmtoff)

    def dst(self, when: datetime | None) -> timedelta | None:
        return None

    def tzname(self, when: datetime | None) -> str:
        return "local time"

    def fromutc(self, when: datetime) -> datetime:
        offset = time.localtime((when.replace(tzinfo=UTC) - _EPOCH) // timedelta(seconds=1)).tm_gmtoff
        return when + timedelta(seconds=offset)

    def __str__(self) -> str:
        return "local time"


def local_zone() -> tzinfo:
    """The zone of this machine with all its changes; the one of `datetime.astimezone` has the offset of now alone."""
    name = os.environ.get("TZ")
    if name is None:
        name = str(Path("/etc/localtime").resolve()).partition("zoneinfo/")[2] or "no name"
    try:
        return ZoneInfo(name.removeprefix(":") or "UTC")
    except (OSError, ValueError, KeyError):
        return LocalZone()


def stretches(start_ns: int, end_ns: int, where: tzinfo, units: Sequence[str]) -> list[Stretch]:
    """The time from `start_ns` to `end_ns`, cut into as few stretches as the units allow."""
    if start_ns >= end_ns:
        return []
    found: list[Stretch] = []
    for start, end, keys in _cut(start_ns // SECOND, -(-end_ns // SECOND), where, units):
        begins = found.pop().start_ns if found and found[-1].keys == keys else max(start * SECOND, start_ns)
        found.append(Stretch(start_ns=begins, end_ns=min(end * SECOND, end_ns), keys=keys))
    return found


def edges(cut: Sequence[Stretch]) -> list[int]:
    return [one.start_ns for one in cut] + [one.end_ns for one in cut[-1:]]


def _cut(start: int, end: int, where: tzinfo, units: Sequence[str]) -> Iterator[tuple[int, int, tuple[Key, ...]]]:
    if not units:
        yield start, end, ()
        return
    size = _HOUR if "hour" in units else _DAY
    for begin, until, offset in _steady(start, end, where):
        first = (begin + offset) // size
        last = (until - 1 + offset) // size
        cuts = [begin, *(number * size - offset for number in range(first + 1, last + 1)), until]
        for one, other in pairwise(cuts):
            local = one + offset
            day = date.fromordinal(_EPOCH_DAY + local // _DAY)
            yield one, other, tuple(_key(unit, day, local, offset) for unit in units)


def _key(unit: str, day: date, local: int, offset: int) -> Key:
    if unit == "hour":
        hour = local - local % _HOUR
        return Key(hour - offset, f"{day}T{hour % _DAY // _HOUR:02}:00{_written(offset)}")
    if unit == "day":
        return Key(day.toordinal(), str(day))
    if unit == "week":
        year, week, _ = day.isocalendar()
        return Key((year, week), f"{year:04}-W{week:02}")
    return Key((day.year, day.month), f"{day.year:04}-{day.month:02}")


def _written(offset: int) -> str:
    hours, rest = divmod(abs(offset), _HOUR)
    seconds = f":{rest % 60:02}" if rest % 60 else ""
    return f"{'-' if offset < 0 else '+'}{hours:02}:{rest // 60:02}{seconds}"


def _steady(start: int, end: int, where: tzinfo) -> Iterator[tuple[int, int, int]]:
    """The times within which the offset stays, and the offset."""
    begin, at, offset = start, start, _offset(start, where)
    while at < end:
        after = min(at + _DAY, end)
        if _offset(after, where) != offset:
            after = _change(at, after, where)
            yield begin, after, offset
            begin, offset = after, _offset(after, where)
        at = after
    if begin < end:
        yield begin, end, offset


def _change(at: int, after: int, where: tzinfo) -> int:
    """The first second with another offset, where there is one change."""
    offset = _offset(at, where)
    return at + bisect_right(range(at, after), 0, key=lambda second: int(_offset(second, where) != offset))


def _offset(second: int, where: tzinfo) -> int:
    utc = _EPOCH + timedelta(seconds=second)
    return (utc.astimezone(where).replace(tzinfo=UTC) - utc) // timedelta(seconds=1)

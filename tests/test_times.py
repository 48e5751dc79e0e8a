"""The times that `--since` and `--until` take."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from viewer.times import BadTime, iso, local, moment, zone

NOW = datetime(2026, 11, 24, 12, 30, 15, 250_000, tzinfo=UTC)
PARIS = ZoneInfo("Europe/Paris")
TOKYO = ZoneInfo("Asia/Tokyo")
NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("90m", "2026-11-24T11:00:15.250000Z"),
        ("2h", "2026-11-24T10:30:15.250000Z"),
        ("7d", "2026-11-17T12:30:15.250000Z"),
        ("1w", "2026-11-17T12:30:15.250000Z"),
        ("0m", "2026-11-24T12:30:15.250000Z"),
        ("today", "2026-11-23T23:00:00.000000Z"),
        ("yesterday", "2026-11-22T23:00:00.000000Z"),
        ("2026-11-24", "2026-11-23T23:00:00.000000Z"),
        ("2026-07-01", "2026-06-30T22:00:00.000000Z"),
        ("2026-11-24T14:00", "2026-11-24T13:00:00.000000Z"),
        ("2026-11-24 14:00:30.5", "2026-11-24T13:00:30.500000Z"),
        (" 2026-11-24T14:00 ", "2026-11-24T13:00:00.000000Z"),
        ("2026-11-24T14:00Z", "2026-11-24T14:00:00.000000Z"),
        ("2026-11-24T14:00-05:00", "2026-11-24T19:00:00.000000Z"),
    ],
)
def test_a_time_is_read_in_the_given_zone_and_becomes_utc(text: str, utc: str) -> None:
    assert moment(text, NOW, PARIS) == utc


def test_today_is_the_day_of_the_zone() -> None:
    late = datetime(2026, 11, 24, 23, 30, tzinfo=UTC)
    assert moment("today", late, TOKYO) == "2026-11-24T15:00:00.000000Z"
    assert moment("today", late, NEW_YORK) == "2026-11-24T05:00:00.000000Z"


def test_yesterday_is_the_day_before_also_when_the_clocks_change() -> None:
    after_the_change = datetime(2026, 10, 25, 12, 0, tzinfo=UTC)
    assert moment("yesterday", after_the_change, PARIS) == "2026-10-23T22:00:00.000000Z"
    assert moment("today", after_the_change, PARIS) == "2026-10-24T22:00:00.000000Z"


@pytest.mark.parametrize(
    "text", ["", "soon", "7", "7y", "-2h", "2 h", "1.5h", "2026-13-01", "2026-11-24T25:00", "11/24/2026", "tomorrow"]
)
def test_what_is_no_time_says_what_is(text: str) -> None:
    with pytest.raises(BadTime) as error:
        moment(text, NOW, UTC)
    assert str(error.value) == (
        f"{text!r} is no time: write 90m, 2h, 7d, today, yesterday, 2026-11-24 or 2026-11-24T14:00"
    )


@pytest.mark.parametrize("text", ["9999999d", "99999999999999d", "9" * 5000 + "h"])
def test_a_time_too_long_ago_is_refused(text: str) -> None:
    with pytest.raises(BadTime, match="is too long ago"):
        moment(text, NOW, UTC)


@given(st.text("0123456789-:TZ+.wdhm ", max_size=30) | st.datetimes().map(str), st.sampled_from([UTC, TOKYO, NEW_YORK]))
@example("0001-01-01", TOKYO)
@example("9999-12-31T23:59", NEW_YORK)
def test_every_text_is_a_time_or_refused(text: str, where: ZoneInfo) -> None:
    try:
        found = moment(text, NOW, where)
    except BadTime:
        return
    assert len(found) == len("2026-11-24T12:30:15.250000Z")
    assert iso(datetime.fromisoformat(found)) == found


@pytest.mark.parametrize("name", ["Nowhere/City", "", "Europe", "../etc/passwd", "/etc/localtime", "a\0b", "\udcff"])
def test_what_is_no_zone_says_how_one_is_written(name: str) -> None:
    with pytest.raises(BadTime) as error:
        zone(name)
    assert str(error.value) == f"there is no time zone {name!r}: write one like Europe/Paris or UTC"


def test_a_zone_has_a_name_or_is_the_local_one() -> None:
    assert zone("Europe/Paris") == PARIS
    assert datetime(2026, 1, 1, tzinfo=zone(None)).utcoffset() is not None


def test_a_stored_time_is_shown_in_the_zone_to_the_second() -> None:
    assert local("2026-11-24T23:30:15.987654Z", TOKYO) == "2026-11-25 08:30:15"
    assert local(None, TOKYO) == ""

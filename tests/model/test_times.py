"""Times, as people and clients see them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.builders import NOON
from tsuzuki.model.times import EARLIEST, LATEST, Millis, bounded, from_datetime, from_iso, iso


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (NOON, "2026-02-22T12:00:00.000Z"),
        (NOON + 5, "2026-02-22T12:00:00.005Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
    ],
)
def test_a_moment_reads_both_ways(moment, text):
    assert iso(Millis(moment)) == text
    assert from_iso(text) == moment


@pytest.mark.parametrize("text", ["2026-02-22T13:00:00+01:00", "2026-02-22T12:00:00", "2026-02-22 12:00:00Z"])
def test_other_ways_to_write_it_are_read(text):
    assert from_iso(text) == NOON


def test_a_date_keeps_its_milliseconds_exactly():
    moment = datetime(2026, 2, 22, 12, 0, 0, 123_999, tzinfo=UTC)
    assert from_datetime(moment) == NOON + 123
    assert from_datetime(moment.astimezone(timezone(timedelta(hours=9)))) == NOON + 123


def test_what_names_no_moment_is_refused():
    with pytest.raises(ValueError, match="Invalid"):
        from_iso("yesterday")


@pytest.mark.parametrize("moment", [-(2**63), EARLIEST - 1, EARLIEST])
def test_what_lies_before_all_calendars_is_their_first_moment(moment):
    assert bounded(moment) == EARLIEST
    assert iso(Millis(moment)) == "0001-01-02T00:00:00.000Z"


@pytest.mark.parametrize("moment", [LATEST, LATEST + 1, 2**63 - 1])
def test_what_lies_beyond_all_calendars_is_their_last_moment(moment):
    assert bounded(moment) == LATEST
    assert iso(Millis(moment)) == "9999-12-30T23:59:59.999Z"


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59.999999-23:59", "0001-01-01T00:00:00+23:59"])
def test_a_date_beyond_the_calendar_is_written_anew(text):
    assert from_iso(iso(from_iso(text))) == from_iso(text)

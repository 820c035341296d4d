"""Times and numbers as readers write them."""

import pytest

from tsuzuki.model.times import DAY, HOUR, MINUTE, SECOND, Millis
from tsuzuki.web.locale import Locale, is_zone, locale_of

NOON = Millis(1_771_761_600_000)
"""2026-02-22T12:00:00Z, a Sunday."""


@pytest.mark.parametrize(
    ("language", "clock", "expected"),
    [
        ("en-US,en;q=0.9", "auto", "February 22, 2026, 12:00 pm UTC"),
        ("en-GB", "auto", "22 February 2026, 12:00 UTC"),
        ("de-DE,de;q=0.9", "auto", "22 February 2026, 12:00 UTC"),
        ("hi", "auto", "22 February 2026, 12:00 pm UTC"),
        ("en-US", "24", "February 22, 2026, 12:00 UTC"),
        ("de", "12", "22 February 2026, 12:00 pm UTC"),
        ("", "auto", "22 February 2026, 12:00 UTC"),
        ("*;q=0.1", "auto", "22 February 2026, 12:00 UTC"),
    ],
)
def test_a_moment_is_written_by_languages_and_clock(language, clock, expected):
    assert locale_of(language, clock=clock).moment(NOON) == expected


@pytest.mark.parametrize(
    ("language", "expected"),
    [("en", "1,234,567"), ("de", "1.234.567"), ("fr", "1\u202f234\u202f567"), ("sv", "1\u202f234\u202f567")],
)
def test_a_number_has_the_readers_mark_between_thousands(language, expected):
    assert locale_of(language).number(1_234_567) == expected


def test_a_zone_moves_clock_and_day():
    tokyo = locale_of("ja", zone="Asia/Tokyo")
    assert tokyo.moment(NOON) == "22 February 2026, 21:00"
    late = Millis(NOON + 4 * HOUR)
    assert tokyo.day(late, Millis(NOON + 5 * HOUR)) == "Today"
    assert tokyo.day(NOON, late) == "Yesterday"
    assert locale_of("ja").day(NOON, late) == "Today"


@pytest.mark.parametrize("at", [-(2**63), -62_135_596_800_000, 253_402_300_799_999, 2**63 - 1])
@pytest.mark.parametrize("zone", ["", "America/Los_Angeles", "Pacific/Kiritimati"])
def test_dates_at_the_calendars_ends_show_in_every_zone(at, zone):
    """REL-30: feeds say year 1 for "no date", and 9999 for "always on top"."""
    here = locale_of("en", zone=zone)
    assert here.moment(Millis(at))
    assert here.day(Millis(at), NOON)
    assert here.ago(Millis(at), NOON)


@pytest.mark.parametrize("name", ["", "Nowhere/At/All", "../../etc/passwd", "/etc/localtime", "\0"])
def test_what_is_no_zone_counts_as_none(name):
    assert not is_zone(name)
    assert locale_of("en", zone=name).zone == ""


@pytest.mark.parametrize(
    ("passed", "expected"),
    [
        (0, "now"),
        (59 * SECOND, "now"),
        (5 * MINUTE, "5 min ago"),
        (3 * HOUR + MINUTE, "3 h ago"),
        (2 * DAY, "2 d ago"),
        (8 * DAY, "14 February 2026"),
        (-10 * SECOND, "any moment now"),
        (-5 * MINUTE, "in 5 min"),
        (-3 * HOUR, "in 3 h"),
        (-2 * DAY, "in 2 d"),
        (-8 * DAY, "2 March 2026"),
    ],
)
def test_how_long_ago_is_said_in_few_words(passed, expected):
    assert Locale().ago(Millis(NOON - passed), NOON) == expected


def test_a_day_shows_its_year_only_when_needed():
    assert Locale().day(Millis(NOON - 4 * DAY), NOON) == "Wednesday, 18 February"
    assert Locale(writing="en_US").day(Millis(NOON - 4 * DAY), NOON) == "Wednesday, February 18"
    assert Locale().day(Millis(NOON - 60 * DAY), NOON) == "Wednesday, 24 December 2025"

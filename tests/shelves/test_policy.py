"""Which release is taken, what is missing, and how a source fares."""

from typing import Any

import pytest

from tests.builders import NOON
from tsuzuki.model.ids import ChapterId, ReleaseId, SeriesSourceId, SourceId
from tsuzuki.shelves.policy import Gap, gaps, health, preferred, stop_reason, stopped_by
from tsuzuki.shelves.types import ReleasePreferences, SeriesRelease, SeriesSourceState


def a_release(number: int, **over: Any) -> SeriesRelease:
    values: dict[str, Any] = {
        "id": ReleaseId(number),
        "chapter_id": ChapterId(1),
        "series_source_id": SeriesSourceId(1),
        "source_id": SourceId(1),
        "source_name": "Source",
        "url": "https://example.org",
        "title": "",
        "language": "en",
        "group_name": None,
        "published_at": NOON,
        "first_seen_at": NOON,
        "page_count": -1,
        "is_available": True,
        "is_readable": True,
        "is_on": True,
    }
    return SeriesRelease(**values | over)


@pytest.mark.parametrize(
    ("wanted", "first", "second"),
    [
        pytest.param({}, {"published_at": NOON + 1}, {}, id="the newest, without a wish"),
        pytest.param({}, {"published_at": None, "first_seen_at": NOON + 1}, {}, id="seen, where no date is known"),
        pytest.param({}, {"id": ReleaseId(9)}, {}, id="the last stored, of the same moment"),
        pytest.param({"sources": (2, 1)}, {"source_id": 2}, {"published_at": NOON + 1}, id="the better source"),
        pytest.param({"sources": (2,)}, {"source_id": 2}, {"source_id": 3}, id="a named source before others"),
        pytest.param({"groups": ("B", "A")}, {"group_name": " b "}, {"group_name": "A"}, id="the better group"),
        pytest.param({"languages": ("de", "EN")}, {"language": "DE"}, {"language": "en"}, id="the better language"),
        pytest.param(
            {"sources": (2,), "groups": ("A",)},
            {"source_id": 2, "group_name": "B"},
            {"source_id": 1, "group_name": "A"},
            id="sources before groups",
        ),
        pytest.param(
            {"groups": ("A",), "languages": ("de", "en")},
            {"group_name": "A", "language": "en"},
            {"group_name": "B", "language": "de"},
            id="groups before languages",
        ),
        pytest.param(
            {"sources": (2,), "languages": ("en",)},
            {"source_id": 1, "language": "en"},
            {"source_id": 2, "language": "fr"},
            id="a language that nobody named comes after all",
        ),
        pytest.param({"sources": (2,)}, {"source_id": 1}, {"source_id": 2, "is_available": False}, id="what is there"),
        pytest.param(
            {"sources": (2,)}, {"source_id": 1}, {"source_id": 2, "is_readable": False}, id="what is readable"
        ),
        pytest.param({"sources": (2,)}, {"source_id": 1}, {"source_id": 2, "is_on": False}, id="a source that is on"),
    ],
)
def test_the_preferred_release(wanted, first, second):
    better, worse = a_release(1, **first), a_release(2, **second)
    assert preferred([worse, better], ReleasePreferences(**wanted)) == better
    assert preferred([better, worse], ReleasePreferences(**wanted)) == better


def test_a_chapter_without_a_release_has_no_preferred_one():
    assert preferred([], ReleasePreferences()) is None


def test_what_cannot_be_read_is_preferred_to_nothing():
    gone = a_release(1, is_available=False)
    assert preferred([gone], ReleasePreferences()) == gone


M = 10**6


@pytest.mark.parametrize(
    ("numbers", "missing", "ranges"),
    [
        pytest.param([], 0, [], id="nothing"),
        pytest.param([7 * M], 0, [], id="one"),
        pytest.param([1 * M, 2 * M, 3 * M], 0, [], id="all there"),
        pytest.param([2 * M, 5 * M, 9 * M], 5, [(6, 8), (3, 4)], id="the highest gap first"),
        pytest.param([1 * M, 2 * M + 500_000, 3 * M], 1, [(2, 2)], id="a decimal fills no gap"),
        pytest.param([1 * M, 2 * M, 9 * M + 500_000], 0, [], id="a decimal makes no gap"),
        pytest.param([0, 2 * M], 1, [(1, 1)], id="a prologue counts"),
        pytest.param([M, M, 3 * M], 1, [(2, 2)], id="twice is once"),
        pytest.param([1 * M, 20_240_101 * M], 20_240_099, [(2, 20_240_100)], id="dates for numbers cost nothing"),
    ],
)
def test_gaps_are_whole_numbers_that_no_source_has(numbers, missing, ranges):
    found = gaps(numbers, ["1", "9"] if numbers else [])
    assert (found.missing, found.ranges) == (missing, [Gap(*each) for each in ranges])


def test_volumes_count_where_no_chapter_has_a_number():
    found = gaps([], ["1", "4", "2.5", "Extra"])
    assert (found.of, found.missing, found.ranges) == ("volumes", 2, [Gap(2, 3)])
    assert gaps([M], ["1", "4"]).missing == 0


def test_a_long_list_of_gaps_is_cut_and_says_so():
    found = gaps([number * M for number in range(1, 21, 2)], [], most=3)
    assert (found.missing, found.ranges, found.is_cut) == (9, [Gap(18, 18), Gap(16, 16), Gap(14, 14)], True)


@pytest.mark.parametrize(
    ("over", "said"),
    [
        ({}, "ok"),
        ({"last_checked_at": None}, "new"),
        ({"failures": 1}, "failing"),
        ({"failures": 5}, "broken"),
        ({"is_on": False, "failures": 5}, "off"),
        ({"suspended_reason": "gone"}, "off"),
        ({"paused_at": NOON, "failures": 1}, "paused"),
        ({"paused_at": NOON, "is_on": False}, "off"),
    ],
)
def test_how_a_source_fares(over, said):
    assert health(a_source(**over)) == said


@pytest.mark.parametrize(
    ("over", "stop", "reason"),
    [
        ({}, None, None),
        ({"failures": 5}, None, None),
        ({"is_source_on": False, "is_on": False, "paused_at": NOON, "paused_reason": "moving"}, "source_off", None),
        ({"is_on": False, "suspended_reason": "gone"}, "series_off", None),
        ({"suspended_reason": "gone", "paused_at": NOON}, "suspended", "gone"),
        ({"paused_at": NOON, "paused_reason": ""}, "paused", None),
        ({"paused_at": NOON, "paused_reason": "moving"}, "paused", "moving"),
    ],
)
def test_why_a_source_is_not_called(over, stop, reason):
    source = a_source(**over)
    assert (stopped_by(source), stop_reason(source)) == (stop, reason)


def a_source(**over: Any) -> SeriesSourceState:
    values: dict[str, Any] = {
        "id": 1,
        "source_id": 1,
        "source_name": "S",
        "language": "en",
        "title": "",
        "url": "",
        "is_on": True,
        "is_source_on": True,
        "source_failures": 0,
        "last_checked_at": NOON,
        "last_success_at": NOON,
        "next_check_at": NOON,
        "suspended_reason": None,
        "last_error": None,
        "failures": 0,
        "paused_at": None,
        "paused_reason": None,
        "releases": 1,
    }
    return SeriesSourceState(**values | over)

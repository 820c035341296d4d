from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import hold
from tests.connectors.chapter_name_table import rows
from tests.growth import within
from tests.scale import examples
from tsuzuki.connectors.chapter_names import NameReading, newest_first, read_name, without_restarts
from tsuzuki.model.harvest import FoundChapter
from tsuzuki.model.numbers import number_key, sort_value


def said(number):
    return "-" if number is None else number_key(number)


def test_the_table_holds_at_least_120_different_names():
    assert len({name for name, _, _ in rows()}) >= 120


def test_a_name_says_its_number_and_volume():
    def check(row: tuple[str, str, str]) -> None:
        name, number, volume = row
        reading = read_name(name)
        assert (said(reading.number), said(reading.volume)) == (number, volume)

    hold(check, rows())


@pytest.mark.parametrize(
    ("name", "series", "number"),
    [
        ("7 Deadly Things - 12", "7 Deadly Things", "12"),
        ("7 DEADLY THINGS #12", "7 Deadly Things", "12"),
        ("100 Ways to Go", "100 Ways to Go", "100"),
        ("Room 303", "Room 303", "303"),
        ("Area 51 Chapter 2", "Area 51", "2"),
        ("12", "1", "12"),
    ],
)
def test_digits_of_the_series_own_title_are_not_the_chapters(name, series, number):
    assert said(read_name(name, series).number) == number


@pytest.mark.parametrize(
    "hostile",
    [
        "chapter " * 20_000,
        "1" * 200_000,
        "[" * 200_000,
        "(" * 100 + "1" * 100_000,
        "vol.....1" * 20_000,
        "第" * 200_000,
        "1." * 100_000,
        "一" * 200_000,
        "ﷺ" * 50_000,
        "ch.no.no.no" * 20_000,
        "chapter i" * 20_000,
        " " * 200_000 + "1",
        "1,1" * 50_000,
    ],
)
def test_sec_21_a_hostile_name_is_read_in_no_time(hostile):
    within(0.5, lambda: [read_name(hostile, hostile[:300]) for _ in range(10)])


@given(st.one_of(st.text(), st.from_regex(r"(vol|ch|season|第|#|\[)?[ .]?\d{0,12}[.,-]?\d{0,6}(話|v2|a)? ?\w{0,9}")))
@examples(3000)
def test_any_name_gives_numbers_that_can_be_sorted_or_none(name):
    for number in (read_name(name).number, read_name(name, name[:4]).number, read_name(name).volume):
        assert number is None or sort_value(number) is not None


def test_a_name_without_any_sign_says_nothing():
    assert read_name("") == NameReading()


def chapters(*pairs):
    return tuple(
        FoundChapter(
            url=f"/{volume}/{number}",
            title="",
            number=Decimal(number),
            volume=None if volume is None else Decimal(volume),
        )
        for volume, number in pairs
    )


def test_r3_a_season_counting_from_one_is_a_new_one():
    numbers = [found.number for found in without_restarts(chapters((1, 1), (1, 2), (2, 1), (2, 2), (2, 3)))]
    assert numbers == [Decimal(1), Decimal(2), None, None, None]


def test_volumes_that_continue_or_overlap_keep_their_numbers():
    going_on = chapters((1, 1), (1, 2), (2, 3), (None, 4))
    overlapping = chapters((1, 1), (1, 2), (2, 2), (2, 3))
    assert without_restarts(going_on) == going_on
    assert without_restarts(overlapping) == overlapping


def test_r11_chapters_sort_by_number_and_extras_keep_their_place():
    extra = FoundChapter(url="/extra", title="Extra")
    first, tenth, second = chapters((None, 1), (None, 10), (None, 2))
    assert newest_first((first, extra, second, tenth)) == (tenth, second, extra, first)
    assert newest_first((extra, tenth, first)) == (tenth, first, extra)

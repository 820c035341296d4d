from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.scale import examples
from tsuzuki.model.harvest import FoundChapter
from tsuzuki.model.numbers import chapter_key, number_key, parse_number, release_key, sort_value

BIGINT = 2**63 - 1


def a_chapter(**over):
    return FoundChapter(**({"url": "https://site.example/c/1", "title": "One"} | over))


@pytest.mark.parametrize(
    ("given_as", "key"),
    [
        ("45", "45"),
        ("45.0", "45"),
        ("045", "45"),
        ("45.10", "45.1"),
        ("45.1", "45.1"),
        ("4.5e1", "45"),
        ("4.5E+1", "45"),
        ("450e-1", "45"),
        (" 45 ", "45"),
        ("45.", "45"),
        (".5", "0.5"),
        ("+45", "45"),
        ("４５．５", "45.5"),
        ("0", "0"),
        ("000", "0"),
        ("-0", None),
        (0, "0"),
        (45, "45"),
        (Decimal("45.50"), "45.5"),
        (1_000_000_000, "1000000000"),
        ("1e9", "1000000000"),
        ("100", "100"),
        ("1200.000000", "1200"),
        ("10.199999809265137", "10.2"),
        ("0.0000001", "0"),
        ("9223372036854", "9223372036854"),
        ("9223372036855", None),
        ("1e13", None),
        ("1e999", None),
        ("1e999999999", None),
        (10**40, None),
        (Decimal("1e999999"), None),
        (Decimal(-3), None),
        (Decimal("NaN"), None),
        (Decimal("Infinity"), None),
        (None, None),
        ("", None),
        ("Extra", None),
        (-1, None),
        ("-1", None),
        ("nan", None),
        ("infinity", None),
        ("1_000", None),
        ("45,5", None),
        ("45.5.1", None),
        ("0x2d", None),
        ("½", None),
        ("9" * 10_000, None),
        (True, None),
    ],
)
def test_rel_04_r2_a_number_has_one_canonical_key_however_it_is_written(given_as, key):
    number = parse_number(given_as)
    assert (None if number is None else number_key(number)) == key


@pytest.mark.parametrize(
    ("smaller", "larger"), [("9", "10"), ("45.1", "45.11"), ("45.9", "45.10e1"), ("0", "0.5"), ("99.999999", "100")]
)
def test_r2_numbers_are_sorted_by_value_and_not_as_text(smaller, larger):
    low, high = sort_value(parse_number(smaller)), sort_value(parse_number(larger))
    assert low is not None
    assert high is not None
    assert low < high


def test_r2_the_sortable_value_is_exact_millionths():
    assert sort_value(parse_number("45.1")) == 45_100_000
    assert sort_value(parse_number("0.000001")) == 1
    assert sort_value(parse_number("9223372036854")) == 9_223_372_036_854_000_000
    assert sort_value(None) is None


@given(st.one_of(st.text(max_size=80), st.integers(), st.decimals(), st.from_regex(r"\d{1,20}\.\d{1,20}")))
@examples(3000)
def test_any_value_gives_a_bigint_key_or_no_number(value):
    number = parse_number(value)
    if number is None:
        return
    sortable = sort_value(number)
    assert sortable is not None
    assert 0 <= sortable <= BIGINT
    assert parse_number(number_key(number)) == number
    assert len(number_key(number)) <= 20


def test_r3_the_sources_own_id_comes_first():
    assert release_key(a_chapter(source_key="abc", number=Decimal(1))) == "id:abc"
    assert chapter_key(a_chapter(source_key="abc", number=Decimal("1.0"))) == "1"


def test_r3_a_release_without_id_is_known_by_its_attributes():
    first = a_chapter(number=Decimal("45.0"), volume=Decimal(2), language="en", group="Some  Scans")
    same = a_chapter(
        number=Decimal(45), volume=Decimal("2.0"), language="en", group="some scans", url="https://other.example/"
    )
    other = a_chapter(number=Decimal(45), volume=Decimal(2), language="en", group="Others")
    assert release_key(first) == release_key(same)
    assert release_key(first) != release_key(other)
    assert chapter_key(first) == chapter_key(other) == "45"


def test_r3_separators_in_words_cannot_make_keys_collide():
    assert release_key(a_chapter(number=Decimal(1), language="a/b", group="c")) != release_key(
        a_chapter(number=Decimal(1), language="a", group="b/c")
    )


def test_r3_unnumbered_chapters_stay_apart_by_their_address():
    extra, oneshot = a_chapter(url="https://s.example/c/extra"), a_chapter(url="https://s.example/c/oneshot")
    assert chapter_key(extra) != chapter_key(oneshot)


def test_r5_a_new_host_makes_no_new_unnumbered_chapter():
    assert release_key(a_chapter(url="http://old.example/c/extra/")) == release_key(
        a_chapter(url="https://new.example/c/extra")
    )
    assert release_key(a_chapter(url="https://s.example/read?id=1")) != release_key(
        a_chapter(url="https://s.example/read?id=2")
    )


def test_an_address_that_is_no_url_is_still_an_identity():
    assert release_key(a_chapter(url="http://[::1")) == "url:http://[::1"
    assert release_key(a_chapter(url="local:a/b.cbz")) == "url:local:a/b.cbz"

"""How the Google Reader API names items, streams and moments."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tsuzuki.model.errors import Invalid
from tsuzuki.protocols.google_reader.names import (
    StreamName,
    long_id,
    name_of_label,
    read_item_id,
    read_moment,
    read_stream,
    shown_label,
)

LONG = "tag:google.com,2005:reader/item/"
KNOWN = {
    "5d0cfa30041d4348": 6705009029382226760,
    "024025978b5e50d2": 162170919393841362,
    "fb115bd6d34a8e9f": -355401917359550817,
}


@pytest.mark.parametrize(("digits", "number"), KNOWN.items())
def test_known_pairs_convert_both_ways(digits, number):
    assert long_id(number) == LONG + digits
    assert read_item_id(LONG + digits) == read_item_id(digits) == read_item_id(str(number)) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (f"{LONG}000000000000002a", 42),
        (f"{LONG}2f2", 0x2F2),
        (f"{LONG}42", 0x42),
        ("000000000000002a", 42),
        ("0000000000000042", 0x42),
        ("42", 42),
        (" 42 ", 42),
        ("-42", -42),
        ("042", 0x42),
        ("2f2", 0x2F2),
        ("0", 0),
        (str(2**63 - 1), 2**63 - 1),
        (str(-(2**63)), -(2**63)),
        (str(2**63), None),
        (str(2**64), None),
        (f"{LONG}{2**64:x}", None),
        ("9" * 5000, None),
        ("zz", None),
        ("", None),
        (LONG, None),
        ("４２", None),
        ("4_2", None),
        ("42.0", None),
        (f"{LONG}-2a", None),
        ("feed/7", None),
        ("0x2a", None),
        ("42\x00", None),
    ],
)
def test_items_are_named_in_five_ways(text, number):
    assert read_item_id(text) == number


@given(some.integers(1, 10**15 - 1))
def test_our_numbers_come_back_in_either_form(number):
    assert read_item_id(long_id(number)) == read_item_id(str(number)) == number


@given(some.text())
def test_no_text_breaks_the_names(text):
    read_item_id(text)
    read_stream(text)


@pytest.mark.parametrize(
    ("text", "stream"),
    [
        ("feed/7", StreamName("feed", "7")),
        ("feed/feed/7", StreamName("feed", "7")),
        ("feed/https://a.example/feed/", StreamName("feed", "https://a.example/feed/")),
        ("user/-/label/Tech／Go", StreamName("label", "Tech／Go")),
        ("user/1/label/a/b", StreamName("label", "a/b")),
        ("user/ann/state/com.google/read", StreamName("state", "read")),
        ("", StreamName("state", "reading-list")),
        ("reading-list", StreamName("state", "reading-list")),
    ],
)
def test_streams_are_named_with_any_user(text, stream):
    assert read_stream(text) == stream
    assert stream.id.startswith(("feed/", "user/-/"))


def test_a_slash_in_a_label_is_shown_as_another_character():
    assert shown_label("Tech/Go") == "Tech／Go"
    assert name_of_label("Tech／Go") == "Tech/Go"


@pytest.mark.parametrize(
    ("text", "at", "end"),
    [
        ("1767225600", 1767225600000, 1767225600999),
        ("1767225600123", 1767225600123, 1767225600123),
        ("1767225600123456", 1767225600123, 1767225600123),
        ("1767225600123456789", 1767225600123, 1767225600123),
        ("Thu, 01 Jan 2026 00:00:00 GMT", 1767225600000, 1767225600999),
        ("Thu, 01 Jan 2026 00:00:00 -0000", 1767225600000, 1767225600999),
        ("", None, None),
        ("0", None, None),
        ("000", None, None),
        ("-1", 0, 0),
        ("-3217862419201", 0, 0),  # Twine's, before its first sync
        ("1767225600.25", 1767225600000, 1767225600999),
        ("Wed, 31 Dec 1969 00:00:00 GMT", 0, 0),
    ],
)
def test_moments_have_the_unit_of_their_digits(text, at, end):
    assert (read_moment(text), read_moment(text, is_end=True)) == (at, end)


@pytest.mark.parametrize("text", ["yesterday", "--1", ".5", "1e9", "１", "Mon, 99 Foo 9999 99:99:99 GMT", ","])
def test_what_is_no_moment_is_refused(text):
    with pytest.raises(Invalid):
        read_moment(text)

"""Character references, those that nobody writes included."""

import pytest

from tests.growth import within
from tsuzuki.model.titles import unescaped
from tsuzuki.model.tokens import text_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a &amp; b &#38; c &#x26;", "a & b & c &"),
        ("&#1114112; &#xfffffff;", "\ufffd \ufffd"),
        ("&#" + "9" * 5_000 + ";x", "\ufffdx"),
        ("&#x" + "f" * 5_000 + "; x", "\ufffd x"),
        ("&#; &#x; &nonsense;", "&#; &#x; &nonsense;"),
    ],
)
def test_a_reference_is_read_or_is_no_character(text, expected):
    assert unescaped(text) == expected


def test_many_tag_beginnings_are_read_in_linear_time():
    """SEC-20: what a source says of a series may be anything."""
    text = "a<b>c" + "<" * 300_000
    assert within(1.0, lambda: text_of(text)) == "a c" + "<" * 300_000

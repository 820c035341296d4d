"""REL-37: what no document may hold goes, and nothing else does."""

import re

from hypothesis import given
from hypothesis import strategies as st

from tests.scale import examples
from tsuzuki.connectors.html.sanitiser import valid_text

NEVER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def test_every_character_goes_or_stays_as_defined():
    """In a short text and in a long one, which are looked at in different ways."""
    every = [chr(code) for code in (*range(0x3100), *range(0xD700, 0x10100), 0x1F600, 0x1FFFF, 0x10FFFF)]
    for rest in ("", "words " * 30, "слова\n" * 30):
        assert [each for each in every if valid_text(rest + each) != rest + NEVER.sub("", each)] == []


@given(st.text(st.characters(codec=None) | st.sampled_from("\x00\x0b\t\n\r\x7f\x85\ud800\udfff\ufdd0\uffff！")))
@examples(2_000)
def test_a_text_keeps_all_that_is_text(text: str):
    for repeated in (text, text * 20):
        assert valid_text(repeated) == NEVER.sub("", repeated)

"""What a text is found by."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tsuzuki.model.tokens import LONGEST_TOKEN, MOST_TOKENS, Term, parse_terms, text_of, tokens

CASES = [
    ("", []),
    ("Hello, World!", ["hello", "world"]),
    ("Café naïve Übung", ["cafe", "naive", "ubung"]),
    ("ＦＵＬＬ　ｗｉｄｔｈ", ["full", "width"]),
    ("Straße", ["strasse"]),
    ("Chapter 45.5", ["chapter", "45", "5"]),
    ("snake_case and-dash", ["snake", "case", "and", "dash"]),
    ("続き", ["続き"]),
    ("続きもの", ["続き", "きも", "もの"]),
    ("第12話", ["第", "12", "話"]),
    ("がぎ", ["がぎ"]),  # a voicing mark is no accent
    ("ｶﾞｷﾞ", ["ガギ"]),
    ("만화책", ["만화", "화책"]),
    ("ABC漫画XYZ", ["abc", "漫画", "xyz"]),
    ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
    ("Ночной Дозор", ["ночнои", "дозор"]),
    ("x" * 100, ["x" * LONGEST_TOKEN]),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_a_text_becomes_these_words(text, expected):
    assert tokens(text) == expected


@given(st.text())
def test_words_hold_no_quote_and_no_space_so_no_engine_can_misread_them(text):
    for word in tokens(text):
        assert word
        assert not set(word) & set("'\"\\ \t\n:*()&|!<>-")


@given(st.text())
def test_the_words_of_words_are_the_same_words(text):
    plain = [word for word in tokens(text) if word.isascii()]
    assert tokens(" ".join(plain)) == plain


def test_a_long_text_is_cut():
    assert len(tokens("word " * (MOST_TOKENS + 5))) == MOST_TOKENS
    assert len(tokens("漫" * (MOST_TOKENS + 5))) == MOST_TOKENS


def test_markup_is_not_searched():
    assert tokens(text_of('<p class="big">Fish &amp; chips<br>daily</p>')) == ["fish", "chips", "daily"]


QUERIES = [
    ("", []),
    ("   ... !", []),
    ("one two", [Term(("one",)), Term(("two",))]),
    ('"one two"', [Term(("one", "two"))]),
    ("pre*", [Term(("pre",), prefix=True)]),
    ("-no yes", [Term(("no",), excluded=True), Term(("yes",))]),
    ('-"not this"', [Term(("not", "this"), excluded=True)]),
    ("45.5", [Term(("45", "5"))]),
    ("漫", [Term(("漫",), prefix=True)]),
    ("漫画家", [Term(("漫画", "画家"))]),
    ('"open', [Term(("open",))]),
    ("-", []),
]


@pytest.mark.parametrize(("query", "expected"), QUERIES)
def test_a_query_asks_for_these_terms(query, expected):
    assert parse_terms(query) == expected


@given(st.text(alphabet=st.characters(codec="ascii")) | st.text())
def test_a_text_has_the_same_words_beside_a_foreign_one(text):
    """What has no Chinese, Japanese or Korean in it is read by a shorter way, to the same end."""
    assert tokens(f"{text} 続き") == [*tokens(text), "続き"]

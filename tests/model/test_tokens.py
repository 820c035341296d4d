"""What a text is found by."""

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.scale import examples
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


MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17d3"
)
CJK = "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"


def as_defined(text: str) -> list[str]:
    """The words, by one expression after the other and no short way."""
    folded = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    folded = unicodedata.normalize("NFC", re.sub("[\u0300-\u036f]", "", folded))
    found: list[str] = []
    for word in re.findall(rf"(?:[^\W_]|[{MARKS}])+", folded):
        for run in re.findall(rf"[{CJK}]+|[^{CJK}]+", word):
            is_pairs = re.match(f"[{CJK}]", run) and len(run) > 1
            found += [one + other for one, other in pairwise(run)] if is_pairs else [run[:LONGEST_TOKEN]]
    return found[:MOST_TOKENS]


LETTERS = (
    st.text() | st.text("aZ9_ .-'\n") | st.text("a1 _’“”–—…«»·\xa0\xad€°©®\u200b\u2060\u2017\u203e\ufe0f\U0001f600")
)
MIXED = st.lists(
    LETTERS
    | st.text("aéÉñßﬁİı\u0301\u0308\u0338 ¨´¸ªº²½™℠Ａ１﹏＿‿")
    | st.text("続きモノｶﾞガが々〇、。ー 만화책ᄒ\u1161\u3099")
    | st.text("हिन्दीไทยЙй\u0306עִ")
).map("".join)


@given(MIXED)
@example("\u2026\u0301a")
@example("a\u200db")
@example("x" * LONGEST_TOKEN + " " + "y" * (LONGEST_TOKEN + 1) + "’")
@examples(5_000)
def test_short_ways_to_the_words_lead_to_the_same_words(text):
    assert tokens(text) == as_defined(text)


def test_every_character_parts_or_joins_words_as_defined():
    every = map(chr, [*range(0x80, 0x3400), *range(0xA600, 0xAC00), *range(0xF900, 0x10000), *range(0x1F000, 0x1FB00)])
    wrong = [hex(ord(each)) for each in every if tokens(f"a{each}b_{each}") != as_defined(f"a{each}b_{each}")]
    assert wrong == []


@given(st.text())
def test_search_words_contain_neither_quotes_nor_spaces(text):
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

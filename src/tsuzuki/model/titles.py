"""Titles as people read them: of chapters without what the number says already, of items that have none (R103)."""

import html
import re
from functools import lru_cache
from itertools import islice

_NO_CHARACTER = re.compile(r"&#(?:[0-9]{10,}|[xX][0-9a-fA-F]{9,});?")


def unescaped(text: str) -> str:
    """The text with `&amp;`, `&#38;` and their like read. Python refuses to read a number of thousands of digits."""
    if "&#" in text:
        text = _NO_CHARACTER.sub("\ufffd", text)
    return html.unescape(text)


LONGEST_TITLE = 80
BEGINNING = 6000
"""Characters of a text that are looked at for its first words; queries cut it there, in tags and all."""
MOST_TAGS = 120
"""Characters of them that may be tags: a list of fifty texts of nothing but tags must cost no more than any other."""
_LONGEST_REFERENCE = len("&quot;")

# "Chapter 12", "Vol. 2 Ch. 012", "Episode 12.5", "#12", "第12話". A bare number must be set off: "12. Low Tide".
_NUMBERED = re.compile(
    r"(?:(?:vol(?:ume)?\.?\s{0,3}\d{1,6}\s{0,3})?(?P<word>chapter|chap|ch|episode|ep|no|#|第)[.\s]{0,3})?"
    r"0{0,9}(?P<number>\d{1,12}(?:\.\d{1,9})?)(?:\s{0,3}[話章回화])?"
    r"(?P<gap>\s{0,3}[:\-–—.|,]\s{0,3}|\s{1,3}|\Z)",
    re.IGNORECASE,
)


def beside_number(title: str, number: str | None) -> str:
    """The title without a beginning that only says this number; empty when that was all."""
    if number is None:
        return title
    found = _NUMBERED.match(title)
    if found is None or _plain(found["number"]) != _plain(number):
        return title
    if not found["word"] and found["gap"].isspace():
        return title
    return title[found.end() :]


_ARTICLE = re.compile(r"(the|an|a) (.+)", re.IGNORECASE | re.DOTALL)


def sort_title(title: str) -> str:
    """The title as catalogues sort it: "Lighthouse Cat, The"."""
    found = _ARTICLE.fullmatch(title)
    return title if found is None else f"{found[2]}, {found[1]}"


def _plain(number: str) -> str:
    whole, _, part = number.partition(".")
    part = part.rstrip("0")
    return f"{whole.lstrip('0') or '0'}.{part}" if part else whole.lstrip("0") or "0"


# What the sanitiser writes: every value in double quotes, `<` and `>` as they are in values and nowhere else.
_TAG = re.compile(r'<(/?[a-z][a-z0-9]*+)([^">]*+(?:"[^"]*+(?:"|\Z)[^">]*+)*+)(?:>|\Z)')
_ALT = re.compile(r' alt="([^"]*+)"')
_PHRASES = (
    "a abbr b bdi bdo cite code data del dfn em i ins kbd mark q rp rt ruby s samp small span strong sub sup u var wbr"
)
_GAPS = {tag: "" for name in _PHRASES.split() for tag in (name, f"/{name}")}
"""What a tag leaves behind, where that is no space."""


def title_of(title: str, text: str) -> str:
    """The title; else a text's first words, else what stands for its picture; empty where there is none of them (R103).

    The text is sanitised HTML that may be cut anywhere.
    """
    return title or _title_in(text[:BEGINNING])


@lru_cache(1024)
def _title_in(text: str) -> str:
    return first_words(text, LONGEST_TITLE) or cut_at_word(_alt_in(text), LONGEST_TITLE)


def first_words(text: str, most: int) -> str:
    """At most so many characters of the words of sanitised HTML that may be cut anywhere, on one line."""
    words = _words(text[: most * 3], most)  # mostly words: the rest need not be looked at
    if len(words) <= most < len(text) / 3:
        words = _words(text[:BEGINNING], most)
    return cut_at_word(words, most)


def _words(text: str, most: int) -> str:
    plain = " ".join(_without_tags(text).replace("&nbsp;", " ").split())[: (most + 1) * _LONGEST_REFERENCE]
    return " ".join(unescaped(plain).split()) if "&" in plain else plain


def _without_tags(text: str) -> str:
    """The text up to its last tag that is looked at."""
    pieces = _TAG.split(text, MOST_TAGS)  # words, and between them a tag's name and its attributes
    if len(pieces) > 3 * MOST_TAGS:
        pieces.pop()
    parts = [pieces[0]]
    for tag, words in zip(pieces[1::3], pieces[3::3], strict=False):
        parts += _GAPS.get(tag, " "), words
    return "".join(parts)


def _alt_in(text: str) -> str:
    for tag in islice(_TAG.finditer(text), MOST_TAGS):
        if tag[1] == "img" and (alt := _ALT.search(tag[2])) and (words := " ".join(unescaped(alt[1]).split())):
            return words
    return ""


def cut_at_word(text: str, most: int) -> str:
    """At most so many characters, up to the end of a word where there is one."""
    if len(text) <= most:
        return text
    cut = text[: most - 1]
    if not text[most - 1].isspace():
        whole = cut.rpartition(" ")[0]
        cut = whole if len(whole) > most // 2 else cut  # in some languages nothing stands between words
    return cut.rstrip(" ,.;:-–—") + "…"

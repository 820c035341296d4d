"""The words that are searched for: the same on both engines, because we make them and the engines only keep them.

Letters are folded (NFKC, case, Latin accents). Chinese, Japanese and Korean have no spaces to split at, so their runs
become overlapping pairs: 続きもの -> 続き きも もの, and any two characters in a row can be found.
"""

import re
import unicodedata
from operator import add

import msgspec

from tsuzuki.model.titles import unescaped

LONGEST_TOKEN = 64
MOST_SOUGHT = 40
"""Words of a search; what is typed after them is not looked for."""
MOST_TOKENS = 10_000
"""Per text; an article beyond that is found by its first 10,000 words."""

# Marks that belong to the letter before them; without these, Devanagari or Thai would fall into single letters.
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17d3"
)
_WORD = re.compile(rf"[\w{_MARKS}]+")
"""Where no underscore is: one class is read much quicker than the choice between two."""
_BETWEEN = re.compile(
    "[\xa0-\xa7\xa9\xab-\xae\xb0\xb1\xb6\xb7\xbb\xbf\u2000-\u2016\u2018-\u203d\u20ac\ufe0f\U0001f300-\U0001f6ff]"
)
"""Quotation marks, dashes, dots and their like, which make no word and change none: often all that is not ASCII."""
_ASCII_WORDS = bytes(byte if chr(byte).isalnum() else 32 for byte in bytes(range(128)).lower()) + bytes(128)
"""ASCII folded, and blanks for what is in no word: three times as quick as finding the words by an expression."""
_ALIKE = bytes(32 if byte == 32 else 120 for byte in range(256))
_TOO_LONG = b"x" * (LONGEST_TOKEN + 1)
_CJK = (
    "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUNS = re.compile(rf"[{_CJK}]+|[^{_CJK}]+")
_IS_CJK = re.compile(rf"[{_CJK}]")
_ACCENTS = re.compile("[\u0300-\u036f]")
_TAG = re.compile(r'<[^"<>]*+(?:"[^"]*+"[^"<>]*+)*+>')
_PIECE = re.compile(r'(-?)(?:"([^"]*)"|(\S+))')


class Term(msgspec.Struct, frozen=True):
    """Words that must stand side by side; with `prefix`, the last one may go on."""

    tokens: tuple[str, ...]
    prefix: bool = False
    excluded: bool = False


def tokens(text: str) -> list[str]:
    """The words of a text in order, at most `MOST_TOKENS`."""
    plain = text if text.isascii() else _BETWEEN.sub(" ", text)
    folded = plain if plain.isascii() else _BETWEEN.sub(" ", _fold(text)).replace("_", " ")
    if folded.isascii():
        return _ascii_tokens(folded)
    if not _IS_CJK.search(folded):  # every word is a token
        return _shortened(_WORD.findall(folded))
    found: list[str] = []
    for word in _WORD.findall(folded):
        for run in _RUNS.findall(word):
            if _IS_CJK.match(run) and len(run) > 1:
                found.extend(map(add, run, run[1:]))
            else:
                found.append(run[:LONGEST_TOKEN])
        if len(found) >= MOST_TOKENS:
            return found[:MOST_TOKENS]
    return found


def _ascii_tokens(text: str) -> list[str]:
    words = text.encode().translate(_ASCII_WORDS)
    found = words.decode().split()[:MOST_TOKENS]
    # Whether any is too long is seen from where the blanks are, far sooner than by the length of each.
    return [word[:LONGEST_TOKEN] for word in found] if _TOO_LONG in words.translate(_ALIKE) else found


def _shortened(words: list[str]) -> list[str]:
    words = words[:MOST_TOKENS]
    if max(map(len, words), default=0) <= LONGEST_TOKEN:
        return words
    return [word[:LONGEST_TOKEN] for word in words]


def text_of(markup: str) -> str:
    """The text of HTML, for the index only. After the last `>` no tag is looked for: that would take quadratic time."""
    end = markup.rfind(">") + 1
    return unescaped(_TAG.sub(" ", markup[:end]) + markup[end:])


def parse_terms(query: str) -> list[Term]:
    """What a person typed: words, "phrases", prefix*, -excluded. A lone CJK character finds every word it begins."""
    terms: list[Term] = []
    left = MOST_SOUGHT
    for minus, phrase, word in _PIECE.findall(query):
        words = tuple(tokens(phrase or word)[:left])
        left -= len(words)
        if words:
            lone = len(words) == 1 and len(words[0]) == 1 and bool(_IS_CJK.match(words[0]))
            terms.append(Term(words, prefix=lone or word.endswith("*"), excluded=bool(minus)))
    return terms


def _fold(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold()
    parts = unicodedata.normalize("NFD", folded)
    # To put letters together again takes far longer than to take them apart: only where one has lost its accent.
    return unicodedata.normalize("NFC", _ACCENTS.sub("", parts) if _ACCENTS.search(parts) else folded)

"""What a person typed into the search field, and how a hit is shown. Pure."""

import re
from datetime import UTC, datetime
from functools import lru_cache
from html import escape
from unicodedata import normalize

import msgspec

from tsuzuki.model.numbers import number_key, parse_number
from tsuzuki.model.times import Millis, from_datetime
from tsuzuki.model.tokens import Term, parse_terms, text_of, tokens

LONGEST_TEXT = 100_000
"""Characters of an item that are looked at for a snippet."""
AROUND = 80
LONGEST_SNIPPET = 240

_OPERATOR = re.compile(r'(?<!\S)(feed|is|before):(?:"([^"]*)"|(\S+))', re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?<!\S)(?:ch(?:ap(?:ter)?)?\.?[^\S\n]*|episode[^\S\n]*|ep\.?[^\S\n]*|\#|第)?(\d{1,7}(?:\.\d{1,6})?)[話章回]?(?!\S)",
    re.IGNORECASE,
)
_DAY = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")
_SPACES = re.compile(r"\s+")


class Numbered(msgspec.Struct, frozen=True):
    """A chapter by its number (R2), and the words of its series."""

    number: str
    terms: tuple[Term, ...]


class Sought(msgspec.Struct, frozen=True, kw_only=True):
    """Words, and what narrows them down."""

    terms: tuple[Term, ...]
    feed: str | None = None
    """A part of the feed's name."""
    unread: bool | None = None
    saved: bool | None = None
    before: Millis | None = None
    chapter: Numbered | None = None

    @property
    def wanted(self) -> list[Term]:
        """The terms that must be there."""
        return [term for term in self.terms if not term.excluded]


def parse_search(text: str) -> Sought:
    """`"a phrase" -word feed:name is:unread before:2026-02` in any order. An operator that means nothing is a word."""
    found: dict[str, object] = {}

    def take(match: re.Match[str]) -> str:
        name, value = match[1].lower(), match[2] if match[2] is not None else match[3]
        said = _operator(name, value)
        found.update(said)
        return " " if said else match[0].replace(":", " ")

    words = _OPERATOR.sub(take, text)
    return msgspec.structs.replace(Sought(terms=tuple(parse_terms(words)), chapter=_numbered(words)), **found)


def _numbered(text: str) -> Numbered | None:
    """`frieren 45`, `ch. 45.5 frieren`, `第45話`: the last number is the chapter's."""
    folded = normalize("NFKC", text)
    found = list(_NUMBERED.finditer(folded))
    number = parse_number(found[-1][1]) if found else None
    if number is None:
        return None
    rest = f"{folded[: found[-1].start()]} {folded[found[-1].end() :]}"
    return Numbered(number_key(number), tuple(parse_terms(rest)))


def _operator(name: str, value: str) -> dict[str, object]:
    if name == "feed" and value:
        return {"feed": value}
    if name == "is" and value.lower() in {"unread", "read"}:
        return {"unread": value.lower() == "unread"}
    if name == "is" and value.lower() == "saved":
        return {"saved": True}
    if name == "before" and (moment := _moment(value)) is not None:
        return {"before": moment}
    return {}


def _moment(text: str) -> Millis | None:
    """The beginning of a year, a month or a day."""
    if not _DAY.fullmatch(text):
        return None
    year, month, day = (int(part) for part in f"{text}-01-01".split("-")[:3])
    try:
        return from_datetime(datetime(year, month, day, tzinfo=UTC))
    except ValueError:
        return None


def is_named(sought: Sought, *names: str) -> bool:
    """Whether these names hold every word that is wanted, and none that is not."""
    words = tokens(" ".join(names))
    return all(_stands(term, words) is not term.excluded for term in sought.terms)


def _stands(term: Term, words: list[str]) -> bool:
    size = len(term.tokens)
    for start in range(len(words) - size + 1):
        part = tuple(words[start : start + size])
        if part == term.tokens:
            return True
        if term.prefix and part[:-1] == term.tokens[:-1] and part[-1].startswith(term.tokens[-1]):
            return True
    return False


def best_snippet(sought: Sought, *texts: str) -> str:
    """The snippet of the first text, plain and not markup, that holds a hit; else of the first that is not empty."""
    shown = [snippet(escape(text), sought) for text in texts if text]
    return next((each for each in shown if "<mark>" in each), shown[0] if shown else "")


def snippet(markup: str, sought: Sought) -> str:
    """Some text around the first hit as HTML in which nothing but our own `<mark>` is markup (I7)."""
    text = _SPACES.sub(" ", text_of(markup[:LONGEST_TEXT])).strip()
    hits = _hits(text, sought.wanted)
    start = max(0, hits[0][0] - AROUND) if hits else 0
    if start:
        start = text.find(" ", start, hits[0][0]) + 1 or start
    end = min(len(text), start + LONGEST_SNIPPET)
    parts, place = ["…" if start else ""], start
    for begin, stop in hits:
        if stop > end:
            break
        parts += [escape(text[place:begin]), "<mark>", escape(text[begin:stop]), "</mark>"]
        place = stop
    parts += [escape(text[place:end]), "…" if end < len(text) else ""]
    return "".join(parts)


def _hits(text: str, terms: list[Term]) -> list[tuple[int, int]]:
    """Where the words stand, without overlaps: pairs of CJK characters that follow one another become one hit."""
    pattern = _pattern(tuple(terms))
    if pattern is None:
        return []
    folded = text.lower() if text.isascii() else "".join(map(_folded, text))
    merged: list[tuple[int, int]] = []
    for match in pattern.finditer(folded):
        begin, stop = match.start(), match.start() + len(match[1])
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((begin, stop))
    return merged


@lru_cache(64)
def _pattern(terms: tuple[Term, ...]) -> re.Pattern[str] | None:
    """A lookahead, so that pairs that share a character are all found."""
    words = []
    for term in terms:
        for place, token in enumerate(term.tokens):
            is_open = not token.isascii() or (term.prefix and place == len(term.tokens) - 1)
            words.append(re.escape(token) if is_open else rf"\b{re.escape(token)}\b")
    return re.compile(f"(?=({'|'.join(sorted(words, key=len, reverse=True))}))") if words else None


@lru_cache(4096)
def _folded(letter: str) -> str:
    """The letter as the index has it, where that is one letter too: places in the text must stay what they are."""
    plain = normalize("NFD", normalize("NFKC", letter).casefold())[:1]
    return plain if len(plain) == 1 else letter

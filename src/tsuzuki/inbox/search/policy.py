"""Parses what was typed into the search field, and makes snippets of hits. Pure."""

import re
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import lru_cache
from html import escape
from unicodedata import normalize

import msgspec

from tsuzuki.model.numbers import number_key, parse_number
from tsuzuki.model.times import Millis, from_datetime
from tsuzuki.model.tokens import Term, parse_terms, text_of, tokens

LONGEST_TEXT = 20_000
"""Characters of an item that are looked at for a snippet."""
AROUND = 80
LONGEST_SNIPPET = 240

_OPERATOR = re.compile(r'(?<!\S)(feed|is|before):(?:"([^"]*)"|(\S+))', re.IGNORECASE)
_NUMBERED = re.compile(
    r"(?<!\S)(?:ch(?:ap(?:ter)?)?\.?[^\S\n]*|episode[^\S\n]*|ep\.?[^\S\n]*|\#|第)?(\d{1,7}(?:\.\d{1,6})?)[話章回]?(?!\S)",
    re.IGNORECASE,
)
_DAY = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")


class ChapterQuery(msgspec.Struct, frozen=True):
    """A chapter by its number (R2), and the words of its series."""

    number: str
    terms: tuple[Term, ...]


class ParsedSearch(msgspec.Struct, frozen=True, kw_only=True):
    """Words, and what narrows them."""

    terms: tuple[Term, ...]
    feed: str | None = None
    """A part of the feed's name."""
    unread: bool | None = None
    saved: bool | None = None
    before: Millis | None = None
    chapter: ChapterQuery | None = None

    @property
    def words(self) -> list[str]:
        """The words that every hit contains."""
        return [word for term in self.terms if not term.excluded for word in term.tokens]

    @property
    def is_worded(self) -> bool:
        """Whether a word must be there."""
        return any(not term.excluded for term in self.terms)

    @property
    def is_narrowed(self) -> bool:
        """Only items have a feed, a time and a state."""
        return any(each is not None for each in (self.feed, self.unread, self.saved, self.before))


def longest(words: list[str]) -> str:
    """The word that the fewest names have, most likely; empty where there is none."""
    return max(words, key=len, default="")


def parse_search(text: str) -> ParsedSearch:
    """`"a phrase" -word feed:name is:unread before:2026-02` in any order. An operator that means nothing is a word."""
    found: dict[str, object] = {}

    def take(match: re.Match[str]) -> str:
        name, value = match[1].lower(), match[2] if match[2] is not None else match[3]
        said = _operator(name, value)
        found.update(said)
        return " " if said else match[0].replace(":", " ")

    words = _OPERATOR.sub(take, text)
    return msgspec.structs.replace(ParsedSearch(terms=tuple(parse_terms(words)), chapter=_numbered(words)), **found)


def _numbered(text: str) -> ChapterQuery | None:
    """`frieren 45`, `ch. 45.5 frieren`, `第45話`: the last number is the chapter's."""
    folded = normalize("NFKC", text)
    found = list(_NUMBERED.finditer(folded))
    number = parse_number(found[-1][1]) if found else None
    if number is None:
        return None
    rest = f"{folded[: found[-1].start()]} {folded[found[-1].end() :]}"
    return ChapterQuery(number_key(number), tuple(parse_terms(rest)))


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


class NamedThing(msgspec.Struct, frozen=True):
    """Something that is found by what it is called: `names` by people, `address` by machines."""

    names: tuple[str, ...]
    address: str


class Passage(msgspec.Struct, frozen=True):
    """The snippet of a hit: from the first of its texts with a match."""

    markup: str
    plain: str = ""


class Snippets(msgspec.Struct, frozen=True):
    """What `snippets` makes of names and passages."""

    named: list[tuple[int, str]]
    """The named things that match, best first, each with its snippet."""
    passages: list[str]


def snippets(terms: tuple[Term, ...], named: list[NamedThing], passages: list[Passage]) -> Snippets:
    """How hits are shown, as HTML in which nothing but our own `<mark>` is markup (I7). For the parser processes."""
    pattern = _pattern(terms)
    found = [(place, each) for place, each in enumerate(named) if _holds(terms, *each.names, each.address)]
    found.sort(key=lambda pair: not _holds(terms, *pair[1].names))
    return Snippets(
        named=[(place, _best(pattern, (*each.names, each.address))) for place, each in found],
        passages=[_best(pattern, (text_of(each.markup[:LONGEST_TEXT]), each.plain)) for each in passages],
    )


def _holds(terms: tuple[Term, ...], *names: str) -> bool:
    """Whether these names have every wanted word and no excluded one."""
    words = tokens(" ".join(names)[:LONGEST_TEXT])
    return all(_stands(term, words) is not term.excluded for term in terms)


def _stands(term: Term, words: list[str]) -> bool:
    size = len(term.tokens)
    for start in range(len(words) - size + 1):
        part = tuple(words[start : start + size])
        if part == term.tokens:
            return True
        if term.prefix and part[:-1] == term.tokens[:-1] and part[-1].startswith(term.tokens[-1]):
            return True
    return False


def _best(pattern: re.Pattern[str] | None, texts: Iterable[str]) -> str:
    """The snippet of the first text with a match; else of the first that is not empty."""
    first = ""
    for text in texts:
        shown = _snippet(" ".join(text[:LONGEST_TEXT].split()), pattern)
        if "<mark>" in shown:
            return shown
        first = first or shown
    return first


def _snippet(text: str, pattern: re.Pattern[str] | None) -> str:
    """Some text around the first hit."""
    folded = text.lower() if text.isascii() else "".join(map(_folded, text))
    hit = pattern.search(folded) if pattern is not None else None
    start = max(0, hit.start() - AROUND) if hit else 0
    if hit and start:
        start = text.find(" ", start, hit.start()) + 1 or start
    end = min(len(text), start + LONGEST_SNIPPET)
    parts, place = ["…" if start else ""], start
    for begin, stop in _hits(folded, pattern, hit, end):
        parts += [escape(text[place:begin]), "<mark>", escape(text[begin:stop]), "</mark>"]
        place = stop
    parts += [escape(text[place:end]), "…" if end < len(text) else ""]
    return "".join(parts)


def _hits(
    folded: str, pattern: re.Pattern[str] | None, hit: re.Match[str] | None, end: int
) -> Iterable[tuple[int, int]]:
    """Where the words stand before `end`: pairs of CJK characters that follow one another become one hit."""
    merged: list[tuple[int, int]] = []
    while pattern is not None and hit is not None and hit.end() <= end:
        if merged and hit.start() <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(hit.end(), merged[-1][1]))
        else:
            merged.append(hit.span())
        hit = pattern.search(folded, hit.start() + 1, end + 1)
    return merged


def _pattern(terms: tuple[Term, ...]) -> re.Pattern[str] | None:
    """Any of the words that are wanted, the longest first."""
    words = []
    for term in terms:
        for place, token in enumerate(() if term.excluded else term.tokens):
            is_open = not token.isascii() or (term.prefix and place == len(term.tokens) - 1)
            words.append(re.escape(token) if is_open else rf"\b{re.escape(token)}\b")
    return re.compile("|".join(sorted(words, key=len, reverse=True))) if words else None


@lru_cache(4096)
def _folded(letter: str) -> str:
    """The letter as the index has it, where that is one letter too: places in the text must stay what they are."""
    plain = normalize("NFD", normalize("NFKC", letter).casefold())[:1]
    return plain if len(plain) == 1 else letter

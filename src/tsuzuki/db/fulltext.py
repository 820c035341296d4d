"""Full-text search on both engines: what an index is given, and how a search becomes its MATCH."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, islice, repeat

import msgspec

from tsuzuki.db.queries import Engine
from tsuzuki.model.tokens import Term, text_of, tokens


def like(text: str) -> str:
    """The pattern that finds this text anywhere, in any case, where a backslash escapes."""
    plain = text.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{plain}%"


LAST_POSITION = 16_383  # a tsvector has no positions beyond
MOST_POSITIONS = 255  # nor more than this many for one lexeme
GAP = 2  # so that no phrase reaches from a title into its body

_NEAR = tuple(map(str, range(2_000)))
"""The positions of most texts, written once."""


class IndexWords(msgspec.Struct, frozen=True):
    """What a search table takes: FTS5 title and body, PostgreSQL the finished tsvector."""

    title: str
    body: str
    vector: str


NO_WORDS = IndexWords("", "", "")


class Document(IndexWords, frozen=True):
    """A row of a search table."""

    id: int


def words_of(engine: Engine, title: Sequence[str], body: Sequence[str]) -> IndexWords:
    """What to write for a title and a body that have these tokens."""
    if engine == "sqlite":
        return IndexWords(" ".join(title), " ".join(body), "")
    return IndexWords("", "", _tsvector(title, body))


def split_words(engine: Engine, texts: list[tuple[str, str]]) -> list[IndexWords]:
    """The index words of titles and markup. Runs in a parser process: articles can be of any length."""
    return [words_of(engine, tokens(title), tokens(text_of(content))) for title, content in texts]


def document(row_id: int, words: IndexWords) -> Document:
    """The words as those of this row."""
    return Document(words.title, words.body, words.vector, row_id)


def match(engine: Engine, terms: Sequence[Term]) -> str | None:
    """The search as the engine's own expression; None when it would ask for nothing, or only for what is excluded."""
    wanted = [_term(engine, term) for term in terms if not term.excluded]
    refused = [_term(engine, term) for term in terms if term.excluded]
    if not wanted:
        return None
    if engine == "sqlite":
        found = " AND ".join(wanted)
        return f"({found}) NOT ({' OR '.join(refused)})" if refused else found
    return " & ".join(wanted + [f"!({term})" for term in refused])


def _term(engine: Engine, term: Term) -> str:
    # Tokens hold letters and digits only, so quoting them is enough.
    if engine == "sqlite":
        return f'"{" ".join(term.tokens)}"' + (" *" if term.prefix else "")
    return "(" + " <-> ".join(f"'{token}'" for token in term.tokens) + (":*" if term.prefix else "") + ")"


def _tsvector(title: Sequence[str], body: Sequence[str]) -> str:
    places: defaultdict[str, list[str]] = defaultdict(list)
    for word, position in zip(title, _positions(1, len(title)), strict=True):
        places[word].append(f"{position}A")
    # Without a weight it is a D.
    for word, position in zip(body, _positions(len(title) + GAP, len(body)), strict=True):
        places[word].append(position)
    return " ".join([f"'{word}':{','.join(seen[:MOST_POSITIONS])}" for word, seen in places.items()])


def _positions(start: int, count: int) -> Iterable[str]:
    """So many from here on: what is too far away stands at the last one."""
    if start + count <= len(_NEAR):
        return _NEAR[start : start + count]
    far = map(str, range(len(_NEAR), LAST_POSITION))
    return islice(chain(_NEAR, far, repeat(str(LAST_POSITION))), start, start + count)

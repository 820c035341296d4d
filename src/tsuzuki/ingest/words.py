"""The words by which something is found, as the index takes them.

An article can be of any length, so its words are split in the parser processes. Titles and descriptions are cut short
and split where they are stored.
"""

from collections.abc import Iterable

from tsuzuki.db.fulltext import Words, words_of
from tsuzuki.db.queries import Engine
from tsuzuki.model.tokens import text_of, tokens

LONGEST_TITLE = 300
LONGEST_TITLES = 2_000
"""Of a series, all that it is called by."""
LONGEST_DESCRIPTION = 5_000


def split_words(engine: Engine, texts: list[tuple[str, str]]) -> list[Words]:
    """The words of titles and of the markup that goes with them."""
    return [words_of(engine, tokens(title), tokens(text_of(content))) for title, content in texts]


def chapter_words(engine: Engine, title: str) -> Words:
    """The words of a chapter's title."""
    return words_of(engine, tokens(title[:LONGEST_TITLE]), ())


def series_words(engine: Engine, titles: Iterable[str], description: str) -> Words:
    """The words of a series; those far behind are not found."""
    text = text_of(description[:LONGEST_DESCRIPTION])
    return words_of(engine, tokens(" ".join(titles)[:LONGEST_TITLES]), tokens(text))

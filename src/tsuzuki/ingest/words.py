"""The words by which an item is found. An article can be of any length: they are split in the parser processes."""

from tsuzuki.db.fulltext import IndexWords, words_of
from tsuzuki.db.queries import Engine
from tsuzuki.model.tokens import text_of, tokens


def split_words(engine: Engine, texts: list[tuple[str, str]]) -> list[IndexWords]:
    """The words of titles and of the markup that goes with them."""
    return [words_of(engine, tokens(title), tokens(text_of(content))) for title, content in texts]

"""Search indexes that cannot be made anew, because they hold more than the rows do: a series is found by other titles.

FTS5 keeps every token with its place, so the words of a document can be read back out of the index in their order.
"""

from collections.abc import Iterator
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, TypeAlias

import apsw
import asyncpg

from tsuzuki.db.fulltext import Document, document, words_of

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

INDEXES = {"series_search": "series_id", "chapter_search": "chapter_id"}
CHUNK = 2_000
_INSTANCES = "select doc, col, term from temp.{0}_words order by doc, col, offset"


async def copy_words(source: apsw.Connection, target: Connection) -> None:
    """Put the small indexes into the target; what is there already stays."""
    for index, column in INDEXES.items():
        text = f"insert into {index} ({column}, document) values ($1, $2::text::tsvector) on conflict do nothing"  # noqa: S608  names of our schema
        documents = read_words(source, index)
        while rows := [(each.id, each.vector) for each in islice(documents, CHUNK)]:
            await target.executemany(text, rows)


def read_words(source: apsw.Connection, index: str) -> Iterator[Document]:
    """What an index holds, document by document."""
    source.execute(f"create virtual table if not exists temp.{index}_words using fts5vocab (main, {index}, instance)")
    for row_id, words in groupby(source.execute(_INSTANCES.format(index)), itemgetter(0)):
        places: dict[Any, list[str]] = {"title": [], "body": []}
        for _, column, term in words:
            places[column].append(term)
        yield document(row_id, words_of("postgres", places["title"], places["body"]))

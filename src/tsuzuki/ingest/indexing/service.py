"""Indexing what is not indexed, in small transactions; a run that was interrupted is continued by the next."""

from collections.abc import Callable
from functools import partial

from tsuzuki.db import Database
from tsuzuki.db.fulltext import document
from tsuzuki.ingest.indexing.store import count_unindexed_tx, unindexed_items_tx
from tsuzuki.ingest.store import index_items_tx
from tsuzuki.ingest.words import split_words
from tsuzuki.model.fetching import Parsers
from tsuzuki.model.ids import ItemId

CHUNK = 500


async def index_items(db: Database, parsers: Parsers, watch: Callable[[int, int], None]) -> int:
    """Index every item that is not; `watch` is told how many of how many are done."""
    total = await db.read(count_unindexed_tx)
    last, done = ItemId(0), 0
    watch(done, total)
    while items := await db.read(partial(unindexed_items_tx, after=last, most=CHUNK)):
        words = await parsers.run(split_words, (db.engine, [(item.title, item.content) for item in items]))
        documents = [document(item.id, each) for item, each in zip(items, words, strict=True)]
        await db.with_tx(partial(index_items_tx, documents=documents))
        last, done = items[-1].id, done + len(items)
        watch(done, total)
    return done

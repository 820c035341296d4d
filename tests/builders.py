"""Rows and values that say only what a test is about."""

import hashlib
import itertools
import secrets
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tsuzuki.accounts.credentials import HashCost
from tsuzuki.db import Database, Tx
from tsuzuki.db.fulltext import split_words
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.chapters import NewChapter, NewRelease
from tsuzuki.ingest.items import NewItem, StoredItem, upsert_items_tx
from tsuzuki.model.ids import FeedId, PublicId, SeriesId, SeriesSourceId, ShelfId, SourceId, WatchId, uuid7
from tsuzuki.model.times import Millis
from tsuzuki.sources.feeds import find_feed_tx, new_feed_tx
from tsuzuki.sources.series import add_series_source_tx, add_series_tx
from tsuzuki.sources.sites import register_source_tx
from tsuzuki.sources.types import NewSource
from tsuzuki.sources.watches import NewWatch, add_watch_tx

NOON = Millis(1_771_761_600_000)
"""2026-02-22T12:00:00Z."""

CHEAPEST = HashCost(memory_kib=8, passes=1)
"""The least that argon2id takes: tests hash thousands of passwords, and few are about what a hash costs."""

_count = itertools.count(1)
T = TypeVar("T")


class ParsersHere:
    """Does what parser processes do, without a process: for tests that are about something else."""

    async def run(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        return function(*arguments)


HERE = ParsersHere()


def a_public_id(now: Millis = NOON) -> PublicId:
    return uuid7(now, secrets.token_bytes(10))


def a_hash(of: object) -> bytes:
    return hashlib.sha256(repr(of).encode()).digest()


def a_new_chapter(number: int | str = 1, **over: Any) -> NewChapter:
    values: dict[str, Any] = {"key": str(number), "number": str(number), "number_sort": int(float(number) * 10**6)}
    return NewChapter(**values | over)


def a_new_release(number: int | str = 1, **over: Any) -> NewRelease:
    url = over.pop("url", f"https://example.org/c/{number}")
    values: dict[str, Any] = {"chapter_key": str(number), "key": f"n:{number}", "url": url}
    values |= over
    return NewRelease(content_hash=a_hash(sorted(values.items())), **values)


def a_new_item(key: str = "1", **over: Any) -> NewItem:
    values: dict[str, Any] = {"key": key, "title": f"Item {key}", "sort_at": NOON} | over
    return NewItem(content_hash=a_hash(sorted(values.items())), **values)


async def store_items_tx(tx: Tx, feed_id: FeedId, items: Iterable[NewItem], now: Millis) -> list[StoredItem]:
    """Store items of one feed, and their words."""
    items = list(items)
    words = split_words(tx.engine, [(item.title, item.content) for item in items])
    by_key = {(feed_id, item.key): each for item, each in zip(items, words, strict=True)}
    return await upsert_items_tx(tx, {feed_id: items}, by_key, now)


async def stored_feed(db: Database, link: str | None = None) -> FeedId:
    link = link or f"https://example.org/feed/{next(_count)}"
    made = await db.with_tx(lambda tx: new_feed_tx(tx, link, now=NOON))
    feed_id = made or await db.read(lambda tx: find_feed_tx(tx, link))
    assert feed_id is not None
    return feed_id


async def stored_source(db: Database, **over: Any) -> SourceId:
    number = next(_count)
    values: dict[str, Any] = {"uid": number, "name": f"Source {number}", "slug": f"source-{number}"}
    new = NewSource(**{"base_url": "https://example.org"} | values | over)
    return (await db.with_tx(lambda tx: register_source_tx(tx, new, is_enabled=True, now=NOON))).id


async def stored_series(db: Database, title: str = "One") -> SeriesId:
    return await db.with_tx(lambda tx: add_series_tx(tx, a_public_id(), title, match_key=title.lower(), now=NOON))


async def stored_series_source(db: Database, series_id: SeriesId, source_id: SourceId) -> SeriesSourceId:
    key = f"key-{next(_count)}"

    async def add(tx: Tx) -> SeriesSourceId:
        url = f"https://example.org/{key}"
        new = await add_series_source_tx(tx, series_id, source_id, source_key=key, url=url, now=NOON)
        assert new is not None
        return new

    return await db.with_tx(add)


async def stored_watch(db: Database, feed_id: FeedId, **over: Any) -> WatchId:
    values: dict[str, Any] = {"feed_id": feed_id, "host": "example.org", "next_check_at": NOON}
    new = NewWatch(**values | over)
    return await db.with_tx(lambda tx: add_watch_tx(tx, new, NOON))


# Until the areas that own these rows exist, tests make them by hand.
_rows = parse_queries(
    "tests",
    """
-- name: add_tenant
insert into tenant (public_id, name, anchor_at, created_at, updated_at)
values (:public_id, 'A', :now, :now, :now) returning id;
-- name: add_shelf
insert into shelf (public_id, tenant_id, name, plan, created_at, updated_at)
values (:public_id, :tenant_id, :name, 'self-hosted', :now, :now) returning id;
-- name: add_entries
insert into entry (shelf_id, feed_id, item_id, sort_at, created_at)
select cast(:shelf_id as bigint), item.feed_id, item.id, item.sort_at, item.created_at from item
where item.feed_id = :feed_id on conflict do nothing;
""",
)


async def stored_shelf(db: Database) -> ShelfId:
    async def add(tx: Tx) -> ShelfId:
        tenant = await tx.one(int, _rows.add_tenant, public_id=a_public_id(), now=NOON)
        name = f"Shelf {next(_count)}"
        return await tx.one(ShelfId, _rows.add_shelf, public_id=a_public_id(), tenant_id=tenant, name=name, now=NOON)

    return await db.with_tx(add)


async def put_on_shelf(db: Database, shelf_id: ShelfId, feed_id: FeedId) -> int:
    return await db.with_tx(lambda tx: tx.run(_rows.add_entries, shelf_id=shelf_id, feed_id=feed_id))

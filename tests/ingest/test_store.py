"""Installments are stored once, and what is stored does not get worse."""

import asyncio

import msgspec

from tests.builders import (
    NOON,
    a_new_chapter,
    a_new_item,
    a_new_release,
    store_items_tx,
    stored_feed,
    stored_series,
    stored_series_source,
    stored_source,
)
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.chapters import raise_latest_tx, upsert_chapters_tx, upsert_releases_tx
from tsuzuki.ingest.items import new_item
from tsuzuki.model.harvest import Enclosure, FoundItem
from tsuzuki.model.times import DAY, Millis

LATER = Millis(NOON + DAY)

q = parse_queries(
    "tests",
    """
-- name: chapter
select title, volume, published_at, first_seen_at, updated_at from chapter where series_id = :id;
-- name: releases
select url, first_seen_at, last_seen_at from release where series_source_id = :id order by source_order;
-- name: groups
select group_name from release where series_source_id = :id;
-- name: latest
select latest_number from series where id = :id;
-- name: item
select title, categories, enclosures, created_at, updated_at from item where feed_id = :id;
-- name: comments
select comments_url from item where feed_id = :id;
-- name: count_items
select count(*) from item where feed_id = :id;
""",
)


class ChapterRow(msgspec.Struct, frozen=True):
    title: str
    volume: str | None
    published_at: int | None
    first_seen_at: int
    updated_at: int


class ReleaseRow(msgspec.Struct, frozen=True):
    url: str
    first_seen_at: int
    last_seen_at: int


class ItemRow(msgspec.Struct, frozen=True):
    title: str
    categories: tuple[str, ...]
    enclosures: tuple[Enclosure, ...]
    created_at: int
    updated_at: int | None


async def test_i1_r1_a_chapter_seen_twice_is_new_once(db):
    series = await stored_series(db)
    batch = [a_new_chapter(1), a_new_chapter(2), a_new_chapter(2)]
    first = await db.with_tx(lambda tx: upsert_chapters_tx(tx, series, batch, NOON))
    again = await db.with_tx(lambda tx: upsert_chapters_tx(tx, series, batch, LATER))
    assert sorted((chapter.key, chapter.is_new) for chapter in first) == [("1", True), ("2", True)]
    assert again == []


async def test_i1_a_chapter_seen_by_many_is_stored_once(db):
    series = await stored_series(db)

    async def see():
        return await db.with_tx(lambda tx: upsert_chapters_tx(tx, series, [a_new_chapter(1)], NOON))

    seen = await asyncio.gather(*(see() for _ in range(20)))
    assert sum(chapter.is_new for stored in seen for chapter in stored) == 1


async def test_r6_what_is_empty_never_overwrites_and_first_seen_never_changes(db):
    series = await stored_series(db)
    full = a_new_chapter(1, title="Dawn", volume="3", published_at=Millis(5))
    await db.with_tx(lambda tx: upsert_chapters_tx(tx, series, [full], NOON))
    empty = await db.with_tx(lambda tx: upsert_chapters_tx(tx, series, [a_new_chapter(1)], LATER))
    assert empty == []
    changed = await db.with_tx(lambda tx: upsert_chapters_tx(tx, series, [a_new_chapter(1, title="Dusk")], LATER))
    assert [(chapter.title, chapter.is_new) for chapter in changed] == [("Dusk", False)]
    row = await db.read(lambda tx: tx.one(ChapterRow, q.chapter, id=series))
    assert row == ChapterRow("Dusk", "3", 5, NOON, LATER)


async def test_rel_05_ingesting_43_then_42_leaves_43_the_latest(db):
    series = await stored_series(db)
    moved = [
        await db.with_tx(lambda tx, n=n: raise_latest_tx(tx, series, number=str(n), number_sort=n * 10**6, now=NOON))
        for n in (43, 42, 43)
    ]
    assert moved == [True, False, False]
    assert await db.read(lambda tx: tx.one(str, q.latest, id=series)) == "43"


async def test_rel_03_a_source_that_changes_every_address_brings_nothing_new(db):
    series = await stored_series(db)
    mapping = await stored_series_source(db, series, await stored_source(db))
    numbers = range(1, 51)
    await db.with_tx(lambda tx: upsert_chapters_tx(tx, series, map(a_new_chapter, numbers), NOON))
    before = [a_new_release(n, source_order=n) for n in numbers]
    after = [a_new_release(n, source_order=n, url=f"https://new.example.org/{n}") for n in numbers]
    first = await db.with_tx(lambda tx: upsert_releases_tx(tx, series, mapping, before, now=NOON))
    moved = await db.with_tx(lambda tx: upsert_releases_tx(tx, series, mapping, after, now=LATER))
    assert sum(release.is_new for release in first) == len(numbers)
    assert [release.is_new for release in moved] == [False] * len(numbers)
    rows = await db.read(lambda tx: tx.many(ReleaseRow, q.releases, id=mapping))
    assert rows == [ReleaseRow(f"https://new.example.org/{n}", NOON, LATER) for n in numbers]


async def test_r101_a_known_release_has_the_group_of_the_newest_listing(db):
    series = await stored_series(db)
    mapping = await stored_series_source(db, series, await stored_source(db))
    await db.with_tx(lambda tx: upsert_chapters_tx(tx, series, [a_new_chapter(1)], NOON))
    for group in ("Moon", "Sun", None):
        release = a_new_release(1, key="id:1", group_name=group)
        await db.with_tx(lambda tx, release=release: upsert_releases_tx(tx, series, mapping, [release], now=NOON))
    assert await db.read(lambda tx: tx.many(str, q.groups, id=mapping)) == ["Sun"]


async def test_r7_a_chapter_of_another_source_is_a_second_release(db):
    series = await stored_series(db)
    here = await stored_series_source(db, series, await stored_source(db))
    there = await stored_series_source(db, series, await stored_source(db))
    await db.with_tx(lambda tx: upsert_chapters_tx(tx, series, [a_new_chapter(1)], NOON))
    stored = [
        (await db.with_tx(lambda tx, on=on: upsert_releases_tx(tx, series, on, [a_new_release(1)], now=NOON)))[0]
        for on in (here, there)
    ]
    assert [release.is_new for release in stored] == [True, True]
    assert stored[0].chapter_id == stored[1].chapter_id


async def test_r32_a_changed_item_is_updated_and_not_new(db):
    feed = await stored_feed(db)
    enclosure = Enclosure("https://example.org/a.mp3", "audio/mpeg", 5)
    item = a_new_item("1", title="Old", categories=("a", "b"), enclosures=(enclosure,))
    await db.with_tx(lambda tx: store_items_tx(tx, feed, [item], NOON))
    row = await db.read(lambda tx: tx.one(ItemRow, q.item, id=feed))
    assert row == ItemRow("Old", ("a", "b"), (enclosure,), NOON, None)
    changed = await db.with_tx(lambda tx: store_items_tx(tx, feed, [a_new_item("1", title="New")], LATER))
    assert [(stored.key, stored.is_new) for stored in changed] == [("1", False)]
    row = await db.read(lambda tx: tx.one(ItemRow, q.item, id=feed))
    assert row == ItemRow("New", (), (), NOON, LATER)


async def test_r32_an_item_keeps_comments_where_the_feed_drops_them(db):
    feed = await stored_feed(db)
    kept = []
    for comments in (None, "https://example.org/1#comments", "https://talk.example.org/1", None):
        item = new_item(FoundItem(key="1", title="Same", comments_url=comments), NOON)
        await db.with_tx(lambda tx, item=item: store_items_tx(tx, feed, [item], NOON))
        kept += await db.read(lambda tx: tx.many(str | None, q.comments, id=feed))
    assert kept == [None, "https://example.org/1#comments", "https://talk.example.org/1", "https://talk.example.org/1"]

"""Every filter and order of Miniflux's entries, alone and in pairs, against plain Python over the same entries."""

import itertools
import random
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from tests.api.people import RunningApp, a_running_app
from tests.app import in_settings
from tests.protocols.miniflux import MinifluxReader, a_miniflux_reader
from tsuzuki.db import Tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.inbox.sync import LATE
from tsuzuki.model.times import HOUR, MINUTE, SECOND

q = parse_queries(
    "tests",
    """
-- name: entries
select entry.id, coalesce(of_feed.number, of_series.number) as feed, shelf_group.id as group_id,
  shelf_group.name as group_name, entry.unread, entry.saved,
  coalesce(entry.appeared_at, entry.created_at) as created_at, entry.sort_at,
  coalesce(entry.changed_at, entry.appeared_at, entry.created_at) as changed_at,
  coalesce(item.title, chapter.title) as title,
  coalesce(item.author, '') as author, item.categories as tags
from entry
left join feed_number as of_feed on of_feed.shelf_id = entry.shelf_id and of_feed.feed_id = entry.feed_id
left join feed_number as of_series on of_series.shelf_id = entry.shelf_id and of_series.series_id = entry.series_id
left join item on item.id = entry.item_id
left join chapter on chapter.id = entry.chapter_id
left join subscription on subscription.shelf_id = entry.shelf_id and subscription.feed_id = entry.feed_id
left join follow on follow.shelf_id = entry.shelf_id and follow.series_id = entry.series_id
join shelf_group on shelf_group.id = coalesce(subscription.group_id, follow.group_id)
where entry.shelf_id = :shelf_id;
-- name: set_state
update entry set unread = :unread, saved = :saved where id = :id;
-- name: set_times
update entry set created_at = :created_at, appeared_at = :appeared_at, sort_at = :sort_at, changed_at = :changed_at
where id = :id;
""",
)

WORDS = ("gull", "pier", "wind")
AUTHORS = ("ann", "bob", None)
TAGS = ((), ("Sea",), ("sea", "Wind"), ("The sea",), ('Say "sea"', "Öre"))
SPAN = 400
"""Seconds over which everything happened, in steps of five, so that bounds are met exactly."""


class Row(msgspec.Struct, frozen=True):
    id: int
    feed: int
    group_id: int
    group_name: str
    unread: bool
    saved: bool
    created_at: int
    sort_at: int
    changed_at: int
    title: str
    author: str
    tags: list[str] | None


Keeps = Callable[[Row], bool]
ORDERS: Mapping[str, Callable[[Row], Any]] = {
    "id": lambda row: row.id,
    "status": lambda row: "unread" if row.unread else "read",
    "changed_at": lambda row: row.changed_at,
    "published_at": lambda row: row.sort_at,
    "created_at": lambda row: row.created_at,
    "category_title": lambda row: row.group_name,
    "category_id": lambda row: row.group_id,
    "title": lambda row: row.title,
    "author": lambda row: row.author,
}


class FilteredShelf(msgspec.Struct, frozen=True):
    """Somebody's app, what their shelf holds, and the second before it all."""

    reader: MinifluxReader
    rows: list[Row]
    began: int

    def filters(self) -> dict[str, tuple[list[tuple[str, Any]], Keeps]]:
        """Each with parameters, and what they keep."""
        one, later = self.rows[len(self.rows) // 2], self.began + SPAN // 2
        moment = later * SECOND
        return {
            "unread": ([("status", "unread")], lambda row: row.unread),
            "read": ([("status", "read")], lambda row: not row.unread),
            "either": ([("status", "read"), ("status", "unread")], lambda _: True),
            "starred": ([("starred", "true")], lambda row: row.saved),
            "not starred": ([("starred", "0")], lambda row: not row.saved),
            "before": ([("before", later)], lambda row: row.created_at < moment),
            "after": ([("after", later)], lambda row: row.created_at > moment - LATE),
            "published before": ([("published_before", later)], lambda row: row.sort_at < moment),
            "published after": ([("published_after", later)], lambda row: row.sort_at > moment),
            "changed before": ([("changed_before", later)], lambda row: row.changed_at < moment),
            "changed after": (
                [("changed_after", later)],
                lambda row: max(row.changed_at, row.created_at) > moment - LATE,
            ),
            "before number": ([("before_entry_id", one.id)], lambda row: row.id < one.id),
            "after number": ([("after_entry_id", one.id)], lambda row: row.id > one.id),
            "feed": ([("feed_id", one.feed)], lambda row: row.feed == one.feed),
            "category": ([("category_id", one.group_id)], lambda row: row.group_id == one.group_id),
            "search": ([("search", "gull")], lambda row: row.tags is not None and "gull" in row.title),
            "no words": ([("search", "!?")], lambda _: False),
            "tag": ([("tags", "sea")], lambda row: "sea" in _lower(row)),
            "tags": ([("tags", "SEA"), ("tags", "wind")], lambda row: _lower(row) >= {"sea", "wind"}),
            "quoted tag": ([("tags", 'say "SEA"'), ("tags", "Öre")], lambda row: 'say "sea"' in _lower(row)),
            "visible": ([("globally_visible", "true")], lambda _: True),
        }

    def combinations(self, size: int) -> list[tuple[str, ...]]:
        """So many filters, without such as say something else of the same."""
        said = {name: {pair[0] for pair in pairs} for name, (pairs, _) in self.filters().items()}
        every = itertools.combinations(said, size)
        return [names for names in every if len(set().union(*(said[one] for one in names))) == size]

    async def differ(self, names: tuple[str, ...], rng: random.Random) -> str | None:
        """What is asked for where the answer is another than the model's; None where both agree."""
        known = self.filters()
        pairs = [pair for name in names for pair in known[name][0]]
        order, direction = rng.choice(list(ORDERS)), rng.choice(["asc", "desc"])
        limit, offset = rng.choice([1, 3, 10, 100, 1_000]), rng.choice([0, 0, 1, 5])
        pairs += [("order", order), ("direction", direction), ("limit", limit), ("offset", offset)]
        kept = [row for row in self.rows if all(known[name][1](row) for name in names)]
        kept.sort(key=lambda row: (ORDERS[order](row), row.id), reverse=direction == "desc")
        query = urlencode(pairs)
        found = await self.reader.get(f"/entries?{query}")
        ids = [entry["id"] for entry in found["entries"]]
        wanted = [row.id for row in kept[offset : offset + limit]]
        return None if (found["total"], ids) == (len(kept), wanted) else f"{query}: {ids} instead of {wanted}"


def _lower(row: Row) -> set[str]:
    return {tag.lower() for tag in row.tags or ()}


async def _scatter(tx: Tx, rows: list[Row], *, began: int, rng: random.Random) -> None:
    for row in rows:
        created, published, changed, appeared = ((began + rng.randrange(0, SPAN, 5)) * SECOND for _ in range(4))
        await tx.run(q.set_state, id=row.id, unread=rng.random() < 0.5, saved=rng.random() < 0.3)
        when = {"created_at": created, "appeared_at": appeared if appeared > created else None, "sort_at": published}
        when["changed_at"] = changed if rng.random() < 0.5 else None
        await tx.run(q.set_times, id=row.id, **when)


async def a_filtered_shelf(app: RunningApp, rng: random.Random) -> FilteredShelf:
    reader = await a_miniflux_reader(app)
    stranger = await a_miniflux_reader(app)
    for place, group in enumerate((None, "Comics", "Letters")):
        feed = await reader.add_feed(f"Feed {place}", group=group)
        for n in range(8):
            over = {"author": rng.choice(AUTHORS), "categories": rng.choice(TAGS)}
            await reader.release(feed, 1, prefix=f"{place}-{n}-", title=f"{rng.choice(WORDS)} {n}", **over)
    await reader.add_series("The Lighthouse Cat", group="Comics")
    await stranger.add_feed("Another's", items=5)
    rows = await app.db.read(lambda tx: tx.many(Row, q.entries, shelf_id=reader.shelf))
    began = (app.time() - HOUR) // MINUTE * 60
    await app.db.with_tx(lambda tx: _scatter(tx, rows, began=began, rng=rng))
    rows = await app.db.read(lambda tx: tx.many(Row, q.entries, shelf_id=reader.shelf))
    return FilteredShelf(reader, rows, began)


@pytest.fixture
async def app(empty_database_url, tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        yield app


async def test_every_filter_alone_and_in_pairs_keeps_what_it_says(app, request):
    rng = random.Random(request.config.option.seed)
    shelf = await a_filtered_shelf(app, rng)
    wanted = [names for size in (0, 1, 2) for names in shelf.combinations(size)]
    differing = [await shelf.differ(names, rng) for names in wanted]
    assert [said for said in differing if said] == []


async def test_every_order_both_ways_with_any_three_filters(app, request):
    rng = random.Random(request.config.option.seed)
    shelf = await a_filtered_shelf(app, rng)
    differing = [await shelf.differ(names, rng) for names in rng.sample(shelf.combinations(3), 150)]
    assert [said for said in differing if said] == []


async def test_whoever_pages_by_offset_or_number_sees_each_once(app, request):
    rng = random.Random(request.config.option.seed)
    shelf = await a_filtered_shelf(app, rng)
    everything = sorted(row.id for row in shelf.rows)
    for order in ORDERS:
        seen: list[int] = []
        while page := (await shelf.reader.get(f"/entries?order={order}&limit=7&offset={len(seen)}"))["entries"]:
            seen += [entry["id"] for entry in page]
        assert sorted(seen) == everything, order
    after, seen = 0, []
    while page := (await shelf.reader.get(f"/entries?order=id&after_entry_id={after}&limit=5"))["entries"]:
        seen += [entry["id"] for entry in page]
        after = seen[-1]
    assert seen == everything
    assert (await shelf.reader.get("/entries/ids"))["entry_ids"] == everything[::-1]
    part = await shelf.reader.get("/entries/ids?starred=true&limit=2&offset=1")
    saved = sorted((row.id for row in shelf.rows if row.saved), reverse=True)
    assert part == {"total": len(saved), "entry_ids": saved[1:3]}

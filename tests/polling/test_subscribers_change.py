"""Readers who follow, leave, refresh and come back while the same feeds are polled, stored and delivered."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Sequence

import pytest

from tests.api.people import RunningApp, a_running_app
from tests.app import in_settings
from tests.net.builders import answer
from tests.polling.builders import a_feed, a_publisher
from tests.waiting import eventually
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import Conflict
from tsuzuki.model.ids import ShelfId
from tsuzuki.shelves.types import NewSubscription

FEEDS, READERS, ACTS = 3, 3, 25

q = parse_queries(
    "tests",
    """
-- name: wrong
select
  (select count(*) from dead_letter)
  + (
    select count(*) from entry join item on item.id = entry.item_id
    where not exists (
      select 1 from subscription
      where subscription.shelf_id = entry.shelf_id and subscription.feed_id = item.feed_id
    )
  )
  + (
    select count(*) from subscription join watch on watch.feed_id = subscription.feed_id
    where watch.suspended_at is not null
  )
  + (
    select count(*) from tally
    where tally.kind = 'item' and tally.unread <> (
      select count(*) from entry join item on item.id = entry.item_id
      where entry.shelf_id = tally.shelf_id and item.feed_id = tally.of_id and entry.unread
    )
  ) as wrong;
-- name: newest
select count(*) from subscription join item on item.feed_id = subscription.feed_id
where item.key like '%-last' and exists (
  select 1 from entry where entry.shelf_id = subscription.shelf_id and entry.item_id = item.id
);
""",
)


class GrowingFeeds:
    """Every call brings two items more; `last` is what all bring in the end."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.is_over = False

    async def handle(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        path = head.split(b" ", 2)[1].decode()
        self.made[path] += 2
        keys = [f"{path}-{number}" for number in range(self.made[path], max(0, self.made[path] - 30), -1)]
        last = [f"{path}-last"] if self.is_over else []
        writer.write(answer(200, a_feed(*last, *keys), content_type="application/rss+xml"))


async def come_and_go(app: RunningApp, shelf: ShelfId, base: str, seed: int) -> None:
    """Whatever comes to a reader's mind; nothing but a second subscription is refused."""
    feeds, rng = app.reading.subscriptions, random.Random(seed)
    for _ in range(ACTS):
        mine, choice = await feeds.list(shelf), rng.random()
        if choice < 0.45 or not mine:
            try:
                await feeds.add(shelf, NewSubscription(link=f"{base}/{rng.randrange(FEEDS)}"))
            except Conflict:
                await feeds.refresh_all(shelf)
        elif choice < 0.75:
            await feeds.delete(shelf, rng.choice(mine).public_id)
        else:
            await feeds.refresh(shelf, rng.choice(mine).public_id)
        await asyncio.sleep(rng.random() * 0.02)


@pytest.mark.timeout(180)
async def test_following_and_leaving_during_polls_loses_nothing(database_url, tmp_path):
    """I2, I5, R70: nobody is refused, nothing is given up, and in the end every follower has what came last, once."""
    presses = GrowingFeeds()
    url = in_settings(database_url)
    async with (
        a_publisher(presses.handle) as publisher,
        a_running_app(tmp_path, database_url=url, allow_private_networks="127.0.0.0/8", pull_interval="1s") as app,
    ):
        shelves = [await _a_shelf(app) for _ in range(READERS)]
        app.worker_loops.start()
        await asyncio.gather(*(come_and_go(app, shelf, publisher.url, seed) for seed, shelf in enumerate(shelves)))
        presses.is_over = True
        for shelf in shelves:
            await follow_all(app, shelf, publisher.url)
        await eventually(lambda: is_here(app, shelves), within=60)
        await app.worker_loops.stop()
        assert await app.db.read(lambda tx: tx.one(int, q.wrong)) == 0


async def _a_shelf(app: RunningApp) -> ShelfId:
    """Of a tenant of its own: those of one tenant share theirs."""
    tenant = await app.accounts.tenants.add(SYSTEM, f"Tenant {random.random()}", "self-hosted")
    return (await app.accounts.current_user.shelf_of(await app.add(tenant_id=tenant.public_id))).id


async def follow_all(app: RunningApp, shelf: ShelfId, base: str) -> None:
    for number in range(FEEDS):
        with contextlib.suppress(Conflict):
            await app.reading.subscriptions.add(shelf, NewSubscription(link=f"{base}/{number}"))


async def is_here(app: RunningApp, shelves: Sequence[ShelfId]) -> bool:
    """Whether every follower has the last item of every feed; asks for it while that is not so."""
    for shelf in shelves:
        await app.reading.subscriptions.refresh_all(shelf)
    return await app.db.read(lambda tx: tx.one(int, q.newest)) == FEEDS * READERS

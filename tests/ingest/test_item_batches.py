"""Many feeds' batches through one transaction: what befalls one of them befalls no other (I1, I2, I4)."""

import asyncio
import signal
import sys
from pathlib import Path

import msgspec
import pytest

from tests.builders import HERE
from tests.delivery.builders import events_of, task_keys
from tests.ingest.builders import claimed_all
from tests.ingest.builders import q as poison
from tests.ingest.item_builders import followed_feeds, working
from tsuzuki.app.opening import wall_clock
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.errors import Contention
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.items import ITEMS, FeedItems, ItemBatch
from tsuzuki.ingest.service import Ingest
from tsuzuki.model.harvest import FoundItem
from tsuzuki.queue.errors import LeaseLost
from tsuzuki.queue.tasks import cancel_tx

ROOT = Path(__file__).parents[2]
FEEDS = 5
ROUNDS = 15

q = parse_queries(
    "tests",
    """
-- name: drop_watch
delete from watch where id = :id;
-- name: mark_all
update entry set unread = not unread where shelf_id = :shelf_id;
""",
)


class Remembering(Ingest[ItemBatch]):
    """Knows how many batches were stored at once."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.sizes = []

    async def handle_all(self, tasks):
        self.sizes.append(len(tasks))
        await super().handle_all(tasks)


async def one_each(followed, *keys):
    await followed.hand_on(*(followed.batch(number, *keys) for number in range(FEEDS)))


def everything(followed, *keys):
    return [(feed, key) for _, feed in followed.feeds for key in keys]


async def work_off(followed, kind=Remembering):
    async with working(followed.db, kind) as ingest:
        await followed.until_done()
    return ingest


async def test_many_feeds_are_stored_and_delivered_in_one_transaction(db):
    followed = await followed_feeds(db, FEEDS)
    await one_each(followed, "1", "2")
    ingest = await work_off(followed)
    assert ingest.sizes == [FEEDS]
    assert await followed.statuses() == ["done"] * FEEDS
    assert await followed.items() == await followed.inbox() == everything(followed, "1", "2")
    assert len(await task_keys(db, "notifications")) == FEEDS * 2
    assert [event.payload["count"] for event in await events_of(db, followed.shelf)] == [2] * FEEDS


async def test_a_poisonous_task_dead_letters_alone(db):
    followed = await followed_feeds(db, FEEDS)
    await db.with_tx(lambda tx: tx.run(poison.refuse_poison))
    await one_each(followed, "1")
    bad = msgspec.structs.replace(followed.batch(0, "2"), items=(FoundItem(key="p", title="Poison"),))
    await followed.hand_on(bad, poll=1)
    await followed.hand_on(followed.batch(1, "2"), poll=2)
    await work_off(followed)
    assert await followed.inbox() == sorted([*everything(followed, "1"), (followed.feeds[1][1], "2")])
    assert len(await task_keys(db, "notifications")) == FEEDS + 1
    assert [letter.key for letter in await followed.tasks.letters()] == [f"ingest-{followed.feeds[0][0]}-p"]


async def test_i4_tasks_with_lost_leases_are_excluded_and_others_stored(db):
    class Robbed(Remembering):
        async def handle_all(self, tasks):
            if len(tasks) > 1:
                await db.with_tx(lambda tx: cancel_tx(tx, tasks[1].id, now=wall_clock()))
            await super().handle_all(tasks)

    followed = await followed_feeds(db, FEEDS)
    await one_each(followed, "1")
    ingest = await work_off(followed, Robbed)
    assert ingest.sizes == [FEEDS] + [1] * FEEDS
    assert sorted(await followed.statuses()) == ["cancelled", *["done"] * (FEEDS - 1)]
    assert await followed.inbox() == [each for each in everything(followed, "1") if each[0] != followed.feeds[1][1]]


async def test_i4_a_lost_lease_rolls_back_the_whole_batch(db):
    followed = await followed_feeds(db, FEEDS)
    await one_each(followed, "1")
    tasks = await claimed_all(db, ITEMS, now=wall_clock())
    tasks[-1].lease_token -= 1
    with pytest.raises(LeaseLost):
        await Ingest(db, FeedItems(HERE), clock=wall_clock, after_commit=lambda *_: None).handle_all(tasks)
    assert await followed.items() == await followed.inbox() == []
    assert await followed.statuses() == ["running"] * FEEDS


async def test_r58_a_missing_watch_skips_only_its_task(db):
    followed = await followed_feeds(db, FEEDS)
    await one_each(followed, "1")
    await db.with_tx(lambda tx: tx.run(q.drop_watch, id=followed.feeds[2][0]))
    ingest = await work_off(followed)
    assert ingest.sizes == [FEEDS]
    assert await followed.statuses() == ["done", "done", "skipped", "done", "done"]
    assert len(await followed.inbox()) == FEEDS - 1


@pytest.mark.parametrize("is_first_harvest_first", [True, False])
async def test_r8_first_harvest_and_news_may_be_claimed_together(db, is_first_harvest_first):
    followed = await followed_feeds(db, 2)
    first, news = followed.batch(0, "1", "2", first=True), followed.batch(0, "1", "2", "3")
    await followed.hand_on(followed.batch(1, "1"), *((first, news) if is_first_harvest_first else (news, first)))
    ingest = await work_off(followed)
    assert ingest.sizes == [2, 1]
    here, there = followed.feeds[0][1], followed.feeds[1][1]
    assert await followed.inbox() == sorted([(here, "1"), (here, "2"), (here, "3"), (there, "1")])
    assert len(await task_keys(db, "notifications")) == 2


async def test_letters_of_several_feeds_are_settled_together(db):
    """Pieces of what was split: each carries the key of its letter."""
    followed = await followed_feeds(db, 2)
    await db.with_tx(lambda tx: tx.run(poison.refuse_poison))
    bad = FoundItem(key="p", title="Poison")
    batches = [msgspec.structs.replace(followed.batch(number), items=(bad,)) for number in range(2)]
    await followed.hand_on(*batches)
    await work_off(followed)
    assert len(await followed.tasks.letters()) == 2
    await db.with_tx(lambda tx: tx.run(poison.allow_poison))
    await followed.tasks.replay_all()
    ingest = await work_off(followed)
    assert ingest.sizes == [2]
    assert await followed.tasks.letters() == []


async def test_rel_01_a_worker_killed_before_its_commit_leaves_nothing_twice(database_url):
    db = await open_database(DatabaseOptions(database_url))
    followed = await followed_feeds(db, FEEDS)
    await one_each(followed, "1", "2")
    command = (sys.executable, "-m", "tests.ingest.killed_worker", database_url)
    child = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    async with asyncio.timeout(60):
        told, _ = await child.communicate()
    assert (child.returncode, told) == (-signal.SIGKILL, b"%d\n" % FEEDS)
    assert await followed.items() == await followed.inbox() == []
    await work_off(followed)
    assert await followed.inbox() == everything(followed, "1", "2")
    assert len(await task_keys(db, "notifications")) == FEEDS * 2
    await db.close()


async def test_rel_19d_workers_whose_feeds_overlap_never_lock_each_other_out(db):
    """With a reader who marks everything meanwhile: the counts of a shelf are rows too."""
    met = []

    class Watched:
        """A database that knows of every transaction that was undone to break a deadlock."""

        engine, read, ping, close = db.engine, db.read, db.ping, db.close
        release_memory, read_replica = db.release_memory, db.read_replica

        async def with_tx(self, work):
            try:
                return await db.with_tx(work)
            except Contention as error:
                met.append(error)
                raise

    followed = await followed_feeds(db, FEEDS)
    one, other = (Ingest(Watched(), FeedItems(HERE), clock=wall_clock, after_commit=lambda *_: None) for _ in range(2))
    for number in range(ROUNDS):
        await followed.hand_on(
            *(followed.batch(feed, f"a{number}", "same") for feed in range(FEEDS)), poll=100 * number
        )
        await followed.hand_on(
            *(followed.batch(feed, "same", f"b{number}") for feed in range(FEEDS)), poll=100 * number + 50
        )
        tasks = await claimed_all(db, ITEMS, now=wall_clock())
        mine, theirs = one.groups(tasks)
        mark = Watched().with_tx(lambda tx: tx.run(q.mark_all, shelf_id=followed.shelf))
        await asyncio.gather(one.handle_all(mine), other.handle_all(theirs[::-1]), mark)
    assert met == []
    assert len(await followed.inbox()) == FEEDS * (2 * ROUNDS + 1)
    assert set(await followed.statuses()) == {"done"}

"""Leaving a feed, and having it back as it was."""

import pytest

from tests.builders import NOON
from tests.delivery.builders import a_reader, publish
from tests.inbox.builders import an_inbox, items_of
from tests.shelves.builders import shelf_deps
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import NotFound
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.times import DAY, HOUR, Millis
from tsuzuki.polling.moved_feeds import move_items_tx, move_subscriptions_tx
from tsuzuki.shelves.bookmarks import Bookmarks
from tsuzuki.shelves.groups import Groups
from tsuzuki.shelves.subscriptions import KEPT, Subscriptions
from tsuzuki.shelves.types import NewSubscription, SubscriptionChange
from tsuzuki.sources.feeds import drop_feed_tx

LINK = "https://example.org/feed"

q = parse_queries(
    "tests",
    """
-- name: remembered
select (select count(*) from former_subscription) + (select count(*) from former_entry) as remembered;
-- name: feeds
select count(*) from feed;
""",
)


class Reading:
    """A shelf with a feed of five items: one read, one saved, and every setting another than by default."""

    def __init__(self, db, shelf):
        self.db = db
        self.shelf = shelf
        self.deps = shelf_deps(db)
        self.subscriptions = Subscriptions(self.deps)
        self.inbox = an_inbox(db)
        self.bookmarks = Bookmarks(self.deps)

    async def furnish(self):
        group = await Groups(self.deps).add(self.shelf, "Craft")
        self.made = await self.subscriptions.add(
            self.shelf, NewSubscription(link=LINK, name="Mine", group=group.public_id)
        )
        await publish(self.db, self.made.feed_id, range(5), first=True)
        items = await self.items()
        await self.inbox.mark_items(self.shelf, [items[0].item_id], unread=False)
        await self.bookmarks.add_item(self.shelf, items[1].item_id)
        wanted = SubscriptionChange(notify=False, full_text=True, poll_interval=HOUR, retention=Millis(9 * DAY))
        await self.subscriptions.change(self.shelf, self.made.public_id, wanted)

    async def items(self):
        return await items_of(self.db, self.shelf)

    async def states(self):
        return [(item.item_id, item.unread, item.saved, item.sort_at) for item in await self.items()]

    async def settings(self):
        found = await self.subscriptions.get(self.shelf, self.made.public_id)
        names = ("public_id", "group_id", "name", "suspended_at", "notify", "full_text", "poll_interval", "retention")
        return {name: getattr(found, name) for name in (*names, "created_at", "unread_count", "item_count")}

    def at(self, now):
        return Subscriptions(shelf_deps(self.db, lambda: now))


@pytest.fixture
async def reading(db):
    made = Reading(db, await a_reader(db))
    await made.furnish()
    return made


async def test_i9_undoing_an_unsubscribe_restores_everything(reading):
    before = await reading.settings(), await reading.states()
    assert sorted(state[1:3] for state in before[1]) == [(False, False), *[(True, False)] * 3, (True, True)]
    await reading.subscriptions.delete(reading.shelf, reading.made.public_id)
    assert await reading.states() == []
    assert await reading.subscriptions.former_name(reading.shelf, reading.made.public_id) == "Mine"
    await reading.subscriptions.restore(reading.shelf, reading.made.public_id)
    assert (await reading.settings(), await reading.states()) == before
    assert await reading.db.read(lambda tx: tx.one(int, q.remembered)) == 0
    saved = next(state[0] for state in before[1] if state[2])
    await reading.bookmarks.delete_of_item(reading.shelf, saved)  # the bookmark knows its item again
    assert not any(state[2] for state in await reading.states())


async def test_i9_subscribing_again_restores_all_but_new_choices(reading):
    before = await reading.states()
    await reading.subscriptions.delete(reading.shelf, reading.made.public_id)
    again = await reading.subscriptions.add(reading.shelf, NewSubscription(link=LINK, name="Another name"))
    assert await reading.states() == before
    assert (again.public_id, again.name) == (reading.made.public_id, "Another name")
    assert (again.group_id, again.notify, again.retention) == (reading.made.group_id, False, 9 * DAY)
    with pytest.raises(NotFound):
        await reading.subscriptions.restore(reading.shelf, reading.made.public_id)


async def test_what_others_received_meanwhile_comes_back_too(reading):
    other = await a_reader(reading.db)
    await reading.subscriptions.add(other, NewSubscription(link=LINK))
    saved = next(state[0] for state in await reading.states() if state[2])
    await reading.subscriptions.delete(reading.shelf, reading.made.public_id)
    page = await reading.bookmarks.list(reading.shelf, feed=None, group=None, after=FROM_THE_TOP, most=9)
    await reading.bookmarks.delete(reading.shelf, page.rows[0].public_id)
    await publish(reading.db, reading.made.feed_id, ["new"], now=Millis(NOON + HOUR))
    await reading.at(Millis(NOON + DAY)).restore(reading.shelf, reading.made.public_id)
    states = await reading.states()
    assert len(states) == 6
    assert not any(state[2] for state in states if state[0] == saved)


async def test_i9_an_unsubscribe_from_a_merged_feed_can_be_undone(reading):
    """R29: what moved meanwhile is not lost to whoever may undo having left it."""
    before = [state[1:] for state in await reading.states()]
    other = await reading.subscriptions.add(await a_reader(reading.db), NewSubscription(link=f"{LINK}/moved"))
    await reading.subscriptions.delete(reading.shelf, reading.made.public_id)

    async def merge(tx):
        await move_items_tx(tx, reading.made.feed_id, other.feed_id, NOON)
        await move_subscriptions_tx(tx, reading.made.feed_id, other.feed_id, NOON)
        return await drop_feed_tx(tx, reading.made.feed_id)

    assert await reading.db.with_tx(merge)
    back = await reading.subscriptions.restore(reading.shelf, reading.made.public_id)
    assert back.feed_id == other.feed_id
    assert [state[1:] for state in await reading.states()] == before


async def test_a_group_that_is_gone_is_the_default_one_then(reading):
    group = (await reading.subscriptions.get(reading.shelf, reading.made.public_id)).group_public_id
    await reading.subscriptions.delete(reading.shelf, reading.made.public_id)
    await Groups(reading.deps).delete(reading.shelf, group)
    back = await reading.subscriptions.restore(reading.shelf, reading.made.public_id)
    assert back.group_public_id != group


async def test_i8_nobody_has_back_what_another_shelf_left(reading):
    await reading.subscriptions.delete(reading.shelf, reading.made.public_id)
    other = await a_reader(reading.db)
    assert await reading.subscriptions.former_name(other, reading.made.public_id) is None
    with pytest.raises(NotFound):
        await reading.subscriptions.restore(other, reading.made.public_id)
    fresh = await reading.subscriptions.add(other, NewSubscription(link=LINK))
    assert (fresh.public_id == reading.made.public_id, fresh.unread_count) == (False, 5)


async def test_after_a_month_it_cannot_be_undone_and_is_forgotten(reading):
    await reading.subscriptions.delete(reading.shelf, reading.made.public_id)
    later = reading.at(Millis(NOON + KEPT + 1))
    with pytest.raises(NotFound):
        await later.restore(reading.shelf, reading.made.public_id)
    await later.forget_former()
    assert await reading.db.read(lambda tx: tx.one(int, q.remembered)) == 0
    assert await reading.db.read(lambda tx: tx.one(int, q.feeds)) == 0
    fresh = await later.add(reading.shelf, NewSubscription(link=LINK))
    assert (fresh.name, fresh.notify, fresh.item_count) == ("", True, 0)


async def test_a_late_mark_leaves_read_what_was_read_since(reading):
    entry = next(item for item in await reading.items() if item.unread)
    at = Millis(NOON - HOUR)
    read = await reading.inbox.mark_entries(reading.shelf, [entry.id], unread=False, made_at=at)
    assert (read.changed, read.at) == (1, at)
    late = Millis(at - 1)
    assert (await reading.inbox.mark_entries(reading.shelf, [entry.id], unread=True, made_at=late)).changed == 0
    assert (await reading.inbox.mark_entries(reading.shelf, [entry.id], unread=True, made_at=at)).changed == 1
    for nonsense in (Millis(NOON + DAY), Millis(NOON - 400 * DAY)):
        marked = await reading.inbox.mark_entries(reading.shelf, [entry.id], unread=False, made_at=nonsense)
        assert (marked.changed, marked.at) == (1, NOON)
        await reading.inbox.mark_entries(reading.shelf, [entry.id], unread=True)

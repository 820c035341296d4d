"""R119: tags on entries, feeds and series; on both engines."""

import asyncio

import pytest

from tests.builders import NOON, stored_feed, stored_series, stored_watch
from tests.delivery.builders import a_reader, entry_ids, events_of, publish, release, subscribe
from tests.inbox.builders import an_inbox
from tests.shelves.builders import shelf_deps
from tsuzuki.accounts.types import Slice
from tsuzuki.db import Database
from tsuzuki.inbox.entries import EntryFilter
from tsuzuki.model.errors import Conflict, Invalid, LimitExceeded, NotFound
from tsuzuki.model.ids import EntryId, PublicId, ShelfId
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.times import DAY, Millis
from tsuzuki.shelves.follows import Follows
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.shelves.tags import LONGEST_TAG, MOST_SHELF_TAGS, MOST_TAGS_OF_ONE, Tags
from tsuzuki.shelves.types import FollowFilter, FollowRequest, SubscriptionChange


async def a_shelf(db: Database) -> tuple[ShelfId, PublicId, PublicId]:
    """With a feed of two articles and a series of one chapter; the shelf's ids of both."""
    feed, series = await stored_feed(db), await stored_series(db)
    await stored_watch(db, feed)
    shelf = await a_reader(db, feeds=[feed], series=[series])
    await publish(db, feed, ["a", "b"])
    await release(db, series, [1])
    [one] = await Subscriptions(shelf_deps(db)).list(shelf)
    [followed], _ = await Follows(shelf_deps(db)).list(shelf, FollowFilter(), Slice(most=1))
    return shelf, one.public_id, followed.public_id


async def tagged(db: Database, shelf: ShelfId, name: str) -> set[EntryId]:
    """The entries of a tag."""
    found = next(tag for tag in await Tags(shelf_deps(db)).list(shelf) if tag.name == name)
    wanted = EntryFilter(tag=found.public_id)
    page = await an_inbox(db).list(shelf, wanted, after=FROM_THE_TOP, most=50)
    assert page.total == len(page.rows) == found.entries
    unread = EntryFilter(tag=found.public_id, unread=True)
    assert await an_inbox(db).total(shelf, unread) == found.unread
    return {entry.id for entry in page.rows}


async def names(db: Database, shelf: ShelfId, entry: EntryId) -> list[tuple[str, bool]]:
    found = await Tags(shelf_deps(db)).of_entries(shelf, [entry])
    return [(tag.name, tag.is_own) for tag in found.get(entry, ())]


async def test_entries_have_their_own_and_inherited_tags(db):
    shelf, feed, followed = await a_shelf(db)
    first, second, chapter = await entry_ids(db, shelf)
    tags = Tags(shelf_deps(db))
    assert await tags.tag_entries(shelf, [first, chapter], add=["Later", "sea"]) == 4
    await tags.set_feed(shelf, feed, ["News", "later"])
    await tags.set_series(shelf, followed, ["Sea"])
    assert await names(db, shelf, first) == [("Later", True), ("News", False), ("sea", True)]
    assert await names(db, shelf, second) == [("Later", False), ("News", False)]
    assert await names(db, shelf, chapter) == [("Later", True), ("sea", True)]
    assert await tagged(db, shelf, "Later") == {first, second, chapter}
    assert await tagged(db, shelf, "News") == {first, second}
    assert await tagged(db, shelf, "sea") == {first, chapter}
    assert [(tag.name, tag.followed) for tag in await tags.list(shelf)] == [("Later", 1), ("News", 1), ("sea", 1)]


async def test_tagging_again_changes_nothing_and_untagging_leaves_the_tag(db):
    shelf, *_ = await a_shelf(db)
    first, second, chapter = await entry_ids(db, shelf)
    tags = Tags(shelf_deps(db))
    await tags.tag_entries(shelf, [first, second, chapter], add=["Sea"])
    assert await tags.tag_entries(shelf, [first], add=["SEA", "ＳＥＡ"]) == 0
    assert await tags.tag_entries(shelf, [first, chapter], remove=["sea", "unknown"]) == 2
    assert await tagged(db, shelf, "Sea") == {second}
    assert await tags.tag_entries(shelf, [second], add=["Sea"], remove=["sea"]) == 0


async def test_a_tag_is_renamed_or_merged(db):
    shelf, feed, _ = await a_shelf(db)
    first, second, chapter = await entry_ids(db, shelf)
    tags = Tags(shelf_deps(db))
    await tags.tag_entries(shelf, [first, chapter], add=["Sea"])
    await tags.tag_entries(shelf, [first], add=["Ocean"])
    await tags.set_feed(shelf, feed, ["Ocean"])
    [ocean, sea] = await tags.list(shelf)
    assert (await tags.rename(shelf, sea.public_id, "SEA")).name == "SEA"
    joined = await tags.rename(shelf, sea.public_id, "ocean")
    assert (joined.public_id, joined.name) == (ocean.public_id, "Ocean")
    assert [tag.name for tag in await tags.list(shelf)] == ["Ocean"]
    assert await tagged(db, shelf, "Ocean") == {first, second, chapter}


async def test_a_deleted_tag_can_be_had_back_for_a_month(db):
    shelf, feed, _ = await a_shelf(db)
    first, second, _ = await entry_ids(db, shelf)
    clock = [NOON]
    tags = Tags(shelf_deps(db, lambda: clock[0]))
    await tags.tag_entries(shelf, [first], add=["Sea"])
    await tags.set_feed(shelf, feed, ["News"])
    news, sea = await tags.list(shelf)
    await tags.delete(shelf, sea.public_id)
    assert await names(db, shelf, first) == [("News", False)]
    with pytest.raises(NotFound):
        await tags.get(shelf, sea.public_id)
    await tags.tag_entries(shelf, [second], add=["sea"])
    assert (await tags.restore(shelf, sea.public_id)).name == "sea", "what has the name now is joined by it"
    assert await tagged(db, shelf, "sea") == {first, second}
    await tags.delete(shelf, news.public_id)
    assert (await tags.restore(shelf, news.public_id)).public_id == news.public_id
    assert await tagged(db, shelf, "News") == {first, second}
    await tags.delete(shelf, news.public_id)
    clock[0] = Millis(NOON + 31 * DAY)
    assert await tags.forget_deleted() == 1
    with pytest.raises(NotFound):
        await tags.restore(shelf, news.public_id)


@pytest.mark.parametrize("name", ["", "  ", "x" * (LONGEST_TAG + 1), "a\x00b", "a\u200bb"])
async def test_a_name_that_cannot_be_read_is_refused(db, name):
    shelf = await a_reader(db)
    with pytest.raises(Invalid):
        await Tags(shelf_deps(db)).add(shelf, name)


async def test_a_name_is_taken_whatever_its_case(db):
    shelf, other = await a_reader(db), await a_reader(db)
    tags = Tags(shelf_deps(db))
    await tags.add(shelf, " The   Sea ")
    with pytest.raises(Conflict):
        await tags.add(shelf, "the sea")
    assert (await tags.add(other, "the sea")).name == "the sea"


async def test_tags_are_limited_by_shelf_and_by_entry(db):
    shelf, feed, _ = await a_shelf(db)
    first, *_ = await entry_ids(db, shelf)
    tags = Tags(shelf_deps(db))
    many = [f"tag {n}" for n in range(MOST_SHELF_TAGS)]
    with pytest.raises(LimitExceeded):
        await tags.tag_entries(shelf, [first], add=many[: MOST_TAGS_OF_ONE + 1])
    with pytest.raises(LimitExceeded):
        await tags.set_feed(shelf, feed, many[: MOST_TAGS_OF_ONE + 1])
    assert await tags.list(shelf) == []
    for n in range(0, MOST_SHELF_TAGS, 20):
        await tags.set_feed(shelf, feed, many[n : n + 20])
    with pytest.raises(LimitExceeded):
        await tags.add(shelf, "one more")


async def test_i8_another_shelf_sees_and_touches_nothing(db):
    shelf, feed, followed = await a_shelf(db)
    [first, *_] = await entry_ids(db, shelf)
    other, tags = await a_reader(db), Tags(shelf_deps(db))
    await tags.tag_entries(shelf, [first], add=["Mine"])
    [mine] = await tags.list(shelf)
    assert await tags.list(other) == []
    assert await tags.of_entries(other, [first]) == {}
    assert await tags.tag_entries(other, [first], add=["Theirs"], remove=["Mine"]) == 0
    assert await names(db, shelf, first) == [("Mine", True)]
    for refused in (
        tags.get(other, mine.public_id),
        tags.rename(other, mine.public_id, "Theirs"),
        tags.delete(other, mine.public_id),
        tags.restore(other, mine.public_id),
        tags.of_feed(other, feed),
        tags.set_feed(other, feed, ["Theirs"]),
        tags.set_series(other, followed, ["Theirs"]),
        an_inbox(db).total(other, EntryFilter(tag=mine.public_id)),
    ):
        with pytest.raises(NotFound):
            await refused


async def test_two_who_share_a_feed_tag_it_apart(db):
    feed = await stored_feed(db)
    first, second = await a_reader(db), await a_reader(db)
    for shelf in (first, second):
        await subscribe(db, shelf, feed)
    await publish(db, feed, ["a"])
    [mine], [theirs] = await entry_ids(db, first), await entry_ids(db, second)
    await Tags(shelf_deps(db)).tag_entries(first, [mine], add=["Mine"])
    assert await names(db, first, mine) == [("Mine", True)]
    assert await names(db, second, theirs) == []


async def test_i9_tags_are_back_when_feed_and_series_are(db):
    shelf, feed, followed = await a_shelf(db)
    first, _, chapter = await entry_ids(db, shelf)
    deps = shelf_deps(db)
    tags, feeds, follows = Tags(deps), Subscriptions(deps), Follows(deps)
    series = (await follows.get(shelf, followed)).series_public_id
    await tags.tag_entries(shelf, [first, chapter], add=["Sea"])
    await tags.set_feed(shelf, feed, ["News"])
    await feeds.delete(shelf, feed)
    await follows.leave(shelf, followed)
    assert [(tag.name, tag.entries, tag.followed) for tag in await tags.list(shelf)] == [("News", 0, 0), ("Sea", 0, 0)]
    await feeds.restore(shelf, feed)
    await follows.add(shelf, FollowRequest(series=series))
    assert len(await tagged(db, shelf, "Sea")) == 2
    assert len(await tagged(db, shelf, "News")) == 2


async def test_open_pages_are_told_of_tags(db):
    shelf, *_ = await a_shelf(db)
    [first, *_] = await entry_ids(db, shelf)
    before = len(await events_of(db, shelf))
    await Tags(shelf_deps(db)).tag_entries(shelf, [first], add=["Sea"])
    assert [event.kind for event in (await events_of(db, shelf))[before:]] == ["counts"]


async def test_many_who_tag_at_once_make_one_tag(db):
    shelf, *_ = await a_shelf(db)
    ids = await entry_ids(db, shelf)
    tags = Tags(shelf_deps(db))
    await asyncio.gather(*(tags.tag_entries(shelf, [one], add=["Sea", "Ocean"]) for one in [*ids, *ids]))
    assert await tagged(db, shelf, "Sea") == await tagged(db, shelf, "Ocean") == set(ids)


async def test_i9_tags_stay_when_a_subscription_gets_another_address(db):
    old, new = await stored_feed(db), await stored_feed(db, "https://example.org/new")
    for feed in (old, new):
        await stored_watch(db, feed)
    shelf, other = await a_reader(db, feeds=[old]), await a_reader(db, feeds=[old, new])
    await publish(db, old, ["a", "b"])
    await publish(db, new, ["a"])
    tags, feeds = Tags(shelf_deps(db)), Subscriptions(shelf_deps(db))
    [first, _] = await entry_ids(db, shelf)
    [mine] = await feeds.list(shelf)
    await tags.tag_entries(shelf, [first], add=["Sea"])
    await tags.set_feed(shelf, mine.public_id, ["News"])
    await feeds.change(shelf, mine.public_id, SubscriptionChange(link="https://example.org/new"))
    [moved] = await entry_ids(db, shelf)
    assert await names(db, shelf, moved) == [("News", False), ("Sea", True)]
    assert await tags.of_entries(other, await entry_ids(db, other)) == {}

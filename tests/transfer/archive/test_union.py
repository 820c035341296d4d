"""Into a server that has some of it: nothing is doubled, nobody else's state changes, and nothing is news."""

import msgspec
import pytest

from tests.builders import NOON, a_new_item, store_items_tx
from tests.delivery.builders import publish
from tests.shelves.builders import on_plan, shelf_deps
from tests.transfer.archive.builders import (
    a_chapter,
    a_feed,
    a_reader,
    a_series,
    a_source,
    an_archive,
    an_item,
    count,
    due,
    only_feed,
    parts_of,
)
from tsuzuki.model.errors import LimitExceeded
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.shelves.types import NewSubscription
from tsuzuki.transfer.archive.format import (
    ArchivedPreferences,
    BookmarkLine,
    ChannelLine,
    EntryLine,
    FollowLine,
    FormerFollowLine,
    GroupLine,
    Person,
    ProgressLine,
    RemovedItemLine,
    SeriesSource,
)

READ = {"unread": False, "read_at": NOON}


def an_entry(**over):
    return EntryLine(sort_at=NOON, created_at=NOON, **over)


def a_comic(*chapters, **over):
    latest = max((chapter.number for chapter in chapters), default=None)
    return {
        "sources.jsonl": [a_source()],
        "series.jsonl": [a_series(latest_number=latest, **over)],
        "chapters.jsonl": list(chapters),
    }


async def test_what_was_read_or_saved_on_either_side_stays_so(db, tmp_path):
    feed = {"feeds.jsonl": [a_feed()]}
    here = [an_item("1", entry=READ), an_item("2"), an_item("3", entry={"saved": True}), an_item("4")]
    there = [an_item("1"), an_item("2", entry=READ), an_item("3"), an_item("4", entry={"saved": True}), an_item("5")]
    reader = await a_reader(db, tmp_path)
    await reader.import_archive(an_archive(tmp_path, feed | {"items.jsonl": here}))
    brought = await reader.import_archive(an_archive(tmp_path, feed | {"items.jsonl": there}))
    counts = brought.parts["items.jsonl"]
    assert (counts.created, counts.existing, counts.left_out) == (1, 4, 0)
    entries = {item["key"]: item["entry"] for item in parts_of(await reader.export())["items.jsonl"]}
    assert [entries[key].get("unread", True) for key in "12345"] == [False, False, True, True, True]
    assert [entries[key].get("saved", False) for key in "12345"] == [False, False, True, True, False]


async def test_what_is_stored_here_is_newer_than_what_was_exported(db, tmp_path):
    """R32, and the reader's own names too."""
    reader = await a_reader(db, tmp_path)
    mine = {"feeds.jsonl": [a_feed(name="Mine", notify=False)], "items.jsonl": [an_item("1", title="New")]}
    await reader.import_archive(an_archive(tmp_path, mine))
    await reader.import_archive(
        an_archive(tmp_path, {"feeds.jsonl": [a_feed(name="Old")], "items.jsonl": [an_item("1")]})
    )
    stored = parts_of(await reader.export())
    assert (stored["feeds.jsonl"][0]["name"], stored["feeds.jsonl"][0]["notify"]) == ("Mine", False)
    assert stored["items.jsonl"][0]["title"] == "New"


async def test_progress_of_both_sides_comes_together(db, tmp_path):
    """The newest page, the furthest page, and read if it was read on either side (I9)."""

    def progress(**over):
        return ProgressLine(updated_at=NOON, **over)

    here = progress(page=3, furthest_page=9, paged_at=NOON - 1, opened_at=NOON - 1, is_bookmarked=True, device="here")
    there = progress(page=5, furthest_page=5, paged_at=NOON, opened_at=NOON, is_read=True, device="there")
    reader = await a_reader(db, tmp_path)
    await reader.import_archive(
        an_archive(tmp_path, a_comic(a_chapter("1", progress=here, entry=an_entry(saved=True))))
    )
    theirs = a_chapter("1", progress=there, entry=an_entry(unread=False))
    await reader.import_archive(an_archive(tmp_path, a_comic(theirs)))
    await reader.import_archive(an_archive(tmp_path, a_comic(a_chapter("1", progress=here))))
    [chapter] = parts_of(await reader.export())["chapters.jsonl"]
    kept = chapter["progress"]
    assert (kept["page"], kept["furthest_page"], kept["device"], kept["opened_at"]) == (5, 9, "there", NOON)
    assert (kept["is_read"], kept["is_bookmarked"]) == (True, True)
    assert (chapter["entry"]["unread"], chapter["entry"]["saved"]) == (False, True)


async def test_what_others_follow_is_not_changed_for_them(db, tmp_path):
    """I8: an archive adds nothing to a feed or a series that somebody else reads; what it has in common comes along."""
    known = {"feeds.jsonl": [a_feed()]} | a_comic(a_chapter("1"))
    other = await a_reader(db, tmp_path)
    await other.import_archive(an_archive(tmp_path, known))
    await publish(db, await only_feed(db), ["1"])
    before = parts_of(await other.export())
    more = {
        "feeds.jsonl": [a_feed(title="Fake")],
        "items.jsonl": [an_item("1", title="Fake", entry=READ), an_item("2", title="Fake")],
        "gone.jsonl": [RemovedItemLine(feed=a_feed().feed_key, key="3")],
    } | a_comic(a_chapter("1", title="Fake", entry=an_entry(unread=False)), a_chapter("2", title="Fake"), title="Fake")
    extra = SeriesSource(source="site", key="two", url="https://example.org/two", update_strategy="ALWAYS_UPDATE")
    [series] = more["series.jsonl"]
    more["series.jsonl"] = [msgspec.structs.replace(series, sources=(*series.sources, extra))]
    reader = await a_reader(db, tmp_path)
    brought = await reader.import_archive(an_archive(tmp_path, more))
    assert parts_of(await other.export()) == before
    assert [note.partition(",")[0] for note in brought.notes] == ["chapters.jsonl: 1 are unknown here"]
    mine = parts_of(await reader.export())
    assert {(item["key"], item["title"]) for item in mine["items.jsonl"]} == {("1", "Item 1"), ("2", "Fake")}
    assert [item["entry"]["unread"] for item in mine["items.jsonl"] if item["key"] == "1"] == [False]
    [chapter] = mine["chapters.jsonl"]
    assert ("title" in chapter, chapter["entry"]["unread"]) == (False, False)
    assert [len(series["sources"]) for series in mine["series.jsonl"]] == [1]


async def test_feed_details_of_an_archive_are_its_readers_only(db, tmp_path):
    """Whoever follows the feed later sees nothing of it, and gets each real post, whatever the archive called known."""
    reader = await a_reader(db, tmp_path)
    forged = {
        "feeds.jsonl": [a_feed()],
        "items.jsonl": [an_item("forged", title="Fake"), an_item("next", title="Fake", entry=READ)],
        "gone.jsonl": [RemovedItemLine(feed=a_feed().feed_key, key="hidden")],
    }
    await reader.import_archive(an_archive(tmp_path, forged))
    feeds = Subscriptions(shelf_deps(db))
    later = await a_reader(db, tmp_path)
    await feeds.add(later.shelf_id, NewSubscription(link=a_feed().link))
    assert parts_of(await later.export())["items.jsonl"] == []
    await publish(db, await only_feed(db), ["next", "hidden"])
    keys = {item["key"]: item["title"] for item in parts_of(await later.export())["items.jsonl"]}
    assert keys == {"next": "Item next", "hidden": "Item hidden"}
    mine = {item["key"]: (item["title"], item["entry"]) for item in parts_of(await reader.export())["items.jsonl"]}
    assert {key: title for key, (title, _) in mine.items()} == {"forged": "Fake", "next": "Item next"}
    assert mine["next"][1]["unread"] is False


async def test_what_came_here_since_the_export_comes_into_the_inbox(db, tmp_path):
    other = await a_reader(db, tmp_path)
    await other.import_archive(an_archive(tmp_path, {"feeds.jsonl": [a_feed()]}))
    feed, came = await only_feed(db), [a_new_item("old"), a_new_item("new", sort_at=Millis(NOON + 1))]
    await db.with_tx(lambda tx: store_items_tx(tx, feed, came, NOON))
    reader = await a_reader(db, tmp_path)
    await reader.import_archive(an_archive(tmp_path, {"feeds.jsonl": [a_feed()]}))
    assert [item["key"] for item in parts_of(await reader.export())["items.jsonl"]] == ["new"]


async def test_nothing_is_news_and_not_everything_is_called_at_once(db, tmp_path):
    """R8: no notices; what the next poll finds is news, as the back-catalogue came with the archive. I5."""
    feeds = [a_feed(f"https://example.org/{n}") for n in range(30)]
    items = [an_item(str(n), feed) for feed in feeds for n in range(3)]
    comic = a_comic(*(a_chapter(str(n), entry=an_entry()) for n in range(1, 10)))
    reader = await a_reader(db, tmp_path)
    await reader.import_archive(an_archive(tmp_path, {"feeds.jsonl": feeds, "items.jsonl": items} | comic))
    assert await count(db, "count_tasks") == 0
    assert await count(db, "harvested") == 31
    times = await due(db)
    assert len(set(times)) == 31
    assert times[0] > NOON + MINUTE
    assert times[-1] <= NOON + 8 * MINUTE


async def test_very_many_are_called_within_half_an_hour(db, tmp_path):
    reader = await a_reader(db, tmp_path)
    feeds = [a_feed(f"https://example.org/{n}") for n in range(300)]
    await reader.import_archive(an_archive(tmp_path, {"feeds.jsonl": feeds}))
    times = await due(db)
    assert len(set(times)) == 300
    assert NOON + 30 * MINUTE < times[-1] <= NOON + 35 * MINUTE


async def test_imported_feeds_keep_their_schedule_and_validators(db, tmp_path):
    """And the next archive says the same."""
    soon = {"etag": '"abc"', "last_modified": "Fri, 02 Jan 2026 10:00:00 GMT", "next_check_at": NOON + HOUR}
    late = {"next_check_at": NOON + 9 * DAY}
    feeds = [a_feed("https://example.org/soon", **soon), a_feed("https://example.org/late", **late)]
    reader = await a_reader(db, tmp_path)
    await reader.import_archive(an_archive(tmp_path, {"feeds.jsonl": feeds}))
    assert await due(db) == [NOON + HOUR, NOON + 2 * DAY]
    told = {line["link"]: line for line in parts_of(await reader.export())["feeds.jsonl"]}
    assert told["https://example.org/soon"].items() >= soon.items()
    assert told["https://example.org/late"]["next_check_at"] == NOON + 2 * DAY


async def test_what_was_never_harvested_there_is_a_first_harvest_here(db, tmp_path):
    reader = await a_reader(db, tmp_path)
    await reader.import_archive(an_archive(tmp_path, {"feeds.jsonl": [a_feed(is_harvested=False)]}))
    assert await count(db, "harvested") == 0


async def test_who_left_a_series_here_or_follows_it_stays_so(db, tmp_path):
    former = FormerFollowLine(status="reading", preferences=ArchivedPreferences(), created_at=NOON, left_at=NOON)
    left = a_comic(a_chapter("1"), follow=None, former=former)
    reader = await a_reader(db, tmp_path)
    await reader.import_archive(an_archive(tmp_path, left))
    later = msgspec.structs.replace(former, left_at=NOON + 1)
    await reader.import_archive(an_archive(tmp_path, a_comic(a_chapter("1"), follow=None, former=later)))
    [series] = parts_of(await reader.export())["series.jsonl"]
    assert series["former"]["left_at"] == NOON
    await reader.import_archive(an_archive(tmp_path, a_comic(a_chapter("1"))))
    await reader.import_archive(an_archive(tmp_path, left))
    [series] = parts_of(await reader.export())["series.jsonl"]
    assert ("former" in series, series["follow"]["status"]) == (False, "reading")


async def test_a_feed_left_here_comes_back_with_its_reads(db, tmp_path):
    shelf = {"feeds.jsonl": [a_feed()], "items.jsonl": [an_item("1", entry=READ), an_item("2")]}
    reader = await a_reader(db, tmp_path)
    await reader.import_archive(an_archive(tmp_path, shelf))
    feeds = Subscriptions(shelf_deps(db))
    [feed] = await feeds.list(reader.shelf_id)
    await feeds.delete(reader.shelf_id, feed.public_id)
    assert parts_of(await reader.export())["feeds.jsonl"] == []
    await reader.import_archive(
        an_archive(tmp_path, {"feeds.jsonl": [a_feed()], "items.jsonl": [an_item("1"), an_item("2")]})
    )
    items = parts_of(await reader.export())["items.jsonl"]
    assert [item["entry"].get("unread", True) for item in items] == [False, True]


async def test_a_restorable_feed_comes_back_unchanged(db, tmp_path):
    """Having left can be undone for a month: until then the feed is theirs too."""
    other = await a_reader(db, tmp_path)
    await other.import_archive(an_archive(tmp_path, {"feeds.jsonl": [a_feed()], "items.jsonl": [an_item("1")]}))
    feeds = Subscriptions(shelf_deps(db))
    [feed] = await feeds.list(other.shelf_id)
    await feeds.delete(other.shelf_id, feed.public_id)
    reader = await a_reader(db, tmp_path)
    await reader.import_archive(
        an_archive(tmp_path, {"feeds.jsonl": [a_feed()], "items.jsonl": [an_item("1"), an_item("fake")]})
    )
    await feeds.restore(other.shelf_id, feed.public_id)
    assert [item["key"] for item in parts_of(await other.export())["items.jsonl"]] == ["1"]


async def test_wishes_name_sources_and_not_numbers(db, tmp_path):
    """Another server numbers its sources otherwise."""
    follow = FollowLine(status="reading", created_at=NOON, preferences=ArchivedPreferences(sources=("site", "unknown")))
    shelf = a_comic(follow=follow)
    reader = await a_reader(db, tmp_path)
    await reader.import_archive(an_archive(tmp_path, shelf))
    [series] = parts_of(await reader.export())["series.jsonl"]
    assert series["follow"]["preferences"]["sources"] == ["site"]


async def test_a_different_source_of_the_same_name_is_skipped(db, tmp_path):
    one = await a_reader(db, tmp_path)
    await one.import_archive(an_archive(tmp_path, a_comic(a_chapter("1"))))
    reader = await a_reader(db, tmp_path)
    shelf = a_comic(a_chapter("1")) | {"sources.jsonl": [a_source(connector="org.example.other")]}
    brought = await reader.import_archive(an_archive(tmp_path, shelf))
    assert brought.notes == (
        "sources.jsonl:1: this server has a different source site; its series are imported without it.",
    )
    [series] = parts_of(await reader.export())["series.jsonl"]
    assert "sources" not in series


async def test_a_source_that_lacks_its_secrets_waits_for_them(db, tmp_path):
    shelf = a_comic() | {"sources.jsonl": [a_source(lacks=("token",))]}
    reader = await a_reader(db, tmp_path)
    brought = await reader.import_archive(an_archive(tmp_path, shelf))
    assert brought.notes == ("sources.jsonl:1: site is not enabled: token of its config is not in the archive.",)
    assert parts_of(await reader.export())["sources.jsonl"][0]["is_enabled"] is False


async def test_a_feed_whose_proxys_password_stayed_behind_is_suspended(db, tmp_path):
    feed = a_feed(proxy="http://me@proxy.example.org:8080", lacks_password=True)
    reader = await a_reader(db, tmp_path)
    brought = await reader.import_archive(
        an_archive(tmp_path, {"feeds.jsonl": [feed], "items.jsonl": [an_item(feed=feed)]})
    )
    assert "its proxy's password" in brought.notes[0]
    stored = parts_of(await reader.export())
    assert stored["feeds.jsonl"][0]["suspended_at"] == NOON
    assert len(stored["items.jsonl"]) == 1
    assert await due(db) == []


async def test_groups_choices_bookmarks_and_channels_are_not_doubled_or_overwritten(db, tmp_path):
    loose = BookmarkLine(title="No link", feed_name="Gone", created_at=NOON)
    linked = BookmarkLine(title="A", link="https://example.org/a", note="mine", created_at=NOON)
    channel = ChannelLine(kind="webhook", name="Phone", config={"url": "https://example.org/"})
    mine = {
        "person.jsonl": [Person(preferences={"theme": "dark"})],
        "groups.jsonl": [GroupLine(name="All", is_default=True), GroupLine(name="Comics", position=5)],
        "bookmarks.jsonl": [loose, linked],
        "channels.jsonl": [channel],
    }
    theirs = {
        "person.jsonl": [
            Person(preferences={"theme": "light", "clock": "24", "nonsense": 1}, proxy_images=True, retention=0)
        ],
        "groups.jsonl": [
            GroupLine(name="Other", is_default=True),
            GroupLine(name="Comics", position=1),
            GroupLine(name="All"),
        ],
        "bookmarks.jsonl": [loose, msgspec.structs.replace(linked, note="theirs")],
        "channels.jsonl": [msgspec.structs.replace(channel, kind="ntfy")],
    }
    reader = await a_reader(db, tmp_path)
    await reader.import_archive(an_archive(tmp_path, mine))
    await reader.import_archive(an_archive(tmp_path, theirs))
    stored = parts_of(await reader.export())
    assert stored["person.jsonl"] == [
        {"preferences": {"theme": "dark", "clock": "24"}, "proxy_images": True, "retention": 0}
    ]
    assert [(group["name"], group.get("position", 0)) for group in stored["groups.jsonl"]] == [
        ("All", 0),
        ("Comics", 5),
    ]
    assert [mark.get("note") for mark in stored["bookmarks.jsonl"]] == [None, "mine"]
    assert [each["kind"] for each in stored["channels.jsonl"]] == ["webhook"]


# -- plans


async def test_what_exceeds_the_plan_is_left_out_and_listed(db, tmp_path):
    feeds = [a_feed(f"https://example.org/{n}") for n in range(10)]
    shelf = {"feeds.jsonl": feeds, "items.jsonl": [an_item("1", feed) for feed in feeds]} | a_comic(a_chapter("1"))
    reader = await a_reader(db, tmp_path)
    await on_plan(db, reader.shelf_id, "free")
    brought = await reader.import_archive(an_archive(tmp_path, shelf))
    assert brought.notes[0].startswith("series.jsonl:1: One: ")
    assert brought.notes[1:] == ("chapters.jsonl: 1 belong to a series that was not imported.",)
    assert (brought.parts["feeds.jsonl"].created, brought.parts["series.jsonl"].left_out) == (10, 1)
    await on_plan(db, reader.shelf_id, "basic")
    again = await reader.import_archive(an_archive(tmp_path, shelf))
    assert (again.notes, again.parts["series.jsonl"].created, again.parts["feeds.jsonl"].existing) == ((), 1, 10)


async def test_a_shelf_that_sleeps_takes_nothing(db, tmp_path):
    reader = await a_reader(db, tmp_path)
    await on_plan(db, reader.shelf_id, status="inactive")
    before = await count(db, "count_all")
    with pytest.raises(LimitExceeded, match="deactivated"):
        await reader.import_archive(an_archive(tmp_path, {"groups.jsonl": [GroupLine(name="A")]}))
    assert await count(db, "count_all") == before

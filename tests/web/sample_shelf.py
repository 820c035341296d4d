"""A shelf with something on it: feeds in groups, articles of several days, comics with chapters, a feed that fails."""

from typing import Any

import msgspec

from tests.api.people import RunningApp
from tests.builders import a_hash, store_items_tx, stored_feed, stored_series, stored_watch
from tests.delivery.builders import deliver_items_tx, follow, subscribe
from tsuzuki.accounts.types import User
from tsuzuki.db import Tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.delivery.fanout import deliver_chapters_tx
from tsuzuki.ingest.chapters import NewChapter, upsert_chapters_tx
from tsuzuki.ingest.items import NewItem
from tsuzuki.model.ids import FeedId, SeriesId, ShelfId
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis

q = parse_queries(
    "tests",
    """
-- name: name_feed
update feed set title = :title, site_url = :site_url where id = :id;
-- name: break_watch
update watch set consecutive_failures = 3, last_error = :error, last_error_code = 'SOURCE_HTTP_ERROR',
  last_error_at = :now, last_checked_at = :now where feed_id = :id;
-- name: arrive
update entry set created_at = sort_at where shelf_id = :shelf_id;
-- name: items_of
select id from item where feed_id = :id order by id;
""",
)

PARAGRAPHS = (
    "<p>The ink was still wet when the first copies left the press. Nobody on the street below could have said why the "
    "light on the third floor burned through the night, and nobody asked.</p>"
    "<p>What follows is a <a href='https://example.org/notes'>short account</a> of how a serial comes to be: from the "
    "first sketch, through the <em>names</em> that hold the pages together, to the morning on which it lies on a table "
    "and is read.</p>"
    "<blockquote><p>To be continued is a promise. It is also the only ending that looks forward.</p></blockquote>"
    "<h2>The order of work</h2><p>Pages are drawn in the order in which they are hardest. The last panel is decided "
    "first, because everything before leads there.</p><ul><li>Thumbnails, one for each page</li>"
    "<li>Pencils, then ink</li><li>Tones, letters, corrections</li></ul>"
    "<pre><code>for page in chapter:\n    draw(page)\n    rest(minutes=5)</code></pre>"
    "<p>Much of it is waiting. The rest is a habit.</p>"
)


class SampleShelf(msgspec.Struct, frozen=True):
    """What was put there."""

    shelf: ShelfId
    feeds: list[FeedId]
    series: list[SeriesId]
    items: list[int]


async def fill_shelf(app: RunningApp, user: User, *, articles: int = 40) -> SampleShelf:
    """A shelf that somebody has used for a while."""
    shelf = (await app.accounts.current_user.shelf_of(user)).id
    now = app.time()
    groups = {name: await app.reading.groups.add(shelf, name) for name in ("Webcomics", "Craft", "News of the world")}
    feeds = []
    for place, (title, group) in enumerate(FEEDS):
        feed = await a_feed(app, title)
        await subscribe(app.db, shelf, feed, group_id=groups[group].id if group else None)
        feeds.append(feed)
        count = articles // len(FEEDS) + (place < articles % len(FEEDS))
        items = [an_item(f"{place}-{n}", at=Millis(now - (n * 7 + place) * HOUR - 9 * MINUTE)) for n in range(count)]
        await release_items(app, feed, items)
    await app.db.with_tx(
        lambda tx: tx.run(q.break_watch, id=feeds[-1], error="The server answered 503 (Service Unavailable).", now=now)
    )
    series = [await a_series(app, shelf, title, group=groups["Webcomics"].id) for title in SERIES]
    await app.db.with_tx(lambda tx: tx.run(q.arrive, shelf_id=shelf))  # each when it came out
    known = await app.db.read(lambda tx: tx.many(int, q.items_of, id=feeds[0]))
    return SampleShelf(shelf, feeds, series, known)


FEEDS = (
    ("The Paper Lantern", "Craft"),
    ("Ink & Iron", "Craft"),
    ("Daily Weather of Small Islands", "News of the world"),
    ("続きを読む", None),
    ("A publisher that does not answer", "News of the world"),
)
SERIES = ("The Lighthouse Keepers", "雨の日の郵便局", "Nine Moons of Harbour Street")
TITLES = (
    "How a chapter is made",
    "On paper, and why it yellows",
    "Seven small islands and one ferry",
    "The third floor",
    "A morning at the type foundry",
    "校正刷りの余白に書かれたこと",
    "Corrections, and other ways to say sorry",
    "An unusually long title that goes on for quite a while because somebody thought that headlines tell it all",
)


async def a_feed(app: RunningApp, title: str) -> FeedId:
    feed = await stored_feed(app.db)
    await stored_watch(app.db, feed, next_check_at=Millis(app.time() + DAY))
    site = "https://example.org/"
    await app.db.with_tx(lambda tx: tx.run(q.name_feed, id=feed, title=title, site_url=site))
    return feed


def an_item(key: str, *, at: Millis, **over: Any) -> NewItem:
    number = sum(map(ord, key))
    values: dict[str, Any] = {
        "key": key,
        "title": TITLES[number % len(TITLES)],
        "link": f"https://example.org/{key}",
        "content": PARAGRAPHS,
        "published_at": at,
        "sort_at": at,
    }
    values |= over
    return NewItem(content_hash=a_hash(sorted(values.items(), key=str)), **values)


async def release_items(app: RunningApp, feed: FeedId, items: list[NewItem], *, first: bool = False) -> None:
    now = app.time()

    async def ingest(tx: Tx) -> None:
        stored = await store_items_tx(tx, feed, items, now)
        new = [item.id for item in stored if item.is_new]
        await deliver_items_tx(tx, feed, new, is_first_harvest=first, now=now)

    await app.db.with_tx(ingest)
    app.wakeup.wake("events")


async def a_series(app: RunningApp, shelf: ShelfId, title: str, *, group: int, chapters: int = 3) -> SeriesId:
    series = await stored_series(app.db, title)
    await follow(app.db, shelf, series, group_id=group)
    await release_chapters(app, series, range(40, 40 + chapters))
    return series


async def release_chapters(app: RunningApp, series: SeriesId, numbers: Any) -> None:
    now = app.time()
    new = [
        NewChapter(
            key=str(number),
            number=str(number),
            number_sort=number * 10**6,
            title="The letter that was not sent" if number % 2 else "",
            published_at=Millis(now - (46 - number) * 5 * HOUR),
        )
        for number in numbers
    ]

    async def ingest(tx: Tx) -> None:
        stored = await upsert_chapters_tx(tx, series, new, now)
        fresh = [chapter.id for chapter in stored if chapter.is_new]
        await deliver_chapters_tx(tx, series, fresh, is_first_harvest=False, now=now)

    await app.db.with_tx(ingest)
    app.wakeup.wake("events")

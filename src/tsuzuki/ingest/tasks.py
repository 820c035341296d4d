"""What travels from a poll to ingest: the queues, their payloads, and found things as rows to be stored."""

from collections.abc import Iterable

import msgspec

from tsuzuki.connectors.html.safe import valid_text
from tsuzuki.ingest.store import NewChapter, NewItem, NewRelease
from tsuzuki.model.harvest import FoundChapter, FoundItem, content_hash, item_hash
from tsuzuki.model.ids import FeedId, SeriesId, SeriesSourceId, WatchId
from tsuzuki.model.numbers import chapter_key, number_key, release_key, sort_value
from tsuzuki.model.times import Millis
from tsuzuki.queue.policy import INGEST
from tsuzuki.queue.tasks import Queue
from tsuzuki.sources.feeds import ITEM_INGEST

LARGEST_BATCH = 200
"""Installments in one task: one transaction of tens of milliseconds, also for a back-catalogue of thousands."""


class ItemBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Items of one feed that are new or changed."""

    watch_id: WatchId
    feed_id: FeedId
    items: tuple[FoundItem, ...]
    is_first_harvest: bool
    came: int = 0
    """How many new ones came at once, where this is a part of a batch that was split: a flood stays one (R8)."""
    harvest: str = ""
    """Names the poll or refresh that found them: its other batches are of the same flood."""


class ReleaseFound(msgspec.Struct, frozen=True):
    """A release and its place in the source's list, the oldest at 0 (R11)."""

    found: FoundChapter
    source_order: int
    previous_key: str | None = None
    """The key that it is stored under, where that is another one (R101)."""


class ChapterBatch(msgspec.Struct, frozen=True, kw_only=True):
    """Releases of one series on one source that are new or changed."""

    watch_id: WatchId
    series_id: SeriesId
    series_source_id: SeriesSourceId
    releases: tuple[ReleaseFound, ...]
    is_first_harvest: bool
    came: int = 0
    """As in an ItemBatch."""
    harvest: str = ""
    """As in an ItemBatch."""


ITEMS: Queue[ItemBatch] = Queue(ITEM_INGEST, ItemBatch, INGEST)
CHAPTERS: Queue[ChapterBatch] = Queue("chapter-ingest", ChapterBatch, INGEST)


def new_item(found: FoundItem, now: Millis) -> NewItem:
    """The row of an item. R30: it sorts by the earlier of published and first seen."""
    sort_at = now if found.published_at is None else min(found.published_at, now)
    return NewItem(
        key=found.key,
        title=found.title,
        sort_at=Millis(max(sort_at, 0)),
        content_hash=item_hash(found),
        link=found.link,
        link_key=found.link_key,
        author=found.author,
        content=found.content,
        summary=found.summary,
        published_at=found.published_at,
        published_raw=found.published_raw,
        categories=found.categories,
        enclosures=found.enclosures,
        page_urls=found.page_urls,
        image_url=found.image_url,
        comments_url=found.comments_url,
    )


def new_chapter(found: FoundChapter) -> NewChapter:
    """The logical chapter that a release belongs to."""
    return NewChapter(
        key=chapter_key(found),
        number=None if found.number is None else number_key(found.number),
        number_sort=sort_value(found.number),
        volume=None if found.volume is None else number_key(found.volume),
        title=found.title,
        published_at=found.published_at,
    )


def new_release(release: ReleaseFound) -> NewRelease:
    """The row of a release."""
    found = release.found
    return NewRelease(
        chapter_key=chapter_key(found),
        key=release_key(found),
        url=found.url,
        content_hash=release_hash(release),
        source_key=found.source_key,
        real_url=found.real_url,
        title=found.title,
        language=found.language,
        group_name=found.group,
        published_at=found.published_at,
        source_order=release.source_order,
        page_count=-1 if found.page_count is None else found.page_count,
        is_readable=found.is_readable,
    )


def release_hash(release: ReleaseFound) -> bytes:
    """What makes a release a changed one: all of it."""
    return content_hash((release.found, release.source_order))


def in_order(found: Iterable[FoundChapter]) -> list[ReleaseFound]:
    """A source lists the newest first; its order counts from the oldest (R11). A key that stands twice counts once."""
    oldest_first = list(reversed({release_key(each): each for each in map(_storable, found)}.values()))
    return [ReleaseFound(each, order) for order, each in enumerate(oldest_first)]


def _storable(found: FoundChapter) -> FoundChapter:
    """With text that both engines take, whatever a connector made of an answer."""
    texts = {name: text for name, text in msgspec.structs.asdict(found).items() if isinstance(text, str)}
    valid = {name: valid_text(text) for name, text in texts.items()}
    return found if valid == texts else msgspec.structs.replace(found, **valid)

"""What the catalogue remembers."""

from collections.abc import Iterable, Sequence

import msgspec

from tsuzuki.catalogue.types import (
    CatalogueRelease,
    ChapterTarget,
    ListedRelease,
    ListedSeries,
    ListKey,
    Manga,
    MetaRow,
    PageRow,
    SourceListing,
)
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.locks import SERIES, check_order
from tsuzuki.model.harvest import FoundSeries, SeriesDetails
from tsuzuki.model.ids import ReleaseId, SeriesId, SeriesSourceId, ShelfId, SourceId
from tsuzuki.model.times import Millis

q = load_queries("tsuzuki.catalogue")


# -- lists


async def find_listing_tx(tx: Tx, key: ListKey) -> SourceListing | None:
    """The list as it was fetched last."""
    return await tx.maybe(SourceListing, q.find_listing, **msgspec.structs.asdict(key))


async def save_listing_tx(tx: Tx, key: ListKey, ids: Sequence[SeriesSourceId], *, has_next: bool, now: Millis) -> None:
    """R60: the order, whether there is more, and when that was so."""
    values = msgspec.structs.asdict(key)
    await tx.run(q.save_listing, **values, series_source_ids=list(ids), has_next=has_next, now=now)


async def forget_listings_tx(tx: Tx, before: Millis) -> int:
    """Forget lists that were fetched before then; how many."""
    return await tx.run(q.forget_listings, before=before)


async def listed_series_tx(tx: Tx, source_id: SourceId, found: Iterable[FoundSeries]) -> dict[str, SeriesSourceId]:
    """Those of a list that are known, by their key."""
    rows = [{"key": series.key, "url": series.url} for series in found]
    listed = await tx.bulk(ListedSeries, q.listed_series, rows, source_id=source_id)
    return {each.key: each.id for each in listed if each.id is not None}


async def touch_listed_tx(tx: Tx, found: Iterable[tuple[SeriesSourceId, FoundSeries]], now: Millis) -> None:
    """Remember that they were listed, and where they are now."""
    rows = [{"id": id_, "url": each.url, "title": each.title, "cover_url": each.cover_url} for id_, each in found]
    await tx.run(q.touch_listed, rows=rows, now=now)


async def rest_unfollowed_tx(tx: Tx, series_source_id: SeriesSourceId, *, reason: str, now: Millis) -> None:
    """Let its watch rest."""
    await tx.run(q.rest_unfollowed, series_source_id=series_source_id, reason=reason, now=now)


async def note_source_tx(tx: Tx, source_id: SourceId, *, is_nsfw: bool, supports_latest: bool, now: Millis) -> bool:
    """Keep what the connector says of itself; False when that was known."""
    return bool(await tx.run(q.note_source, id=source_id, is_nsfw=is_nsfw, supports_latest=supports_latest, now=now))


# -- series


async def find_manga_tx(tx: Tx, manga_id: int, shelf_id: ShelfId | None) -> Manga | None:
    """A series as its source knows it."""
    return await tx.maybe(Manga, q.find_manga, id=manga_id, shelf_id=shelf_id)


async def list_manga_tx(tx: Tx, ids: Iterable[int], shelf_id: ShelfId | None) -> list[Manga]:
    """In the order of the ids; one that is gone is left out."""
    rows = [{"id": id_, "place": place} for place, id_ in enumerate(ids)]
    return await tx.bulk(Manga, q.list_manga, rows, shelf_id=shelf_id)


async def save_details_tx(tx: Tx, manga_id: SeriesSourceId, found: SeriesDetails, now: Millis) -> None:
    """What the source says of it; what it does not say stays."""
    await tx.run(
        q.save_details,
        id=manga_id,
        title=found.title,
        author=found.author,
        artist=found.artist,
        description=found.description,
        has_genres=bool(found.genres),
        genres=list(found.genres),
        status=found.status,
        cover_url=found.cover_url,
        real_url=found.real_url,
        update_strategy=found.update_strategy,
        now=now,
    )


async def replace_rest_reason_tx(tx: Tx, manga_id: SeriesSourceId, reason: str, *, by: str) -> None:
    """A watch that rests for this reason rests for another one."""
    await tx.run(q.replace_rest_reason, id=manga_id, reason=reason, by=by)


async def describe_series_tx(tx: Tx, series_id: SeriesId, found: SeriesDetails, *, match_key: str, now: Millis) -> None:
    """Fill in what nobody knew of the series."""
    await tx.run(
        q.describe_series,
        id=series_id,
        author=found.author,
        artist=found.artist,
        cover_url=found.cover_url,
        description=found.description,
        language=found.language,
        status=found.status,
        is_nsfw=found.is_nsfw,
        match_key=match_key,
        now=now,
    )


async def lock_unshared_series_tx(tx: Tx, series_id: SeriesId, series_source_id: SeriesSourceId) -> bool:
    """Whether nothing hangs on this series but this one source's row; it stays so to the end of the transaction."""
    check_order(tx, SERIES, series_id)
    return await tx.maybe(SeriesId, q.lock_unshared_series, id=series_id, series_source_id=series_source_id) is not None


# -- chapters


async def chapter_target_tx(tx: Tx, series_source_id: SeriesSourceId) -> ChapterTarget | None:
    """What a refresh needs to know; None when it is gone."""
    return await tx.maybe(ChapterTarget, q.chapter_target, id=series_source_id)


async def chapters_age_tx(tx: Tx, series_source_id: SeriesSourceId) -> Millis | None:
    """When its chapter list was read last, by a refresh or by a poll."""
    return await tx.maybe(Millis, q.chapters_age, id=series_source_id)


async def chapters_fetched_tx(tx: Tx, series_source_id: SeriesSourceId, now: Millis) -> None:
    """The whole list is stored."""
    await tx.run(q.chapters_fetched, id=series_source_id, now=now)
    await tx.run(q.harvested, series_source_id=series_source_id, now=now)


async def list_releases_tx(tx: Tx, series_source_id: SeriesSourceId, shelf_id: ShelfId) -> list[ListedRelease]:
    """The newest first, with what the shelf has read of them."""
    return await tx.many(ListedRelease, q.list_releases, series_source_id=series_source_id, shelf_id=shelf_id)


# -- pages


async def find_release_tx(tx: Tx, release_id: int) -> CatalogueRelease | None:
    """One release."""
    return await tx.maybe(CatalogueRelease, q.find_release, id=release_id)


async def list_pages_tx(tx: Tx, release_id: ReleaseId) -> list[PageRow]:
    """In reading order."""
    return await tx.many(PageRow, q.list_pages, release_id=release_id)


async def resolve_image_tx(tx: Tx, release_id: ReleaseId, position: int, image_url: str) -> None:
    """Remember where a page's image is."""
    await tx.run(q.resolve_image, release_id=release_id, position=position, image_url=image_url)


# -- what is noted about a source


async def list_meta_tx(tx: Tx, source_id: SourceId) -> list[MetaRow]:
    """By key."""
    return await tx.many(MetaRow, q.list_meta, source_id=source_id)


async def set_meta_tx(tx: Tx, source_id: SourceId, key: str, value: str) -> None:
    """Note a value."""
    await tx.run(q.set_meta, source_id=source_id, key=key, value=tx.vault.seal_note(key, value))


async def drop_meta_tx(tx: Tx, source_id: SourceId, key: str) -> bool:
    """Forget a value; False when there was none."""
    return bool(await tx.run(q.drop_meta, source_id=source_id, key=key))

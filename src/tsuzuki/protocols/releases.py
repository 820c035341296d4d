"""From what apps read a chapter."""

from collections.abc import Mapping, Sequence

import msgspec

from tsuzuki.http.services import Services
from tsuzuki.model.ids import ChapterId, ReleaseId, ShelfId
from tsuzuki.model.structs import copied

NO_RELEASE = "No source has this chapter now."


class ReadableRelease(msgspec.Struct, frozen=True):
    """From what a chapter is read: a download of the shelf, else the release that it prefers."""

    id: ReleaseId
    page_count: int
    """Less than 1 where it is not known."""
    language: str | None
    group_name: str | None
    bytes: int = 0
    """Of its pages, where it is downloaded."""


async def readable_releases(
    services: Services, shelf_id: ShelfId, ids: Sequence[ChapterId]
) -> Mapping[ChapterId, ReadableRelease]:
    """What each of these chapters is read from, where there is anything."""
    preferred = await services.reading.series.preferred_releases(shelf_id, ids)
    readable = {of: release for of, release in preferred.items() if release.is_readable and release.is_available}
    found = {of: copied(ReadableRelease, release) for of, release in readable.items()}
    for kept in await services.pictures.downloads.whole_of_chapters(shelf_id, ids):
        found[kept.chapter_id] = ReadableRelease(
            kept.release_id, kept.total or 0, kept.language, kept.group_name, kept.bytes
        )
    return found


async def counted(services: Services, release: ReadableRelease) -> ReadableRelease:
    """With the number of its pages: its source is asked where nobody has yet."""
    if release.page_count > 0:
        return release
    return msgspec.structs.replace(release, page_count=len((await services.catalogue.chapters.pages(release.id)).pages))

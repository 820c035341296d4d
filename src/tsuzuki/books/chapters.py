"""Chapters as CBZ files, with the same bytes each time for the same pages."""

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from tsuzuki.books.archives import Archive, ArchiveMember, pack
from tsuzuki.books.comic_info import ReleaseFacts, ascii_name, comic_info, device_names
from tsuzuki.catalogue.chapters import NO_CHAPTER, Chapters
from tsuzuki.db import Database, load_queries
from tsuzuki.images.files import Image, page_of
from tsuzuki.images.formats import EXTENSIONS
from tsuzuki.images.service import Images
from tsuzuki.model.documents import name_md5
from tsuzuki.model.errors import NotFound, SourceError
from tsuzuki.model.ids import ChapterId, PublicId, ReleaseId, ShelfId, UserId

q = load_queries("tsuzuki.books")

CBZ: Final = "application/vnd.comicbook+zip"
AT_ONCE: Final = 3
"""Pages of a chapter that are fetched at the same time."""


class ChapterFile(msgspec.Struct, frozen=True):
    """A chapter as a file."""

    facts: ReleaseFacts
    archive: Archive
    page_count: int

    @property
    def ascii_name(self) -> str:
        """The name for devices that take only ASCII."""
        return ascii_name(self.archive.name, f"chapter {self.facts.chapter_id}")


class KnownDocument(msgspec.Struct, frozen=True):
    """Which chapter a device's file is."""

    chapter_id: ChapterId
    series_public_id: PublicId
    page_count: int
    """Pages of that file, however many the chapter has by now; -1 where it is not known."""


class ChapterFiles:
    """Puts chapters together as files, and knows again what a device says of one."""

    def __init__(self, db: Database, images: Images, chapters: Chapters) -> None:
        self._db = db
        self._images = images
        self._chapters = chapters

    async def facts(self, release_id: ReleaseId) -> ReleaseFacts:
        """What is known of a release, without asking its source; NotFound."""
        found = await self._db.read(lambda tx: tx.maybe(ReleaseFacts, q.find_facts, release_id=release_id))
        if found is None:
            raise NotFound(NO_CHAPTER)
        return found

    async def open(self, release_id: ReleaseId, user_id: UserId) -> ChapterFile:
        """The file: of a downloaded chapter at once, else once every page is here. Errors as those of its pages."""
        facts = await self.facts(release_id)
        pages = await self._images.whole_copy(release_id, user_id)
        if not pages:
            pages = await self._fetched(release_id, user_id)
        return await self._packed(facts, pages)

    async def here(self, release_id: ReleaseId, user_id: UserId) -> ChapterFile | None:
        """The file if every page is stored here already, downloaded or cached; else None."""
        pages = await self._images.whole_copy(release_id, user_id) or await self._images.cached_pages(release_id)
        return await self._packed(await self.facts(release_id), pages) if pages else None

    async def open_copy(self, copy_id: int, facts: ReleaseFacts) -> ChapterFile:
        """The file of a download, whoever has it."""
        return await self._packed(facts, await self._images.pages_of_copy(copy_id))

    async def _packed(self, facts: ReleaseFacts, pages: Sequence[Image]) -> ChapterFile:
        pages = [await self._images.with_crc32(page) for page in pages]
        return ChapterFile(facts, pack(facts.file_name, CBZ, _members(facts, pages)), len(pages))

    async def digest(self, file: ChapterFile, *others: str) -> str:
        """The partial MD5 of the file; from now on it, the file's names and these others stand for this chapter."""
        partial = await file.archive.partial_md5(self._images)
        names = {file.archive.name, file.ascii_name, *others} | device_names(file.facts)
        digests = sorted({partial, *map(name_md5, names)})
        facts = {"chapter_id": file.facts.chapter_id, "release_id": file.facts.release_id}
        values = facts | {"digests": [[digest] for digest in digests], "page_count": file.page_count}
        await self._db.with_tx(lambda tx: tx.run(q.add_books, **values))
        return partial

    async def find(self, shelf_id: ShelfId, digest: str) -> KnownDocument | None:
        """The chapter whose file, or whose file's name, has this MD5, among the series that the shelf follows."""
        wanted = {"shelf_id": shelf_id, "digest": digest}
        return await self._db.read(lambda tx: tx.maybe(KnownDocument, q.chapters_of_digest, **wanted))

    async def _fetched(self, release_id: ReleaseId, user_id: UserId) -> list[Image]:
        answer = await self._chapters.pages(release_id)
        if answer.freshness.error is not None:
            raise SourceError(answer.freshness.error)  # R63: a list with holes is no chapter
        places = asyncio.Semaphore(AT_ONCE)

        async def fetch(position: int) -> Image:
            async with places:
                return await self._images.ensure(page_of(release_id, position), user_id=user_id)

        tasks = [asyncio.create_task(fetch(position)) for position in range(len(answer.pages))]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()


def _members(facts: ReleaseFacts, pages: Sequence[Image]) -> list[ArchiveMember]:
    """The pages first: what is corrected in the names of a chapter then leaves most of the file's samples alone."""
    digits = max(3, len(str(len(pages))))
    members = [
        ArchiveMember(f"{place:0{digits}}.{EXTENSIONS[page.media_type]}", page) for place, page in enumerate(pages, 1)
    ]
    return [*members, ArchiveMember("ComicInfo.xml", comic_info(facts, len(pages)))]

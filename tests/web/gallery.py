"""A source with real pages: folders of pictures that the server reads as comics."""

import secrets
from pathlib import Path

import msgspec

from tests.api.people import RunningApp
from tests.images.builders import a_picture
from tsuzuki.accounts.types import SYSTEM, User
from tsuzuki.catalogue.browse import ListRequest
from tsuzuki.catalogue.types import Manga
from tsuzuki.model.ids import ChapterId, ShelfId, show_id
from tsuzuki.shelves.types import FollowRequest, ReportedReading
from tsuzuki.sources.types import SourceRegistration

PAGE = (300, 420)
STRIP = (200, 900)
PAGES = 4
SHADES = ("#d98e6b", "#4a7c8c", "#a9c6d0", "#f3d9b1", "#3f6a7a")


class Gallery(msgspec.Struct, frozen=True):
    """A source, its folder, and somebody's shelf."""

    app: RunningApp
    folder: Path
    site: int
    shelf: ShelfId
    name: str

    def draw(self, series: str, chapter: str, *, pages: int = PAGES, size: tuple[int, int] = PAGE) -> Path:
        """Put a chapter into the folder."""
        folder = self.folder / series / chapter
        folder.mkdir(parents=True)
        for number in range(pages):
            (folder / f"{number + 1:03}.png").write_bytes(a_picture(size=size, color=SHADES[number % len(SHADES)]))
        return folder

    async def manga(self, title: str) -> Manga:
        """The series with its details and chapters, as browsing finds it."""
        catalogue = self.app.catalogue
        request = ListRequest(kind="popular", shelf_id=self.shelf, refresh=True)
        listed = (await catalogue.browsing.browse(self.site, request)).value.manga
        found = next(one for one in listed if one.title == title)
        await catalogue.details.show(found.id, self.shelf)
        await catalogue.chapter_lists.list(found.id, self.shelf, refresh=True)
        return (await catalogue.details.show(found.id, self.shelf)).value

    async def follow(self, title: str) -> str:
        """Follow it; the id of the series."""
        manga = await self.manga(title)
        await self.app.reading.follows.add(self.shelf, FollowRequest(series=manga.series_public_id))
        return show_id(manga.series_public_id)

    async def chapter(self, title: str, number: str) -> ChapterId:
        manga = await self.manga(title)
        order = await self.app.reading.series.order(self.shelf, manga.series_public_id)
        return next(one.id for one in order if one.number == number)

    async def look_again(self, title: str) -> None:
        """What a poll would find: new chapters of this series."""
        await self.manga(title)
        self.app.wakeup.wake("events")


async def hang(app: RunningApp, shelf: ShelfId) -> Gallery:
    """`The Harbour` in chapters 1, 2, 3 and 6 of four pages each, and `The Tower` in one chapter of tall strips."""
    name = secrets.token_hex(4)
    folder = app.folder / name
    folder.mkdir()
    wanted = SourceRegistration(
        name=f"Gallery {name}", slug=name, base_url="local:", connector="tsuzuki.local", config={"folder": str(folder)}
    )
    site = await app.crawling.sources.register(SYSTEM, wanted)
    gallery = Gallery(app, folder, site.id, shelf, site.name)
    for number in (1, 2, 3, 6):
        gallery.draw("The Harbour", f"Chapter {number}")
    gallery.draw("The Tower", "Chapter 1", size=STRIP)
    return gallery


async def somebody(app: RunningApp) -> tuple[User, ShelfId]:
    """Of a tenant that has nobody else, with a shelf on which nothing is: for tests that share an app."""
    tenant = await app.accounts.tenants.add(SYSTEM, secrets.token_hex(8), "self-hosted")
    user = await app.add(tenant_id=tenant.public_id)
    return user, (await app.accounts.current_user.shelf_of(user)).id


async def a_visitor(app: RunningApp) -> tuple[User, Gallery]:
    """The same with a gallery of their own."""
    user, shelf = await somebody(app)
    return user, await hang(app, shelf)


async def exhibit(app: RunningApp, shelf: ShelfId) -> dict[str, str]:
    """A gallery that was read in: the ids of a source, a series of it that is followed, and a chapter half read."""
    gallery = await hang(app, shelf)
    await gallery.follow("The Tower")
    series = await gallery.follow("The Harbour")
    manga = await gallery.manga("The Harbour")
    chapter = await gallery.chapter("The Harbour", "2")
    await app.reading.progress.report(shelf, manga.series_public_id, chapter, ReportedReading(page=1, page_count=PAGES))
    return {"site": str(gallery.site), "manga": str(manga.id), "series": series, "chapter": str(chapter)}

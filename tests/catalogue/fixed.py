"""A source without a site: its connector knows everything by itself. For what needs no server."""

# ruff: noqa: ARG002  # the protocol's signatures; a source without a site needs little of its config

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from tests.builders import NOON, a_public_id, stored_source
from tsuzuki.catalogue.browse import ListRequest
from tsuzuki.catalogue.services import Catalogue, CatalogueDeps, build_catalogue
from tsuzuki.connectors.protocol import Abilities, Connector, ConnectorInfo, Visit
from tsuzuki.connectors.registry import Registry
from tsuzuki.db import Database
from tsuzuki.model.harvest import FoundChapter, FoundPage, FoundSeries, SeriesDetails, SeriesPage
from tsuzuki.model.ids import SeriesSourceId, ShelfId, SourceId
from tsuzuki.model.requests import Ask, Reply, SourceIdentity
from tsuzuki.model.times import HOUR, Millis
from tsuzuki.parsing.pool import ParsePool, PoolOptions
from tsuzuki.polling.driver import Driver

NAME = "net.example.fixed"


class Fixed(Connector):
    """What it has are its attributes; it asks for nothing."""

    def __init__(self, *, series: int = 3, chapters: int = 4, **info: Any) -> None:
        can = {"popular": True, "latest": True, "search": True, "details": True, "chapters": True, "pages": True}
        abilities = Abilities(**can | info.pop("can", {}))
        self.info = ConnectorInfo(
            id=NAME, name="Fixed", languages=("en",), base_url="https://example.net", abilities=abilities, **info
        )
        self.series = series
        self.chapter_count = chapters
        self.page_list: tuple[FoundPage, ...] = tuple(FoundPage(place, f"p{place}") for place in range(3))
        self.declared: int | None = None
        self.is_readable = True
        self.asked: list[str] = []
        self.details_found = SeriesDetails("Series", author="Somebody")

    def popular(self, config: Any, page: int) -> Visit[SeriesPage]:
        self.asked.append(f"popular {page}")
        yield from ()
        found = [FoundSeries(f"k{place}", f"/s/{place}", f"Series {place}") for place in range(self.series)]
        return SeriesPage(tuple(found))

    def details(self, config: Any, series_url: str) -> Visit[SeriesDetails]:
        self.asked.append(f"details {series_url}")
        yield from ()
        return self.details_found

    def chapters(self, config: Any, series_url: str) -> Visit[tuple[FoundChapter, ...]]:
        self.asked.append(f"chapters {series_url}")
        yield from ()
        return tuple(
            FoundChapter(
                f"{series_url}/{place}",
                f"Chapter {place}",
                number=Decimal(place),
                language="en",
                group="Beta",
                published_at=Millis(NOON - (self.chapter_count - place) * HOUR),
                page_count=self.declared,
                is_readable=self.is_readable,
            )
            for place in reversed(range(self.chapter_count))
        )

    def pages(self, config: Any, chapter_url: str) -> Visit[tuple[FoundPage, ...]]:
        self.asked.append(f"pages {chapter_url}")
        yield from ()
        return self.page_list

    def image_url(self, config: Any, page: FoundPage) -> Visit[str]:
        self.asked.append(f"image {page.url}")
        yield from ()
        return f"https://example.net/{page.url}.png"

    def image(self, config: Any, image_url: str) -> Ask:
        return Ask(image_url, headers={"referer": "https://example.net/"})


class Nowhere:
    """A client that is never asked."""

    async def fetch(self, ask: Ask, origin: SourceIdentity) -> Reply:
        raise AssertionError(f"{origin.source} asked for {ask.url}")


def a_catalogue(db: Database, connector: Connector, clock: Callable[[], Millis] = lambda: NOON) -> Catalogue:
    """The services over this one connector."""
    deps = CatalogueDeps(
        db=db,
        clock=clock,
        new_id=a_public_id,
        registry=Registry([("test", connector)]),
        driver=Driver(Nowhere(), ParsePool(PoolOptions())),
        folder_of=lambda _: None,
        after_commit=lambda *_: None,
    )
    return build_catalogue(deps)


async def a_source(db: Database) -> SourceId:
    return await stored_source(db, connector=NAME)


async def a_manga(db: Database, catalogue: Catalogue, shelf: ShelfId) -> SeriesSourceId:
    """The first series of a new source."""
    listed = await catalogue.browsing.browse(await a_source(db), ListRequest(kind="popular", shelf_id=shelf))
    return listed.value.manga[0].id

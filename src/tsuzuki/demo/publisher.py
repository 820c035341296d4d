"""The sample publisher: a small web site with two comics and two feeds, that speaks like any other."""

import asyncio
from collections.abc import Callable
from email.utils import formatdate
from functools import lru_cache
from html import escape
from typing import TypeVar

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tsuzuki.demo import drawings
from tsuzuki.demo.stories import BACKLOG, COMICS, JOURNALS, DemoComic, DemoJournal, chapter, post
from tsuzuki.model.times import DAY, SECOND, Millis, iso

_CACHED = 128
_IN_A_FEED = 30

Story = TypeVar("Story", DemoComic, DemoJournal)


class DemoPublisher:
    """What has come out so far, and the site that shows it."""

    def __init__(self, clock: Callable[[], Millis]) -> None:
        self._clock = clock
        self._comics = {comic.slug: comic for comic in COMICS}
        self._journals = {journal.slug: journal for journal in JOURNALS}
        before = [Millis(clock() - (BACKLOG - index) * DAY) for index in range(BACKLOG)]
        self._dates = {slug: list(before) for slug in [*self._comics, *self._journals]}
        self._draw = lru_cache(_CACHED)(_drawn)
        self.app = Starlette(
            routes=[
                Route("/comics", self._list),
                Route("/comics/{slug}", self._series),
                Route("/comics/{slug}/cover.png", self._cover),
                Route("/comics/{slug}/{number:int}", self._chapter),
                Route("/comics/{slug}/{number:int}/{index:int}.png", self._page),
                Route("/journals/harbour-log/feed.xml", self._rss),
                Route("/journals/small-machines/feed.json", self._json_feed),
                Route("/journals/{slug}/{number:int}", self._post),
                Route("/journals/{slug}/{number:int}.png", self._picture),
            ],
            exception_handlers={KeyError: _nothing, IndexError: _nothing},
        )

    def release(self, slug: str) -> int:
        """Bring the next installment out; its number."""
        self._dates[slug].append(self._clock())
        return self.released(slug)

    def released(self, slug: str) -> int:
        """How many installments are out."""
        return len(self._dates[slug])

    # -- comics

    async def _list(self, _: Request) -> Response:
        rows = (
            f'<li><a href="/comics/{slug}">{escape(comic.title)}</a><img src="/comics/{slug}/cover.png" alt="">'
            for slug, comic in self._comics.items()
        )
        return _page("Comics", f'<ul class="series">{"".join(rows)}</ul>')

    async def _series(self, request: Request) -> Response:
        comic = self._comics[request.path_params["slug"]]
        genres = "".join(f'<li class="genre">{escape(genre)}</li>' for genre in comic.genres)
        numbers = range(self.released(comic.slug), 0, -1)
        rows = "".join(self._row(comic, number) for number in numbers)
        return _page(
            comic.title,
            f'<img class="cover" src="/comics/{comic.slug}/cover.png" alt=""><p class="about">{escape(comic.about)}</p>'
            f'<ul>{genres}</ul><p class="status">Ongoing</p><ol class="chapters">{rows}</ol>',
        )

    def _row(self, comic: DemoComic, number: int) -> str:
        when = f"{iso(self._when(comic, number))[:19]}Z"
        name = escape(chapter(comic, number).name)
        return f'<li><a href="/comics/{comic.slug}/{number}">{name}</a> <time>{when}</time></li>'

    async def _chapter(self, request: Request) -> Response:
        comic, number = self._found(request, self._comics)
        shown = chapter(comic, number)
        images = (f'<img src="/comics/{comic.slug}/{number}/{index}.png" alt="">' for index in range(shown.pages))
        return _page(shown.name, f"<main>{''.join(images)}</main>")

    async def _page(self, request: Request) -> Response:
        comic, number = self._found(request, self._comics)
        index = request.path_params["index"]
        if index >= chapter(comic, number).pages:
            raise IndexError(index)
        return await self._image("page", comic.slug, number, index)

    async def _cover(self, request: Request) -> Response:
        return await self._image("cover", self._comics[request.path_params["slug"]].slug, 0, 0)

    # -- journals

    async def _rss(self, request: Request) -> Response:
        journal = self._journals["harbour-log"]
        base = str(request.base_url).rstrip("/")
        items = "".join(self._rss_item(base, journal, number) for number in self._newest(journal))
        text = (
            f'<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel><title>{escape(journal.title)}</title>'
            f"<link>{base}/</link><description>{escape(journal.about)}</description>{items}</channel></rss>"
        )
        return Response(text, media_type="application/rss+xml")

    def _rss_item(self, base: str, journal: DemoJournal, number: int) -> str:
        link = f"{base}/journals/{journal.slug}/{number}"
        when = formatdate(self._when(journal, number) // SECOND, usegmt=True)
        content = escape(_content(base, journal, number))
        title = escape(post(journal, number).title)
        return (
            f"<item><title>{title}</title><link>{link}</link><guid>{link}</guid>"
            f"<pubDate>{when}</pubDate><description>{content}</description></item>"
        )

    async def _json_feed(self, request: Request) -> Response:
        journal = self._journals["small-machines"]
        base = str(request.base_url).rstrip("/")
        items = [
            {
                "id": f"{journal.slug}-{number}",
                "url": f"{base}/journals/{journal.slug}/{number}",
                "title": post(journal, number).title,
                "content_html": _content(base, journal, number),
                "date_published": iso(self._when(journal, number)),
            }
            for number in self._newest(journal)
        ]
        body = {"version": "https://jsonfeed.org/version/1.1", "title": journal.title, "home_page_url": base}
        return JSONResponse(body | {"description": journal.about, "items": items}, media_type="application/feed+json")

    async def _post(self, request: Request) -> Response:
        journal, number = self._found(request, self._journals)
        body = _content(str(request.base_url).rstrip("/"), journal, number)
        return _page(post(journal, number).title, f"<article>{body}</article>")

    async def _picture(self, request: Request) -> Response:
        journal, number = self._found(request, self._journals)
        return await self._image("picture", journal.slug, number, 0)

    def _newest(self, journal: DemoJournal) -> range:
        last = self.released(journal.slug)
        return range(last, max(0, last - _IN_A_FEED), -1)

    # -- both

    def _when(self, story: DemoComic | DemoJournal, number: int) -> Millis:
        return self._dates[story.slug][number - 1]

    def _found(self, request: Request, known: dict[str, Story]) -> tuple[Story, int]:
        story = known[request.path_params["slug"]]
        number: int = request.path_params["number"]
        if not 1 <= number <= self.released(story.slug):
            raise IndexError(number)
        return story, number

    async def _image(self, kind: str, slug: str, number: int, index: int) -> Response:
        body = await asyncio.to_thread(self._draw, kind, slug, number, index)
        return Response(body, media_type="image/png")


def _drawn(kind: str, slug: str, number: int, index: int) -> bytes:
    if kind == "picture":
        return drawings.picture(next(journal for journal in JOURNALS if journal.slug == slug), number)
    comic = next(comic for comic in COMICS if comic.slug == slug)
    return drawings.cover(comic) if kind == "cover" else drawings.page(comic, chapter(comic, number), index)


def _content(base: str, journal: DemoJournal, number: int) -> str:
    paragraphs = "".join(f"<p>{escape(text)}</p>" for text in post(journal, number).paragraphs)
    return f'<p><img src="{base}/journals/{journal.slug}/{number}.png" alt="{escape(journal.about)}"></p>{paragraphs}'


def _page(title: str, body: str) -> Response:
    return HTMLResponse(
        f"<!doctype html><meta charset=utf-8><title>{escape(title)}</title><h1>{escape(title)}</h1>{body}"
    )


async def _nothing(_: Request, __: Exception) -> Response:
    return PlainTextResponse("There is nothing here.", 404)

"""Entries as apps show them: never without a title, with absolute addresses, chapters beside articles (R109)."""

import html
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from tsuzuki.accounts.devices import AppUser
from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.http.services import Services
from tsuzuki.images.articles import LONGEST_HERE
from tsuzuki.images.icons import ShownIcon
from tsuzuki.inbox.entries import Entry
from tsuzuki.inbox.fetches import Fetches, is_new, with_full_texts
from tsuzuki.inbox.pictures import (
    all_captioned,
    captioned,
    duration_of,
    file_title,
    files_beside,
    has_captions,
    pictures_in,
)
from tsuzuki.inbox.sync import SyncEntry, SyncFeed
from tsuzuki.model.errors import SourceError
from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.ids import ChapterId, FeedId, ReleaseId, show_id
from tsuzuki.model.requests import Parsers
from tsuzuki.model.times import SECOND, Millis, iso
from tsuzuki.model.titles import beside_number, title_of
from tsuzuki.protocols.access import ProtocolDeps
from tsuzuki.protocols.releases import readable_releases

UNTITLED = "Untitled"
MOST_PAGES = 500
"""Pages of a chapter that the text of its item shows."""


class ChapterImages(msgspec.Struct, frozen=True):
    """The addresses of what is shown of a chapter."""

    addresses: Sequence[str]
    are_all: bool = True
    """Whether there is nothing more to see of it."""


class AppEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry with its texts; no text is None, and neither title nor address is empty."""

    id: int
    feed: int
    """The number of its feed or series."""
    feed_title: str
    feed_site: str
    group_id: int
    group_name: str
    title: str
    author: str
    html: str
    url: str
    unread: bool
    saved: bool
    published_at: Millis
    arrived_at: Millis
    changed_at: Millis
    enclosures: tuple[Enclosure, ...]
    played: Mapping[int, int]
    """How far each of them was played, in seconds, by its place."""


class AppAnswer(msgspec.Struct, frozen=True):
    """Makes the entries of one answer to an app."""

    deps: ProtocolDeps
    user: AppUser
    base: str
    """The address of this server."""
    fetches: Fetches = msgspec.field(default_factory=Fetches)

    @property
    def _services(self) -> Services:
        return self.deps.services

    async def entries(self, found: Sequence[SyncEntry]) -> list[AppEntry]:
        """These entries as apps show them."""
        found = await with_full_texts(found, self._services.articles, self.fetches, self.deps.clock())
        bodies = await _bodies(self._services.parsers, [one.entry for one in found])
        if self.user.shelf.proxy_images:
            bodies = await self._services.pictures.articles.shown_in(bodies, self._picture)
        pages = await self._pages(found)
        entries = []
        for one, body in zip(found, bodies, strict=True):
            url = _url(one.entry, self.base)
            if one.entry.chapter_id is not None:
                body = _chapter_html(one.entry, url, pages.get(one.entry.chapter_id) or self._cover(one.entry))
            entries.append(_app_entry(one, url, body, self.base))
        return entries

    def _picture(self, address: str) -> str:
        return self.base + self._services.app_pictures.in_article(self.user.password_id, address)

    async def _pages(self, found: Sequence[SyncEntry]) -> dict[ChapterId, ChapterImages]:
        """What is shown of each chapter that can be read here. Of one that nobody has opened, its source is asked for
        the list of pages; until it has answered, the first page stands for all.
        """
        chapters = {one.entry.chapter_id: one for one in found if one.entry.chapter_id is not None}
        releases = await readable_releases(self._services, self.user.shelf.id, list(chapters))
        now = self.deps.clock()
        counted = await self.fetches.gather(
            {
                chapter_id: partial(self._services.catalogue.chapters.pages, release.id)
                for chapter_id, release in releases.items()
                if release.page_count < 1 and is_new(chapters[chapter_id], now)
            }
        )
        counts = {chapter_id: len(answer.pages) for chapter_id, answer in counted.items()}
        return {
            chapter_id: self._images(release.id, counts.get(chapter_id, release.page_count))
            for chapter_id, release in releases.items()
        }

    def _images(self, release_id: ReleaseId, count: int) -> ChapterImages:
        pictures, password_id = self._services.app_pictures, self.user.password_id
        shown = range(min(max(count, 1), MOST_PAGES))  # the first page is there even where nobody knows how many
        paths = [self.base + pictures.page(password_id, release_id, position) for position in shown]
        return ChapterImages(paths, are_all=len(paths) == count)

    def _cover(self, entry: Entry) -> ChapterImages:
        """That of its series, where there are no pages."""
        if entry.cover_id is None:
            return ChapterImages(())
        return ChapterImages([self.base + self._services.app_pictures.cover(self.user.password_id, entry.cover_id)])


def plain_entry(found: SyncEntry, base: str) -> AppEntry:
    """An entry for whoever has no device password: pictures where their publisher has them, of a chapter a link."""
    entry, url = found.entry, _url(found.entry, base)
    if entry.chapter_id is not None:
        return _app_entry(found, url, _chapter_html(entry, url, ChapterImages(())), base)
    text = entry.content or ""
    text = captioned(text, entry.title) if len(text) <= LONGEST_HERE else text
    return _app_entry(found, url, _beside(entry, text) + text, base)


async def _bodies(parsers: Parsers, entries: Sequence[Entry]) -> list[str]:
    """Their texts with all that our own pages show: captions, and the pictures and files that came beside (R104)."""
    texts = [entry.content or "" for entry in entries]
    wanted = [(text, entry.title) for text, entry in zip(texts, entries, strict=True)]
    if sum(map(len, texts)) <= LONGEST_HERE:
        texts = all_captioned(wanted)
    elif any(map(has_captions, texts)):  # a call of a parser process costs more than looking
        with suppress(SourceError):
            texts = await parsers.run(all_captioned, (wanted,))
    return [_beside(entry, text) + text for entry, text in zip(entries, texts, strict=True)]


def _beside(entry: Entry, text: str) -> str:
    """Files and pictures that came with an article, above its text."""
    files = "".join(map(_file_html, files_beside(entry.enclosures or (), text)))
    return files + "".join(_figure(one.url, one.caption) for one in pictures_in(entry, text, http_url))


def _file_html(file: Enclosure) -> str:
    address = http_url(file.url)
    if address is None:
        return ""
    duration = duration_of(file.duration_seconds)
    said = f" ({duration})" if duration else ""
    return f'<p><a href="{html.escape(address)}">{html.escape(file_title(file))}</a>{said}</p>'


def _figure(address: str, caption: str) -> str:
    words = html.escape(caption)
    said = f"<figcaption>{words}</figcaption>" if caption else ""
    return f'<figure><img src="{html.escape(address)}" alt="{words}">{said}</figure>'


def _app_entry(found: SyncEntry, url: str, body: str, base: str) -> AppEntry:
    entry, details = found.entry, found.details
    return AppEntry(
        id=entry.id,
        feed=details.feed,
        feed_title=details.feed_title or UNTITLED,
        feed_site=_site(details.site_url, details.feed_link, base),
        group_id=details.group_id,
        group_name=details.group_name,
        title=_title(entry),
        author=entry.author or "",
        html=body,
        url=url,
        unread=entry.unread,
        saved=entry.saved,
        published_at=Millis(max(0, entry.published_at if entry.published_at is not None else entry.sort_at)),
        arrived_at=details.arrived_at,
        changed_at=max(details.arrived_at, details.changed_at or details.arrived_at),
        enclosures=tuple(entry.enclosures or ()),
        played=found.played,
    )


def feed_address(feed: SyncFeed, base: str) -> str:
    """Where the feed is; a series has its page here."""
    return feed.link or f"{base}/series/{show_id(feed.series_public_id or feed.public_id)}"


def site_address(feed: SyncFeed, base: str) -> str:
    """The site of the feed, or of the series' first source."""
    return _site(feed.site_url, feed.link, base)


def _site(site_url: str | None, link: str | None, base: str) -> str:
    return http_url(site_url) or link or f"{base}/"


def icon_of(feed: SyncFeed, icons: Mapping[FeedId, ShownIcon]) -> ShownIcon | None:
    """Its icon; a series has none."""
    return icons.get(FeedId(feed.of_id)) if feed.kind == "item" else None


def icon_address(feed: SyncFeed, icons: Mapping[FeedId, ShownIcon], base: str) -> str:
    """Where the feed's icon is; empty where it has none."""
    icon = icon_of(feed, icons)
    return "" if icon is None else base + icon.path


def seconds(at: Millis | None) -> int:
    """Unix seconds, 0 for never."""
    return 0 if at is None else at // SECOND


def _title(entry: Entry) -> str:
    if entry.chapter_id is None:
        return title_of(entry.title, entry.content or "") or iso(entry.published_at or entry.sort_at)[:10]
    return chapter_title(entry.number, entry.volume, entry.title)


def chapter_title(number: str | None, volume: str | None, title: str) -> str:
    """What a chapter is called: its number, else its volume, and its title; never empty."""
    numbered = f"Volume {volume}" if volume else ""
    if number:
        numbered = f"Chapter {number}"
    return ": ".join(part for part in (numbered, beside_number(title, number)) if part) or UNTITLED


def _url(entry: Entry, base: str) -> str:
    if entry.chapter_id is not None and entry.series_public_id is not None:
        return f"{base}/series/{show_id(entry.series_public_id)}/chapters/{entry.chapter_id}"
    return entry.link or f"{base}/items/{entry.item_id}"


def _chapter_html(entry: Entry, url: str, images: ChapterImages) -> str:
    name, address = html.escape(f"{entry.series_title or UNTITLED}, {_title(entry)}"), html.escape(url)
    shown = "".join(f'<p><img src="{html.escape(image)}" alt=""></p>' for image in images.addresses)
    more = "" if images.are_all else f'<p><a href="{address}">All pages</a></p>'
    return f'<p><a href="{address}">Read {name}</a></p>{shown}{more}'

"""Entries as apps show them: never without a title, with absolute addresses, chapters beside articles (R109)."""

import html
from collections.abc import Mapping, Sequence

import msgspec

from tsuzuki.accounts.devices import AppUser
from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.http.services import Services
from tsuzuki.images.icons import ShownIcon
from tsuzuki.inbox.entries import Entry
from tsuzuki.inbox.sync import SyncEntry, SyncFeed
from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.ids import FeedId, show_id
from tsuzuki.model.times import SECOND, Millis, iso
from tsuzuki.model.titles import beside_number, title_of
from tsuzuki.shelves.types import SeriesRelease

UNTITLED = "Untitled"
MOST_PAGES = 500
"""Of a chapter, in the text of its item."""


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


async def app_entries(services: Services, user: AppUser, found: Sequence[SyncEntry], base: str) -> list[AppEntry]:
    """The entries of an answer; `base` is this server's address."""
    chapters = [one.entry.chapter_id for one in found if one.entry.chapter_id is not None]
    releases = await services.reading.series.preferred_releases(user.shelf.id, chapters)
    bodies = [one.entry.content or "" for one in found]
    if user.shelf.proxy_images:
        pictures, password_id = services.app_pictures, user.password_id
        bodies = await services.pictures.articles.shown_in(
            bodies, lambda address: base + pictures.in_article(password_id, address)
        )
    entries = []
    for one, body in zip(found, bodies, strict=True):
        url = _url(one.entry, base)
        if one.entry.chapter_id is not None:
            images = _chapter_images(services, user, one.entry, releases.get(one.entry.chapter_id))
            body = _chapter_html(one.entry, url, [base + path for path in images])
        entries.append(_app_entry(one, url, body, base))
    return entries


def plain_entry(found: SyncEntry, base: str) -> AppEntry:
    """An entry for whoever has no device password: pictures where their publisher has them, of a chapter a link."""
    entry, url = found.entry, _url(found.entry, base)
    body = (entry.content or "") if entry.chapter_id is None else _chapter_html(entry, url, ())
    return _app_entry(found, url, body, base)


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
        arrived_at=entry.created_at,
        changed_at=max(entry.created_at, details.changed_at or entry.created_at),
        enclosures=tuple(entry.enclosures or ()),
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


def _chapter_images(services: Services, user: AppUser, entry: Entry, release: SeriesRelease | None) -> list[str]:
    """The paths of its pages where they can be shown, else of its series' cover."""
    pictures, password_id = services.app_pictures, user.password_id
    if release is not None and release.is_readable and release.page_count > 0:
        pages = range(min(release.page_count, MOST_PAGES))
        return [pictures.page(password_id, release.id, position) for position in pages]
    return [] if entry.cover_id is None else [pictures.cover(password_id, entry.cover_id)]


def _chapter_html(entry: Entry, url: str, images: Sequence[str]) -> str:
    name = html.escape(f"{entry.series_title or UNTITLED}, {_title(entry)}")
    shown = "".join(f'<p><img src="{html.escape(image)}" alt=""></p>' for image in images)
    return f'<p><a href="{html.escape(url)}">Read {name}</a></p>{shown}'

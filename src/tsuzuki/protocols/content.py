"""Entries as apps show them: never without a title, with absolute addresses, chapters beside articles (R109)."""

import html

import msgspec

from tsuzuki.inbox.entries import Entry
from tsuzuki.inbox.sync import SyncEntry, SyncFeed
from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import SECOND, Millis, iso
from tsuzuki.model.titles import beside_number, title_of

UNTITLED = "Untitled"


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


def app_entry(found: SyncEntry, base: str) -> AppEntry:
    """The entry; `base` is this server's address."""
    entry, details = found.entry, found.details
    url = _url(entry, base)
    return AppEntry(
        id=entry.id,
        feed=details.feed,
        feed_title=details.feed_title or UNTITLED,
        feed_site=details.site_url or details.feed_link or f"{base}/",
        group_id=details.group_id,
        group_name=details.group_name,
        title=_title(entry),
        author=entry.author or "",
        html=_html(entry, url),
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
    return feed.link or f"{base}/series-feeds/{feed.number}"


def site_address(feed: SyncFeed, base: str) -> str:
    """The site of the feed, or of the series' first source."""
    return feed.site_url or feed.link or f"{base}/"


def seconds(at: Millis | None) -> int:
    """Unix seconds, 0 for never."""
    return 0 if at is None else at // SECOND


def _title(entry: Entry) -> str:
    if entry.chapter_id is None:
        return title_of(entry.title, entry.content or "") or iso(entry.published_at or entry.sort_at)[:10]
    numbered = f"Volume {entry.volume}" if entry.volume else ""
    if entry.number:
        numbered = f"Chapter {entry.number}"
    beside = beside_number(entry.title, entry.number)
    return ": ".join(part for part in (numbered, beside) if part) or UNTITLED


def _url(entry: Entry, base: str) -> str:
    if entry.chapter_id is not None and entry.series_public_id is not None:
        return f"{base}/series/{show_id(entry.series_public_id)}/chapters/{entry.chapter_id}"
    return entry.link or f"{base}/items/{entry.item_id}"


def _html(entry: Entry, url: str) -> str:
    if entry.chapter_id is None:
        return entry.content or ""
    name = html.escape(f"{entry.series_title or UNTITLED}, {_title(entry)}")
    return f'<p><a href="{html.escape(url)}">Read {name}</a></p>'

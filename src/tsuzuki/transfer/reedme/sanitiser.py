"""Sanitises feeds, items and bookmarks of ReedMe and Fusion (I7). Runs in a parser process."""

import hashlib

import msgspec

from tsuzuki.connectors.feed.identity import bounded, stable_guid
from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.connectors.html.sanitiser import one_line, sanitise
from tsuzuki.db.fulltext import IndexWords, split_words
from tsuzuki.db.legacy import LegacyBookmark, LegacyFeed, LegacyItem
from tsuzuki.db.queries import Engine
from tsuzuki.model.harvest import FoundItem

_NAME = 500
_LONGEST_NAME = 10_000
"""Characters that are looked at to find a name in them."""


def clean_feeds(feeds: list[LegacyFeed]) -> list[LegacyFeed]:
    """The feeds, with names of one line, and only addresses that can be opened."""
    return [
        msgspec.structs.replace(
            feed,
            name=_name(feed.name),
            group=_name(feed.group),
            site_url=http_url(feed.site_url or "", "") or None,
        )
        for feed in feeds
    ]


class CleanItem(msgspec.Struct, frozen=True):
    """An item as it may be stored, under the key that a poll would give it."""

    found: FoundItem
    words: IndexWords


def clean_items(items: list[LegacyItem], base: str, engine: Engine) -> list[CleanItem]:
    """The items, and the words by which they are found."""
    found = [_item(item, base) for item in items]
    words = split_words(engine, [(item.title, item.content) for item in found])
    return [CleanItem(item, each) for item, each in zip(found, words, strict=True)]


def clean_bookmarks(bookmarks: list[LegacyBookmark]) -> list[LegacyBookmark]:
    """The snapshots as they may be stored."""
    return [_bookmark(mark) for mark in bookmarks]


def _item(item: LegacyItem, base: str) -> FoundItem:
    key = _key(item)
    link = None if item.link is None else http_url(item.link, base)
    return FoundItem(
        key=key,
        title=one_line(item.title) or link or key,
        link=link,
        content=sanitise(item.content, link or base),
        published_at=item.published_at,
    )


def _bookmark(mark: LegacyBookmark) -> LegacyBookmark:
    link = http_url(mark.link, "") or ""
    return msgspec.structs.replace(
        mark,
        link=link,
        title=one_line(mark.title) or link or "?",
        content=sanitise(mark.content, link),
        feed_name=_name(mark.feed_name),
    )


def _name(text: str) -> str:
    return one_line(text[:_LONGEST_NAME])[:_NAME]


def _key(item: LegacyItem) -> str:
    """R31: as the next poll will find it."""
    if item.guid:
        return bounded(stable_guid(item.guid))
    if item.link:
        return bounded(item.link)
    return hashlib.blake2b(f"{item.title}\0{item.content}".encode(), digest_size=16).hexdigest()

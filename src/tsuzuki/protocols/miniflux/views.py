"""What Miniflux's clients are shown. No text is null; what we have no setting for has its usual value."""

import hashlib
from collections.abc import Mapping
from typing import Any

import msgspec

from tsuzuki.accounts.caller import Caller
from tsuzuki.images.icons import ShownIcon
from tsuzuki.inbox.entries import Entry
from tsuzuki.inbox.sync import SyncFeed
from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.ids import FeedId
from tsuzuki.model.times import Millis, iso
from tsuzuki.model.tokens import text_of
from tsuzuki.protocols.content import AppEntry, feed_address, icon_of, site_address
from tsuzuki.protocols.miniflux.requests import MinifluxRequest
from tsuzuki.shelves.groups import Group

Json = dict[str, Any]

MOST_ENCLOSURES = 100
"""Enclosures of one entry: the number of each is that of the entry and two digits."""
BYTES_A_MINUTE = 1_500
"""Bytes of UTF-8 read in a minute: about 265 words of a language with spaces, or 500 characters of Japanese."""

UNSUPPORTED: Json = {
    **dict.fromkeys(("scraper_rules", "rewrite_rules", "urlrewrite_rules", "blocklist_rules", "keeplist_rules"), ""),
    **dict.fromkeys(("block_filter_entry_rules", "keep_filter_entry_rules", "user_agent", "cookie"), ""),
    **dict.fromkeys(("username", "password", "proxy_url", "apprise_service_urls", "webhook_url", "ntfy_topic"), ""),
    **dict.fromkeys(("ignore_http_cache", "allow_self_signed_certificates", "fetch_via_proxy", "hide_globally"), False),
    **dict.fromkeys(("disable_http2", "no_media_player", "ignore_entry_updates"), False),
    **dict.fromkeys(("ntfy_enabled", "pushover_enabled"), False),
}
"""Settings of a feed that this server does not have, each as it is when it is not used."""


class Viewer(msgspec.Struct, frozen=True):
    """Makes what one person's client is shown."""

    user_id: int
    base: str
    """This server's address."""
    icons: Mapping[FeedId, ShownIcon]

    def category(self, group: Group) -> Json:
        """A group."""
        return self._category(group.id, group.name)

    def feed(self, feed: SyncFeed) -> Json:
        """A feed or a series."""
        error = feed.error if feed.failures else None
        return {
            "id": feed.number,
            "user_id": self.user_id,
            "feed_url": feed_address(feed, self.base),
            "site_url": site_address(feed, self.base),
            "title": feed.title,
            "description": "",
            "language": "",
            "checked_at": iso(feed.checked_at or feed.created_at),
            "next_check_at": iso(feed.next_check_at or feed.checked_at or feed.created_at),
            "etag_header": feed.etag or "",
            "last_modified_header": feed.last_modified or "",
            "parsing_error_message": error or "",
            "parsing_error_count": feed.failures,
            "disabled": feed.is_suspended,
            "crawler": feed.full_text,
            "category": self._category(feed.group_id, feed.group_name),
            "icon": self._icon(feed),
        } | UNSUPPORTED

    def entry(self, shown: AppEntry, entry: Entry, feed: Json) -> Json:
        """An article or a chapter; `feed` as it is shown."""
        enclosures = shown.enclosures[:MOST_ENCLOSURES]
        return {
            "id": shown.id,
            "user_id": self.user_id,
            "feed_id": shown.feed,
            "status": "unread" if shown.unread else "read",
            "hash": hashlib.sha256((entry.key or shown.url).encode()).hexdigest(),
            "title": shown.title,
            "url": shown.url,
            "comments_url": entry.comments_url or "",
            # As lists are sorted, and filtered by: what its publisher dates into the future is not above all else.
            "published_at": iso(Millis(max(0, entry.sort_at))),
            "created_at": iso(shown.arrived_at),
            "changed_at": iso(shown.changed_at),
            "content": shown.html,
            "author": shown.author,
            "share_code": "",
            "starred": shown.saved,
            "reading_time": reading_time(shown.html),
            "enclosures": [self.enclosure(shown, each, at) for at, each in enumerate(enclosures)] or None,
            "feed": feed,
            "tags": entry.categories or [],
            "language": "",
        }

    def enclosure(self, entry: AppEntry, enclosure: Enclosure, position: int) -> Json:
        """A file of an entry."""
        return {
            "id": entry.id * MOST_ENCLOSURES + position,
            "user_id": self.user_id,
            "entry_id": entry.id,
            "url": enclosure.url,
            "mime_type": enclosure.media_type or "application/octet-stream",
            "size": enclosure.length or 0,
            "media_progression": entry.played.get(position, 0),
        }

    def _icon(self, feed: SyncFeed) -> Json | None:
        icon = icon_of(feed, self.icons)
        if icon is None:
            return None
        return {"feed_id": feed.number, "icon_id": icon.id, "external_icon_id": icon.token.hex()}

    def _category(self, number: int, name: str) -> Json:
        return {"id": number, "title": name, "user_id": self.user_id, "hide_globally": False}


async def viewer(asked: MinifluxRequest) -> Viewer:
    """The viewer for the person of a request."""
    return Viewer(asked.user.caller.user_id, asked.base, await asked.services.icons.of_shelf(asked.shelf_id))


def user_view(caller: Caller) -> Json:
    """The person themselves. Nobody administers a server from here."""
    return {
        "id": caller.user_id,
        "username": caller.username,
        "is_admin": False,
        "theme": "system_serif",
        "language": "en_US",
        "timezone": "UTC",
        "entry_sorting_direction": "desc",
        "entry_sorting_order": "published_at",
        "stylesheet": "",
        "custom_js": "",
        "google_id": "",
        "openid_connect_id": "",
        "entries_per_page": 100,
        "keyboard_shortcuts": True,
        "show_reading_time": True,
        "entry_swipe": True,
        "gesture_nav": "tap",
        "last_login_at": None,
        "display_mode": "standalone",
        "default_reading_speed": 265,
        "cjk_reading_speed": 500,
        "default_home_page": "unread",
        "categories_sorting_order": "unread_count",
        "mark_read_on_view": True,
        "media_playback_rate": 1,
    }


def reading_time(markup: str) -> int:
    """Minutes to read it, rounded up."""
    return -(-len(text_of(markup).strip().encode("utf-8", "replace")) // BYTES_A_MINUTE)

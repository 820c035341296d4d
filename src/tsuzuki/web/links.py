"""Paths that more than one page links to."""

import re
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from urllib.parse import urlencode

from tsuzuki.model.ids import PublicId, show_id

Picture = Callable[[str], str | None]
"""The address at this server for a picture of another site; None if it is not proxied."""

_TINTS = 8
_WEB = re.compile(r"https?://", re.IGNORECASE)


def item_path(item_id: int, **query: str) -> str:
    """The page of an article; the query says of which list it is one."""
    return f"/items/{item_id}" + (f"?{urlencode(query)}" if query else "")


def series_path(series_id: str, **query: str) -> str:
    """The page of a series."""
    return f"/series/{series_id}" + (f"?{urlencode(query)}" if query else "")


def import_path(import_id: PublicId) -> str:
    """The page of an import."""
    return f"/import/{show_id(import_id)}"


def feed_path(feed_id: str) -> str:
    """The list of all that a feed has brought."""
    return f"/?feed={feed_id}"


def chapter_path(series_id: str, chapter_id: int) -> str:
    """The page reader."""
    return f"/series/{series_id}/chapters/{chapter_id}"


def cover_path(series_source_id: int, width: int = 160) -> str:
    """A series' cover, small: 160, 320 or 640 wide."""
    return f"/api/v1/manga/{series_source_id}/cover?width={width}"


def outside(address: str | None) -> str:
    """An address of elsewhere, if a click may go there: whatever was stored, nothing runs by a link (SEC-17)."""
    return address if address is not None and _WEB.match(address) else "#"


def small(picture: Picture, address: str | None) -> str | None:
    """A picture of another site, of the size that a row of a list has."""
    brought = picture(address) if address else None
    return brought and f"{brought}?width=160"


@lru_cache(4096)
def tile_of(name: str) -> tuple[str, int]:
    """The letter that stands for something without a picture, and its tint: the same name has always the same."""
    letter = next((char for char in name if char.isalnum()), "・")
    return letter.upper(), blake2b(name.encode(), digest_size=1).digest()[0] % _TINTS


FEEDS_OUT = "/account/feeds-out"


def as_feed_path(name: str, **shown: str | None) -> str:
    """Where this list can be had as a feed; `shown` is what of the shelf it shows, by the names of the form."""
    return f"{FEEDS_OUT}?{urlencode({'name': name} | {field: text for field, text in shown.items() if text})}"

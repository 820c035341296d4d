"""Where things are: every path that more than one page links to."""

from hashlib import blake2b
from urllib.parse import urlencode

_TINTS = 8


def item_path(item_id: int, **query: str) -> str:
    """The page of an article; the query says of which list it is one."""
    return f"/items/{item_id}" + (f"?{urlencode(query)}" if query else "")


def series_path(_series_id: str) -> str | None:
    """The page of a series; None while there is none."""
    return None


def chapter_path(_series_id: str, _chapter_id: int) -> str | None:
    """The page reader; None while there is none."""
    return None


def cover_path(series_source_id: int) -> str:
    """A series' cover, small."""
    return f"/api/v1/manga/{series_source_id}/cover?width=160"


def tile_of(name: str) -> tuple[str, int]:
    """The letter that stands for something without a picture, and its tint: the same name has always the same."""
    letter = next((char for char in name if char.isalnum()), "・")
    return letter.upper(), blake2b(name.encode(), digest_size=1).digest()[0] % _TINTS


_LONGEST_LINK = 8192


def again_of(link: str | None) -> str | None:
    """The address of a feed that was just left, to follow it again; None for what is none."""
    if not link or len(link) > _LONGEST_LINK or not link.startswith(("http://", "https://")):
        return None
    return link

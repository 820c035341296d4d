"""Frames become plain links: nothing embedded from elsewhere reaches a page (R105)."""

import re
from collections.abc import Callable
from urllib.parse import parse_qs, quote

from tsuzuki.connectors.html.addresses import http_url, parts_of

_YOUTUBE = re.compile(r"/(?:embed|v|shorts)/([\w-]{1,64})")
_ID = re.compile(r"[\w-]{1,64}")
_NOWHERE = "https://embedded.invalid/"
"""What an address without a host stands on where its document has none."""


def _youtube(path: str, query: dict[str, list[str]]) -> str | None:
    found = _YOUTUBE.fullmatch(path)
    if found is None:
        return None
    if found.group(1) != "videoseries":
        return f"https://www.youtube.com/watch?v={found.group(1)}"
    lists = query.get("list", [])
    return f"https://www.youtube.com/playlist?list={quote(lists[0])}" if lists else None


def _after(prefix: str) -> Callable[[str, dict[str, list[str]]], str | None]:
    def link(path: str, _query: dict[str, list[str]]) -> str | None:
        name = path.rsplit("/", 1)[-1]
        return prefix + name if _ID.fullmatch(name) else None

    return link


_HOSTS: dict[str, tuple[str, Callable[[str, dict[str, list[str]]], str | None]]] = {
    "youtube.com": ("YouTube", _youtube),
    "youtube-nocookie.com": ("YouTube", _youtube),
    "player.vimeo.com": ("Vimeo", _after("https://vimeo.com/")),
    "dailymotion.com": ("Dailymotion", _after("https://www.dailymotion.com/video/")),
    "geo.dailymotion.com": ("Dailymotion", _after("https://www.dailymotion.com/video/")),
}


def link_for(frame_address: str, base: str, title: str = "") -> tuple[str, str] | None:
    """Where a person would see what this frame shows, and what to call it; None for one that has no address."""
    address = http_url(frame_address, base or _NOWHERE)
    parts = parts_of(address) if address else None
    host = (parts.hostname or "").removeprefix("www.") if parts is not None else ""
    if parts is None or address is None or not host or address.startswith(_NOWHERE):
        return None
    name, link = _HOSTS.get(host, ("", None))
    target = link(parts.path.rstrip("/"), parse_qs(parts.query)) if link is not None else None
    if target is not None:
        return target, title or f"Video on {name}"
    return address, f"{title} ({host})" if title else host

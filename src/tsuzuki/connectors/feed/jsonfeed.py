"""JSON Feed 1.0 and 1.1. Fields of a wrong type are as good as missing: one bad entry never costs the others."""

import re
from typing import Any

import msgspec

from tsuzuki.connectors.feed.document import MAX_NODES
from tsuzuki.connectors.feed.elements import author_of, repair_text
from tsuzuki.connectors.feed.items import seconds_of
from tsuzuki.connectors.feed.raw import MAX_ITEMS, MAX_LIST, RawFeed, RawItem, RawMedia, RawText
from tsuzuki.connectors.html.addresses import file_url
from tsuzuki.model.errors import NotAFeed, TooLarge

_VERSION = re.compile(r"https?://(?:www\.)?jsonfeed\.org/version/1")


def looks_like_json(text: str) -> bool:
    """Whether a document can only be JSON."""
    return text.lstrip("\ufeff \t\r\n").startswith("{")


def read_json(text: str, url: str) -> RawFeed:
    """The feed a JSON document holds."""
    if text.count("[") > MAX_NODES or text.count("{") > MAX_NODES:
        raise TooLarge(f"The feed has more than {MAX_NODES} values.")
    try:
        document = msgspec.json.decode(text.lstrip("\ufeff \t\r\n").encode(errors="replace"))
    except (msgspec.DecodeError, RecursionError) as error:
        raise NotAFeed("The answer looks like JSON but is not valid.") from error
    version = document.get("version") if isinstance(document, dict) else None
    if not isinstance(version, str) or not _VERSION.match(version) or "items" not in document:
        raise NotAFeed("The answer is JSON, but not a JSON Feed.")
    hubs = (hub for hub in _list(document, "hubs") if isinstance(hub, dict))
    return RawFeed(
        kind="json",
        url=url,
        items=[_item(entry, url) for entry in _list(document, "items", MAX_ITEMS) if isinstance(entry, dict)],
        title=_text(document, "title"),
        site_url=_string(document, "home_page_url"),
        description=_text(document, "description"),
        language=_string(document, "language"),
        icon=_address(document, "icon", url) or _address(document, "favicon", url),
        authors=_authors(document),
        hub=next((address for hub in hubs if (address := _address(hub, "url", url))), None),
        self_url=_address(document, "feed_url", url),
    )


def _item(entry: dict[str, Any], url: str) -> RawItem:
    return RawItem(
        title=_text(entry, "title"),
        guid=_string(entry, "id"),
        link=_address(entry, "url", url) or _address(entry, "external_url", url),
        content=_text(entry, "content_html", is_html=True) or _text(entry, "content_text"),
        summary=_text(entry, "summary"),
        authors=_authors(entry),
        published=_string(entry, "date_published"),
        updated=_string(entry, "date_modified"),
        categories=[repair_text(tag) for tag in _list(entry, "tags") if isinstance(tag, str) and tag.strip()],
        media=[media for file in _list(entry, "attachments") if (media := _attachment(file, url))],
        image=_address(entry, "image", url) or _address(entry, "banner_image", url),
    )


def _attachment(file: object, url: str) -> RawMedia | None:
    if not isinstance(file, dict):
        return None
    address = _address(file, "url", url)
    if address is None:
        return None
    size = file.get("size_in_bytes")
    duration = file.get("duration_in_seconds")
    return RawMedia(
        address,
        media_type=(_string(file, "mime_type") or "").lower() or None,
        length=size if isinstance(size, int) and 0 < size < 2**53 else None,
        title=_string(file, "title"),
        duration_seconds=seconds_of(str(duration)) if isinstance(duration, int | float) else None,
    )


def _authors(holder: dict[str, Any]) -> list[str]:
    """1.1's authors, else 1.0's author."""
    people = [*_list(holder, "authors"), holder.get("author")]
    names = [_string(person, "name") or _string(person, "url") for person in people if isinstance(person, dict)]
    return list(dict.fromkeys(author for name in names if name and (author := author_of(name))))


def _string(holder: dict[str, Any], name: str) -> str | None:
    """A string; numbers count as such, for ids are often written as numbers."""
    value = holder.get(name)
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    return repair_text(value) or None if isinstance(value, str) else None


def _text(holder: dict[str, Any], name: str, *, is_html: bool = False) -> RawText | None:
    value = _string(holder, name)
    return RawText(value, is_html=is_html) if value else None


def _address(holder: dict[str, Any], name: str, url: str) -> str | None:
    return file_url(_string(holder, name), url)


def _list(holder: dict[str, Any], name: str, most: int = MAX_LIST) -> list[Any]:
    value = holder.get(name)
    return value[:most] if isinstance(value, list) else []

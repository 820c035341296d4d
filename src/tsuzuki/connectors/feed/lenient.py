"""The last resort: feedparser, for documents in which our reader finds nothing even after repairs.

It gets text that was already decoded, bounded, repaired and freed of any DTD, and gives the same `RawFeed` as ours.
"""

import io
import re
from collections.abc import Mapping
from typing import Any

from tsuzuki.connectors.feed.elements import author_of, repair_text
from tsuzuki.connectors.feed.items import is_address, length_of, seconds_of
from tsuzuki.connectors.feed.raw import MAX_ITEMS, Kind, RawFeed, RawItem, RawMedia, RawText
from tsuzuki.connectors.html.addresses import file_url, http_url

Found = Mapping[str, Any]

_ITS_FAULTS = (ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
_WEB_PAGES = frozenset({"text/html", "application/xhtml+xml", "html", "xhtml"})
_NAMESPACE = re.compile(r"""xmlns:([\w.-]{1,60})\s?=\s?["'][^"'<>]{0,60}(mrss|/atom)[^"'<>]{0,9}["']""", re.IGNORECASE)
_PREFIXED = re.compile(r"<(/?)([\w.-]{1,60}):(description|link)(?=[\s/>])", re.IGNORECASE)
_OF_ATOM = "of-atom"
"""An attribute that we give to Atom's links in RSS."""


def read_leniently(text: str, url: str) -> RawFeed | None:
    """The feed that feedparser finds in a document; None when it finds none, or breaks over it."""
    try:
        return raw_feed(parse(_with_own_names(text).encode()), url)
    except _ITS_FAULTS:
        return None


def _with_own_names(text: str) -> str:
    """The document with names that feedparser does not take for the entry's own.

    To it what is said of a picture is the entry's text, and a link of Atom in RSS the entry's link.
    """
    meant = {"media": "mrss"} | {prefix.lower(): name.lower() for prefix, name in _NAMESPACE.findall(text)}
    is_rss = "<channel" in text

    def renamed(tag: re.Match[str]) -> str:
        slash, prefix, name = tag.groups()
        kind = (meant.get(prefix.lower()), name.lower())
        if kind == ("mrss", "description"):
            return f"<{slash}{prefix}:text"
        is_other = kind == ("/atom", "link") and is_rss and not slash
        return f'{tag.group()} {_OF_ATOM}=""' if is_other else tag.group()

    return _PREFIXED.sub(renamed, text)


def parse(body: bytes, content_type: str = "application/xml; charset=utf-8") -> Found:
    """What feedparser itself answers, without its sanitiser and without a base: both are ours, and come later."""
    import feedparser  # type: ignore[import-untyped]  # it ships no types

    headers = {"content-type": content_type}
    found: Found = feedparser.parse(
        io.BytesIO(body), response_headers=headers, sanitize_html=False, resolve_relative_uris=False
    )
    return found


def raw_feed(parsed: Found, url: str) -> RawFeed | None:
    """The answer of feedparser in our words."""
    feed, entries = parsed["feed"], parsed["entries"]
    version = _plain(parsed, "version") or ""
    if not version and not entries and not _plain(feed, "title"):
        return None
    kind: Kind = "atom" if version.startswith("atom") else "rdf" if version in {"rss10", "rss090"} else "rss"
    links = _links(feed)
    return RawFeed(
        kind=kind,
        url=url,
        items=[_item(entry, url) for entry in entries[:MAX_ITEMS]],
        title=_text(feed, "title", url),
        site_url=_link(feed, url),
        description=_text(feed, "subtitle", url) or _text(feed, "summary", url),
        language=_plain(feed, "language"),
        icon=http_url(_plain(feed, "icon"), url),
        logo=http_url(_plain(feed, "logo"), url),
        image=http_url(_nested(feed, "image", "href"), url),
        authors=_authors(feed),
        ttl_minutes=_plain(feed, "ttl"),
        update_period=_plain(feed, "sy_updateperiod"),
        update_frequency=_plain(feed, "sy_updatefrequency"),
        hub=_first_link(links, "hub", url),
        self_url=_first_link(links, "self", url),
    )


def _item(entry: Found, url: str) -> RawItem:
    links = _links(entry)
    contents = (_content(part, url) for part in _value(entry, "content") or [])
    guid = _plain(entry, "id")
    pictures = _value(entry, "media_thumbnail") or []
    comments = _plain(entry, "comments") or ""
    return RawItem(
        title=_text(entry, "title", url),
        guid=guid,
        guid_is_link=bool(_value(entry, "guidislink")) and (guid or "").startswith(("http://", "https://", "/")),
        link=_link(entry, url),
        other_link=_first_link(links, "alternate", url),
        content=next((text for text in contents if text is not None), None),
        summary=_text(entry, "summary", url),
        authors=_authors(entry),
        published=_plain(entry, "published"),
        updated=_plain(entry, "updated"),
        created=_plain(entry, "created"),
        categories=_categories(entry),
        media=_media(entry, links, url),
        thumbnails=[address for picture in pictures if (address := file_url(_plain(picture, "url"), url))],
        image=http_url(_nested(entry, "image", "href"), url),
        original_link=http_url(_plain(entry, "feedburner_origlink"), url),
        comments=(is_address(comments) and comments) or _first_link(links, "replies", url, only=_WEB_PAGES),
        number=_plain(entry, "itunes_episode") or _plain(entry, "podcast_episode"),
        duration=_plain(entry, "itunes_duration"),
    )


def _value(holder: Found, name: str) -> Any:
    """A value by its own name. feedparser's dictionaries answer for other names too, with a warning; not here."""
    return dict.get(holder, name) if isinstance(holder, dict) else None


def _plain(holder: Found, name: str) -> str | None:
    value = _value(holder, name)
    return repair_text(value) or None if isinstance(value, str) else None


def _link(holder: Found, url: str) -> str | None:
    """The page. feedparser takes a file's link with words for one, and lets a guid stand in that is no address."""
    own, others = list[str](), set[str]()
    for link in _links(holder):
        if address := _plain(link, "href"):
            own.append(address) if _is_page(link) else others.add(address)
    if own:
        return http_url(own[-1], url)
    stand_in = _plain(holder, "link") or ""
    is_guid = stand_in == _plain(holder, "id")
    if stand_in in others or (is_guid and not stand_in.startswith(("http://", "https://", "/"))):
        return None
    return http_url(stand_in, url)


def _is_page(link: Found) -> bool:
    is_own = _plain(link, "rel") == "alternate" and _value(link, _OF_ATOM) is None
    return is_own and (_plain(link, "type") or "text/html") in _WEB_PAGES


def _nested(holder: Found, name: str, inner: str) -> str | None:
    return _plain(_value(holder, name), inner)


def _text(holder: Found, name: str, url: str) -> RawText | None:
    detail = _value(holder, f"{name}_detail")
    value = _plain(holder, name)
    if value is None:
        return None
    if not isinstance(detail, dict) or _plain(detail, "value") != value:
        return RawText(value, is_html=False)
    return _content(detail, url)


def _content(detail: Found, url: str) -> RawText | None:
    value = _plain(detail, "value")
    if not value:
        return None
    is_html = _plain(detail, "type") in _WEB_PAGES
    return RawText(value, is_html=is_html, base=http_url(_plain(detail, "base"), url))


def _links(holder: Found) -> list[Found]:
    return [link for link in _value(holder, "links") or [] if isinstance(link, dict)]


def _first_link(links: list[Found], rel: str, url: str, only: frozenset[str] | None = None) -> str | None:
    for link in links:
        if _plain(link, "rel") == rel and (only is None or _plain(link, "type") in only):
            address = http_url(_plain(link, "href"), url)
            if address:
                return address
    return None


def _authors(holder: Found) -> list[str]:
    people = [person for person in _value(holder, "authors") or [] if isinstance(person, dict)]
    author = _plain(holder, "author")
    if len(people) == 1 and author:
        # It takes names and addresses apart wrongly where a top-level domain is long; the text it keeps is whole.
        return [name for name in (author_of(author),) if name]
    names = [_plain(person, "name") or _plain(person, "email") for person in people]
    return list(dict.fromkeys(name for name in names if name))


def _categories(entry: Found) -> list[str]:
    tags = [tag for tag in _value(entry, "tags") or [] if isinstance(tag, dict)]
    return list(dict.fromkeys(name for tag in tags if (name := _plain(tag, "label") or _plain(tag, "term"))))


def _media(entry: Found, links: list[Found], url: str) -> list[RawMedia]:
    enclosures = [_one_media(link, "href", url) for link in links if _plain(link, "rel") == "enclosure"]
    contents = [_one_media(content, "url", url) for content in _value(entry, "media_content") or []]
    return [media for media in (*enclosures, *contents) if media is not None]


def _one_media(holder: Found, name: str, url: str) -> RawMedia | None:
    address = file_url(_plain(holder, name), url)
    if address is None:
        return None
    return RawMedia(
        address,
        media_type=_plain(holder, "type"),
        length=length_of(_plain(holder, "length") or _plain(holder, "filesize")),
        title=_plain(holder, "title"),
        duration_seconds=seconds_of(_plain(holder, "duration")),
        medium=_plain(holder, "medium"),
    )

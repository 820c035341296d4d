"""One entry of RSS, RDF or Atom: a table from element names to what they add to the entry."""

import re
from typing import TYPE_CHECKING

from tsuzuki.connectors.feed.elements import (
    RDF_ABOUT,
    RDF_RESOURCE,
    DocumentScope,
    Handler,
    add_author,
    add_creator,
    attribute,
    is_of_atom,
    last_words,
    words,
)
from tsuzuki.connectors.feed.raw import MAX_LIST, RawItem, RawMedia, add
from tsuzuki.connectors.html.addresses import file_url, http_url

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

_CLOCK = re.compile(r"(?:(\d{1,4}):)?(\d{1,4}):(\d{1,2})(?:\.\d+)?")
_SECONDS = re.compile(r"(\d{1,7})(?:\.\d+)?(?:\s*(?:s|sec|seconds))?", re.IGNORECASE)


def seconds_of(text: str | None) -> int | None:
    """`1:02:03`, `62:03` or `3723` as seconds; None for anything else."""
    text = (text or "").strip()
    if clock := _CLOCK.fullmatch(text):
        hours, minutes, seconds = clock.groups()
        return int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    if plain := _SECONDS.fullmatch(text):
        return int(plain.group(1))
    return None


def length_of(text: str | None) -> int | None:
    """A size in bytes; None where it is missing, broken or the usual 0."""
    text = (text or "").strip()
    return int(text) or None if text.isascii() and text.isdigit() and len(text) < 16 else None


def enclosure_of(element: "Element", base: str, address: str | None, *, title: str | None = None) -> RawMedia | None:
    """The file at an address, with what an element's attributes say of it."""
    url = file_url(address, base)
    if url is None:
        return None
    return RawMedia(
        url,
        media_type=(attribute(element, "type") or "").strip().lower() or None,
        length=length_of(attribute(element, "length") or attribute(element, "fileSize")),
        title=attribute(element, "title") or title,
        duration_seconds=seconds_of(attribute(element, "duration")),
        medium=(attribute(element, "medium") or "").lower() or None,
    )


def is_image(media: RawMedia) -> bool:
    """Whether a file is a picture."""
    return media.medium == "image" or (media.media_type or "").startswith("image/")


def is_player(media: RawMedia) -> bool:
    """Whether a file is only a player's program, such as the Flash one that YouTube still names."""
    return media.media_type == "application/x-shockwave-flash"


_OF_A_PICTURE = frozenset({"media:title", "media:description"})
_WEB_PAGES = frozenset({"", "html", "text/html", "xhtml", "application/xhtml+xml"})


def read_item(scope: DocumentScope, element: "Element") -> RawItem:
    """The entry that an `item` or `entry` element holds."""
    item = RawItem(guid=element.get(RDF_ABOUT))
    _read_children(scope.within(element), item, element)
    return item


def _read_children(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    names = scope.names
    for child in element:
        handler = _HANDLERS.get(names[child.tag])
        if handler is not None:
            handler(scope, item, child)


def _title(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    if item.title is None:
        item.title = scope.text(element, "text")


def _spare_title(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    item.spare_title = item.spare_title or scope.text(element, "text")


def _guid(_scope: DocumentScope, item: RawItem, element: "Element") -> None:
    value = words(element)
    if not value:
        return
    claims_link = (attribute(element, "isPermaLink") or "true").strip().lower() == "true"
    # Many guids without the attribute are no addresses: only what looks like one is taken for one.
    item.guid_is_link = claims_link and value.startswith(("http://", "https://", "/"))
    item.guid = value


def _link(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    has_any = bool(element.keys())
    href, rel = (attribute(element, "href"), attribute(element, "rel")) if has_any else (None, None)
    if href is None and rel is None:
        address = scope.address(words(element), element)
        if scope.is_rss and is_of_atom(element.tag):
            item.other_link = item.other_link or address
        else:
            item.link = address or item.link
        return
    rel = (rel or "alternate").strip().lower()
    media_type = (attribute(element, "type") or "").strip().lower()
    if rel == "enclosure":
        add(item.media, enclosure_of(element, scope.base_of(element), href or words(element)))
        return
    address = scope.address(href or words(element), element)
    if rel == "replies" and media_type in _WEB_PAGES:
        item.comments = item.comments or address
    elif rel == "alternate":
        is_page = media_type in _WEB_PAGES
        if is_page and not (scope.is_rss and is_of_atom(element.tag)):
            item.link = address or item.link
        else:
            item.other_link = (is_page and address) or item.other_link or address


def _original_link(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    item.original_link = http_url(words(element), scope.base_of(element)) or item.original_link


def _description(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    if item.summary is None:
        item.summary = scope.text(element, "html" if scope.is_rss else "text")


def _summary(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    if item.summary is None:
        item.summary = scope.text(element, "text")


def _content(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    if item.content is None and not attribute(element, "src"):
        item.content = scope.text(element, "text")


def _encoded(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    if item.content is None:
        item.content = scope.text(element, "html")


def _spare_text(name: str, default: str) -> Handler:
    def handler(scope: DocumentScope, item: RawItem, element: "Element") -> None:
        text = None if name in item.spare_texts else scope.text(element, default, guess=True)
        if text is not None:
            item.spare_texts[name] = text

    return handler


def _source(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    for child in element:
        if scope.names[child.tag] == "author":
            add(item.source_authors, scope.person(child))


def _category(_scope: DocumentScope, item: RawItem, element: "Element") -> None:
    add(item.categories, attribute(element, "label") or attribute(element, "term") or words(element) or None)


def _keywords(_scope: DocumentScope, item: RawItem, element: "Element") -> None:
    for word in words(element).split(",", MAX_LIST)[:MAX_LIST]:
        add(item.categories, word.strip() or None)


def _enclosure(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    add(item.media, enclosure_of(element, scope.base_of(element), attribute(element, "url")))


def _rdf_enclosure(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    address = attribute(element, "resource") or element.get(RDF_RESOURCE) or attribute(element, "url")
    add(item.media, enclosure_of(element, scope.base_of(element), address))


def _media_content(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    """A file; what is said inside of a picture is of the picture, often its alternative text, and not of the entry."""
    inside = {scope.names[child.tag]: child for child in element}
    titles = [words(inside[name]) for name in ("media:title", "media:description") if name in inside]
    title = next(filter(None, titles), None)
    media = enclosure_of(element, scope.base_of(element), attribute(element, "url"), title=title)
    add(item.media, media)
    for child in element:
        name = scope.names[child.tag]
        if name in _HANDLERS and not (name in _OF_A_PICTURE and media is not None and is_image(media)):
            _HANDLERS[name](scope, item, child)


def _media_group(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    """The same in several forms, by the specification: the first is enough."""
    before = len(item.media)
    _read_children(scope, item, element)
    del item.media[before + 1 :]


def _thumbnail(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    add(item.thumbnails, file_url(attribute(element, "url") or words(element), scope.base_of(element)))


def _image(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    item.image = file_url(attribute(element, "href") or attribute(element, "url"), scope.base_of(element)) or item.image


def is_address(said: str) -> bool:
    """Whether it can be one, and not the number of comments, or a word such as `n/a`."""
    if len(said) < 2 or any(sign.isspace() for sign in said):
        return False
    return said.startswith(("/", "?", "#")) or (
        any(sign in said for sign in "/?#") and any(sign in said for sign in ".:=")
    )


def _comments(scope: DocumentScope, item: RawItem, element: "Element") -> None:
    said = words(element)
    if is_address(said):
        item.comments = scope.address(said, element) or item.comments


def _number(_scope: DocumentScope, item: RawItem, element: "Element") -> None:
    item.number = item.number or words(element) or None


_published, _updated, _created = map(last_words, ("published", "updated", "created"))
_HANDLERS: dict[str, Handler] = {
    "title": _title,
    "dc:title": _title,
    "media:title": _spare_title,
    "itunes:title": _spare_title,
    "guid": _guid,
    "id": _guid,
    "link": _link,
    "feedburner:origlink": _original_link,
    "description": _description,
    "summary": _summary,
    "content": _content,
    "content:encoded": _encoded,
    "xhtml:body": _encoded,
    "dc:description": _spare_text("dc:description", "html"),
    "media:description": _spare_text("media:description", "text"),
    "itunes:summary": _spare_text("itunes:summary", "text"),
    "itunes:subtitle": _spare_text("itunes:subtitle", "text"),
    "source": _source,
    "author": add_author,
    "dc:creator": add_creator,
    "dc:author": add_creator,
    "itunes:author": add_creator,
    "pubdate": _published,
    "published": _published,
    "issued": _published,
    "dcterms:issued": _published,
    "updated": _updated,
    "modified": _updated,
    "lastbuilddate": _updated,
    "dc:date": _updated,
    "dcterms:modified": _updated,
    "created": _created,
    "dcterms:created": _created,
    "category": _category,
    "dc:subject": _category,
    "media:category": _category,
    "itunes:keywords": _keywords,
    "media:keywords": _keywords,
    "enclosure": _enclosure,
    "enc:enclosure": _rdf_enclosure,
    "media:content": _media_content,
    "media:group": _media_group,
    "media:thumbnail": _thumbnail,
    "itunes:image": _image,
    "comments": _comments,
    "itunes:episode": _number,
    "podcast:episode": _number,
    "itunes:duration": last_words("duration"),
}

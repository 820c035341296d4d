"""Documents of feeds out: RSS 2.0, Atom and JSON Feed 1.1, of the same entries."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from email.utils import formatdate
from html import escape
from typing import Any
from uuid import UUID, uuid5

import msgspec

from tsuzuki.inbox.entries import Entry
from tsuzuki.inbox.feeds_out.policy import changed_at
from tsuzuki.inbox.feeds_out.types import CONTENT_TYPES, FeedFormat, FeedOut, Topic
from tsuzuki.inbox.sync import SyncEntry
from tsuzuki.model import xml
from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.times import SECOND, Millis, iso
from tsuzuki.model.titles import first_words
from tsuzuki.protocols.content import AppEntry, plain_entry

GENERATOR = "Tsuzuki"
SUMMARY = 500
"""Characters of an article that has no summary of its own."""


class DocumentEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An entry as a document has it; a text that is missing is empty."""

    guid: str
    entry: AppEntry
    summary: str
    html: str
    """Empty where only summaries are wanted."""
    changed_at: Millis
    categories: Sequence[str]
    image_url: str | None


class FeedDocument(msgspec.Struct, frozen=True):
    """A feed with its entries."""

    feed: FeedOut
    topic: Topic
    entries: Sequence[DocumentEntry]

    @property
    def changed_at(self) -> Millis:
        """When the newest of it changed."""
        return max((one.changed_at for one in self.entries), default=self.feed.updated_at)


def write_feed(feed: FeedOut, topic: Topic, entries: Sequence[SyncEntry]) -> bytes:
    """The document of these entries, in the format of the topic."""
    document = FeedDocument(feed, topic, [_document_entry(feed, one, topic.base) for one in entries])
    return _WRITERS[topic.form](document)


def _document_entry(feed: FeedOut, found: SyncEntry, base: str) -> DocumentEntry:
    entry, shown = found.entry, plain_entry(found, base)
    return DocumentEntry(
        # The same at every address, in every format, and in every feed of the shelf.
        guid=f"urn:uuid:{uuid5(UUID(bytes=feed.shelf_public_id), f'entry {entry.id}')}",
        entry=msgspec.structs.replace(shown, title=_title(feed, entry, shown.title)),
        summary=entry.summary or first_words(entry.content or shown.html, SUMMARY),
        html=shown.html if feed.is_full else "",
        changed_at=changed_at(entry),
        categories=entry.categories or (),
        image_url=entry.image_url,
    )


def _title(feed: FeedOut, entry: Entry, title: str) -> str:
    """A chapter says of which series it is, where there are others."""
    return f"{entry.series_title}: {title}" if entry.series_title and feed.of_series is None else title


# -- XML


def _write_rss(document: FeedDocument) -> bytes:
    return xml.document(_rss(document))


def _rss(document: FeedDocument) -> Iterator[str]:
    topic = document.topic
    yield (
        '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/elements/1.1/"'
        ' xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel>'
    )
    yield xml.element("title", document.feed.name)
    yield xml.element("link", f"{topic.base}/")
    yield xml.element("description", document.feed.name)
    yield xml.empty("atom:link", rel="self", href=topic.url, type=_media_type(topic.form))
    yield xml.empty("atom:link", rel="hub", href=topic.hub)
    yield xml.element("generator", GENERATOR)
    yield xml.element("lastBuildDate", _http_date(document.changed_at))
    for one in document.entries:
        yield from _rss_item(one)
    yield "</channel></rss>"


def _rss_item(one: DocumentEntry) -> Iterator[str]:
    entry = one.entry
    yield "<item>"
    yield xml.element("title", entry.title)
    yield xml.element("link", entry.url)
    yield xml.element("guid", one.guid, isPermaLink="false")
    yield xml.element("pubDate", _http_date(entry.published_at))
    yield xml.element("dc:creator", entry.author or entry.feed_title)
    yield from (xml.element("category", category) for category in one.categories)
    yield xml.element("description", escape(one.summary, quote=False))
    if one.html:
        yield xml.element("content:encoded", one.html)
    for file in entry.enclosures:
        yield xml.empty("enclosure", url=file.url, length=file.length or 0, type=_type_of(file))
    yield "</item>"


def _write_atom(document: FeedDocument) -> bytes:
    return xml.document(_atom(document))


def _atom(document: FeedDocument) -> Iterator[str]:
    topic = document.topic
    yield '<feed xmlns="http://www.w3.org/2005/Atom">'
    yield xml.element("id", f"urn:uuid:{UUID(bytes=document.feed.public_id)}")
    yield xml.element("title", document.feed.name)
    yield xml.element("updated", iso(document.changed_at))
    yield xml.empty("link", rel="self", href=topic.url, type=_media_type(topic.form))
    yield xml.empty("link", rel="hub", href=topic.hub)
    yield xml.empty("link", rel="alternate", href=f"{topic.base}/", type="text/html")
    yield xml.element("generator", GENERATOR)
    for one in document.entries:
        yield from _atom_entry(one)
    yield "</feed>"


def _atom_entry(one: DocumentEntry) -> Iterator[str]:
    entry = one.entry
    yield "<entry>"
    yield xml.element("id", one.guid)
    yield xml.element("title", entry.title)
    yield xml.empty("link", rel="alternate", href=entry.url)
    yield xml.element("published", iso(entry.published_at))
    yield xml.element("updated", iso(one.changed_at))
    yield f"<author>{xml.element('name', entry.author or entry.feed_title)}</author>"
    yield from (xml.empty("category", term=category) for category in one.categories)
    if one.summary:
        yield xml.element("summary", one.summary)
    if one.html:
        yield xml.element("content", one.html, type="html")
    for file in entry.enclosures:
        yield xml.empty(
            "link", rel="enclosure", href=file.url, length=file.length, type=file.media_type, title=file.title
        )
    yield "</entry>"


# -- JSON


def _write_json(document: FeedDocument) -> bytes:
    topic = document.topic
    return msgspec.json.encode(
        {
            "version": "https://jsonfeed.org/version/1.1",
            "title": document.feed.name,
            "home_page_url": f"{topic.base}/",
            "feed_url": topic.url,
            "hubs": [{"type": "WebSub", "url": topic.hub}],
            "items": [_json_item(one) for one in document.entries],
        }
    )


def _json_item(one: DocumentEntry) -> dict[str, Any]:
    entry = one.entry
    item = {
        "id": one.guid,
        "url": entry.url,
        "title": entry.title,
        "summary": one.summary,
        "image": one.image_url,
        "date_published": iso(entry.published_at),
        "date_modified": iso(one.changed_at),
        "authors": [{"name": entry.author or entry.feed_title}],
        "tags": list(one.categories),
        "attachments": [_attachment(file) for file in entry.enclosures],
    }
    said = {name: value for name, value in item.items() if value}
    return said | ({"content_html": one.html} if one.html else {"content_text": one.summary})


def _attachment(file: Enclosure) -> dict[str, Any]:
    said = {"title": file.title, "size_in_bytes": file.length, "duration_in_seconds": file.duration_seconds}
    return {"url": file.url, "mime_type": _type_of(file)} | {name: value for name, value in said.items() if value}


_WRITERS: Mapping[FeedFormat, Callable[[FeedDocument], bytes]] = {
    "rss": _write_rss,
    "atom": _write_atom,
    "json": _write_json,
}


def _type_of(file: Enclosure) -> str:
    return file.media_type or "application/octet-stream"


def _media_type(form: FeedFormat) -> str:
    return CONTENT_TYPES[form].partition(";")[0]


def _http_date(at: Millis) -> str:
    return formatdate(at // SECOND, usegmt=True)

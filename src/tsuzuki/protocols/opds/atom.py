"""OPDS 1.2: feeds as Atom, with the links of page streaming.

KOReader reads them with a small lexer of its own: no prefix on the elements of Atom, no attribute that matters on an
element with text.
"""

from collections.abc import Iterator
from typing import Final

from starlette.responses import Response

from tsuzuki.model import xml
from tsuzuki.model.times import Millis, iso
from tsuzuki.protocols.opds.feeds import PAGE, FeedLink, OpdsFeed, Publication
from tsuzuki.protocols.opds.requests import FIRST, SECOND

TYPES: Final = {
    "navigation": "application/atom+xml;profile=opds-catalog;kind=navigation",
    "acquisition": "application/atom+xml;profile=opds-catalog;kind=acquisition",
}
SEARCH_TYPE: Final = "application/opensearchdescription+xml"
_SPEC = "http://opds-spec.org"
_OPEN = (
    '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:dcterms="http://purl.org/dc/terms/"'
    ' xmlns:opds="http://opds-spec.org/2010/catalog" xmlns:pse="http://vaemendis.net/opds-pse/ns"'
    ' xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">'
)


def answer_atom(feed: OpdsFeed) -> Response:
    """The feed; without `Last-Modified`, since what was read in it changes at any time."""
    headers = {"content-type": f"{TYPES[feed.kind]};charset=utf-8", "cache-control": "private, no-cache"}
    return Response(xml.document(_feed(feed)), headers=headers)


def answer_search(base: str) -> Response:
    """How to search."""
    parts = (
        '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">',
        xml.element("ShortName", "Tsuzuki"),
        xml.element("Description", "Series by their titles"),
        xml.element("InputEncoding", "UTF-8"),
        xml.element("OutputEncoding", "UTF-8"),
        xml.empty("Url", type=TYPES["acquisition"], template=f"{base}{FIRST}/series?search={{searchTerms}}"),
        "</OpenSearchDescription>",
    )
    return Response(xml.document(parts), media_type=SEARCH_TYPE)


def _feed(feed: OpdsFeed) -> Iterator[str]:
    yield _OPEN
    yield xml.element("id", feed.id)
    yield xml.element("title", feed.title)
    yield xml.element("updated", _time(feed.updated))
    yield f"<author>{xml.element('name', 'Tsuzuki')}</author>"
    yield from _feed_links(feed)
    for facet in feed.facets if feed.kind == "acquisition" else ():  # others may have none
        extra: dict[str, str | int | None] = {"opds:facetGroup": facet.group}
        if facet.is_active:
            extra["opds:activeFacet"] = "true"
        yield _link(f"{_SPEC}/facet", TYPES[feed.kind], facet.path, title=facet.title, **extra)
    if feed.paging is not None:
        yield xml.element("opensearch:totalResults", str(feed.paging.total))
        yield xml.element("opensearch:itemsPerPage", str(PAGE))
        yield xml.element("opensearch:startIndex", str(feed.paging.start + 1))
    for entry in feed.entries:
        yield "<entry>"
        yield from _place(entry) if isinstance(entry, FeedLink) else _publication(entry)
        yield "</entry>"
    yield "</feed>"


def _feed_links(feed: OpdsFeed) -> Iterator[str]:
    own = TYPES[feed.kind]
    yield _link("self", own, feed.path)
    yield _link("start", TYPES["navigation"], "catalog")
    if feed.up is None:
        yield xml.empty("link", rel="alternate", type="application/opds+json", href=f"{SECOND}/catalog")
    else:
        yield _link("up", TYPES["navigation"], feed.up)
    yield _link("search", SEARCH_TYPE, "search")
    if feed.paging is not None:
        pages = feed.paging.links
        yield from (_link(rel, own, path) for rel, path in pages.items() if path is not None)


def _place(place: FeedLink) -> Iterator[str]:
    yield xml.element("id", place.id)
    yield xml.element("title", place.title)
    yield xml.element("updated", _time(place.updated))
    yield xml.element("content", place.about, type="text")
    yield _link(place.rel, TYPES[place.kind], place.path)
    yield from _covers(place.cover)


def _publication(one: Publication) -> Iterator[str]:
    yield xml.element("id", one.id)
    yield xml.element("title", one.title)
    yield xml.element("updated", _time(one.updated))
    yield from (f"<author>{xml.element('name', name)}</author>" for name in one.authors)
    if one.language:
        yield xml.element("dcterms:language", one.language)
    if one.issued is not None:
        yield xml.element("dcterms:issued", iso(one.issued)[:10])
    yield xml.element("content", one.about, type="text")
    yield from _covers(one.cover)
    yield _link(f"{_SPEC}/acquisition", one.file_type, one.file)
    if one.stream is not None:
        extra: dict[str, str | int | None] = {"pse:count": one.stream.count}
        if one.stream.page is not None:
            extra["pse:lastRead"] = one.stream.page + 1
            extra["pse:lastReadDate"] = None if one.stream.read_at is None else _time(one.stream.read_at)
        path = f"{one.stream.path}/{{pageNumber}}?width={{maxWidth}}"
        yield _link("http://vaemendis.net/opds-pse/stream", "image/jpeg", path, **extra)


def _covers(cover: str | None) -> Iterator[str]:
    if cover is not None:
        yield _link(f"{_SPEC}/image", "image/jpeg", cover)
        yield _link(f"{_SPEC}/image/thumbnail", "image/jpeg", f"{cover}?width=320")


def _link(rel: str, media_type: str, path: str, **others: str | int | None) -> str:
    return xml.empty("link", rel=rel, type=media_type, href=f"{FIRST}/{path}", **others)


def _time(at: Millis) -> str:
    return f"{iso(at)[:19]}Z"

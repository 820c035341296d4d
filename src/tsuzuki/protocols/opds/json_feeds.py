"""OPDS 2.0: the same feeds as JSON, and a chapter as a manifest of its pages."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from tsuzuki.model.times import iso
from tsuzuki.protocols.opds.feeds import PAGE, FeedLink, OpdsFeed, Publication
from tsuzuki.protocols.opds.requests import SECOND

FEED_TYPE = "application/opds+json"
MANIFEST_TYPE = "application/divina+json"
PROGRESSION_TYPE = "application/vnd.readium.progression+json"
PROGRESS_TYPE = "application/opds-progression+json"
CANTOOK = "http://www.cantook.com/api/progression"
_DIVINA = "https://readium.org/webpub-manifest/profiles/divina"
_CONTEXT = "https://readium.org/webpub-manifest/context.jsonld"
_SPEC = "http://opds-spec.org"

Json = dict[str, Any]


def answer_json(body: Mapping[str, Any], media_type: str) -> Response:
    """A document; what was read in it changes at any time."""
    headers = {"content-type": media_type, "cache-control": "private, no-cache"}
    return Response(msgspec.json.encode(body), headers=headers)


def answer_feed(feed: OpdsFeed, base: str) -> Response:
    """The feed."""
    return answer_json(_FeedWriter(base).feed(feed), FEED_TYPE)


def answer_manifest(one: Publication, base: str) -> Response:
    """A chapter with its pages in order."""
    return answer_json(_FeedWriter(base).manifest(one), MANIFEST_TYPE)


class _FeedWriter:
    """Writes absolute addresses."""

    def __init__(self, base: str) -> None:
        self._below = f"{base}{SECOND}/"

    def feed(self, feed: OpdsFeed) -> Json:
        metadata: Json = {"title": feed.title, "modified": iso(feed.updated)}
        links = [self._link("self", FEED_TYPE, feed.path), self._link("start", FEED_TYPE, "catalog")]
        links.append(self._link("search", FEED_TYPE, "search{?query}") | {"templated": True})
        if feed.up is not None:
            links.append(self._link("up", FEED_TYPE, feed.up))
        if feed.paging is not None:
            pages = feed.paging.links
            links += [self._link(rel, FEED_TYPE, path) for rel, path in pages.items() if path is not None]
            metadata |= {"numberOfItems": feed.paging.total, "itemsPerPage": PAGE}
            metadata["currentPage"] = -(-feed.paging.start // PAGE) + 1
        navigation = [self._place(one) for one in feed.entries if isinstance(one, FeedLink)]
        publications = [self._publication(one) for one in feed.entries if isinstance(one, Publication)]
        shown: Json = {"navigation": navigation} if navigation else {"publications": publications}
        return {"metadata": metadata, "links": links, **shown, **self._facets(feed)}

    def manifest(self, one: Publication) -> Json:
        found = self._publication(one)
        pages = 0 if one.stream is None else one.stream.count
        order = [self._linked(f"{one.stream.path}/{page}", "image/jpeg") for page in range(pages) if one.stream]
        metadata = found["metadata"] | {"conformsTo": _DIVINA}
        return {"@context": _CONTEXT, **found, "metadata": metadata, "readingOrder": order}

    def _facets(self, feed: OpdsFeed) -> Json:
        groups: dict[str, list[Json]] = {}
        for facet in feed.facets:
            link = self._linked(facet.path, FEED_TYPE) | {"title": facet.title}
            groups.setdefault(facet.group, []).append(link | ({"rel": "self"} if facet.is_active else {}))
        listed = [{"metadata": {"title": title}, "links": links} for title, links in groups.items()]
        return {"facets": listed} if listed else {}

    def _place(self, place: FeedLink) -> Json:
        link = self._link(place.rel, FEED_TYPE, place.path) | {"title": place.title}
        return link if place.count is None else link | {"properties": {"numberOfItems": place.count}}

    def _publication(self, one: Publication) -> Json:
        links = [self._link(f"{_SPEC}/acquisition", one.file_type, one.file)]
        if one.chapter is not None:
            links.insert(0, self._link("self", MANIFEST_TYPE, f"{one.chapter}/manifest"))
            links.append(self._link(CANTOOK, PROGRESSION_TYPE, f"{one.chapter}/progression"))
            links.append(self._link(f"{_SPEC}/progression", PROGRESS_TYPE, f"{one.chapter}/progress"))
        found: Json = {"metadata": self._metadata(one), "links": links}
        if one.cover is not None:
            found["images"] = [self._linked(one.cover, "image/jpeg")]
        return found

    def _metadata(self, one: Publication) -> Json:
        said = {
            "@type": "http://schema.org/Article" if one.chapter is None else "http://schema.org/Chapter",
            "title": one.title,
            "identifier": one.id,
            "language": one.language,
            "modified": iso(one.updated),
            "published": None if one.issued is None else iso(one.issued)[:10],
            "author": list(one.authors),
            "artist": one.artist,
            "description": one.about,
            "numberOfPages": None if one.stream is None else one.stream.count,
            "readingProgression": "rtl" if one.is_right_to_left else None,
        }
        metadata: Json = {name: value for name, value in said.items() if value}
        if one.series is not None:
            links = [self._linked(one.series.path, FEED_TYPE)]
            series: Json = {"name": one.series.title or "Untitled", "links": links}
            if one.series.position is not None:
                series["position"] = one.series.position
            metadata["belongsTo"] = {"series": [series]}
        return metadata

    def _link(self, rel: str, media_type: str, path: str) -> Json:
        return {"rel": rel, **self._linked(path, media_type)}

    def _linked(self, path: str, media_type: str) -> Json:
        return {"href": self._below + path, "type": media_type}

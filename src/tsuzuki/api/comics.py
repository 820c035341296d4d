"""Comics and where each can be read, for the operator. Names of fields as the crawler's contract has them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tsuzuki.accounts.caller import Caller
from tsuzuki.api.endpoints import Access, Body, Id, declaring
from tsuzuki.api.ids import (
    Address,
    ComicPath,
    address_problems,
    id_in_path,
    number_id,
    number_in_body,
    number_in_path,
)
from tsuzuki.api.paging import PageQuery
from tsuzuki.api.views import ListAnswer, PageMeta, Time, view_of
from tsuzuki.model.errors import Conflict, NotFound, Problem
from tsuzuki.sources.comics import NO_MAPPING, Comics
from tsuzuki.sources.policy import BAD_SOURCE_URL
from tsuzuki.sources.types import ComicRow, MappingChange, NewMapping
from tsuzuki.sources.types import Mapping as ComicSource

Title = Annotated[str, Meta(min_length=1, max_length=500)]
ExternalId = Annotated[str, Meta(min_length=1, max_length=500)]
MappingPath = Annotated[int, number_id(NO_MAPPING)]


class ComicQuery(PageQuery, frozen=True, kw_only=True):
    """Which comics, by a part of the title, and which page of them."""

    q: Annotated[str, Meta(max_length=200)] | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class ComicView(msgspec.Struct, frozen=True, kw_only=True):
    """A comic; `sources` and `chapters` say how many it has."""

    id: str
    title: str
    author: str | None
    coverurl: str | None
    latestchapter: str | None
    sources: int
    chapters: int
    createdat: Time
    updatedat: Time


class MappedSource(msgspec.Struct, frozen=True):
    """The source of a mapping."""

    id: int
    name: str
    slug: str
    baseurl: str


class ComicSourceView(msgspec.Struct, frozen=True, kw_only=True):
    """A comic as one source has it."""

    id: int
    comicid: str
    sourceid: int
    source: MappedSource
    sourceid_ext: str
    sourceurl: str
    isactive: bool
    lastcrawlat: Time | None
    createdat: Time
    updatedat: Time


_comic_view = view_of(ComicView, ComicRow, latestchapter="latest_number")
_mapping_view = view_of(
    ComicSourceView,
    ComicSource,
    source=lambda one: MappedSource(one.source_id, one.source_name, one.source_slug, one.source_base_url),
    sourceid_ext="source_key",
    sourceurl="url",
    lastcrawlat="last_crawled_at",
)


class ComicBody(Body, frozen=True, kw_only=True):
    """A comic to create. If its author is given, sources that also have it are mapped automatically."""

    title: Title
    author: Title | None = None


class _MappingForm(Body, frozen=True, kw_only=True):
    @classmethod
    def beyond_types(cls, raw: Mapping[str, Any]) -> Iterator[Problem]:
        return address_problems(raw, "sourceurl", BAD_SOURCE_URL)


class ComicSourceBody(_MappingForm, frozen=True, kw_only=True):
    """The source to map the comic to."""

    sourceid: Id
    sourceid_ext: ExternalId
    sourceurl: Address
    isactive: bool = True


class ComicSourceChangeBody(_MappingForm, frozen=True, kw_only=True):
    """What to change of a mapping."""

    sourceid_ext: ExternalId | UnsetType = UNSET
    sourceurl: Address | UnsetType = UNSET
    isactive: bool | UnsetType = UNSET


class ComicSourceList(msgspec.Struct, frozen=True):
    """How many mappings there are."""

    total: int


async def list_comics(query: ComicQuery, comics: Comics) -> ListAnswer[ComicView, PageMeta]:
    """Sorted by title."""
    rows, total = await comics.list(query.q, query.part)
    return ListAnswer([_comic_view(row) for row in rows], query.meta(total))


async def create_comic(caller: Caller, body: ComicBody, comics: Comics) -> ComicView:
    """Creates a comic, so that it can be mapped to sources."""
    return _comic_view(await comics.add(caller.actor, body.title, body.author))


async def list_comic_sources(comic_id: ComicPath, comics: Comics) -> ListAnswer[ComicSourceView, ComicSourceList]:
    """Oldest mapping first."""
    rows = [_mapping_view(row) for row in await comics.mappings(comic_id)]
    return ListAnswer(rows, ComicSourceList(len(rows)))


async def link_comic_source(
    comic_id: ComicPath, caller: Caller, body: ComicSourceBody, comics: Comics
) -> ComicSourceView:
    """Maps a comic to a source, which is polled for it from now on."""
    new = NewMapping(source_id=body.sourceid, source_key=body.sourceid_ext, url=body.sourceurl, is_active=body.isactive)
    return _mapping_view(await comics.link(caller.actor, comic_id, new))


async def change_comic_source(
    *, comic_id: ComicPath, mapping_id: MappingPath, caller: Caller, body: ComicSourceChangeBody, comics: Comics
) -> ComicSourceView:
    """Changes a mapping; `mapping_id` is the id of the mapping."""
    change = MappingChange(source_key=body.sourceid_ext, url=body.sourceurl, is_active=body.isactive)
    return _mapping_view(await comics.change(caller.actor, comic_id, mapping_id, change))


async def unlink_comic_source(comic_id: ComicPath, mapping_id: MappingPath, caller: Caller, comics: Comics) -> None:
    """Removes a mapping; its chapters and the readers' data about them stay."""
    await comics.unlink(caller.actor, comic_id, mapping_id)


async def new_mapping_problems(raw: Mapping[str, Any], comics: Comics) -> Iterable[Problem]:
    """What its source says of the address of a mapping that cannot be made as it was sent."""
    url, source_id = raw.get("sourceurl"), number_in_body(raw, "sourceid")
    if not isinstance(url, str) or source_id is None:
        return ()
    return await comics.url_problems(url, source_id=source_id)


async def mapping_problems(comic_id: str, mapping_id: str, raw: Mapping[str, Any], comics: Comics) -> Iterable[Problem]:
    """The same of a change."""
    url = raw.get("sourceurl")
    if not isinstance(url, str):
        return ()
    number = number_in_path(mapping_id, NO_MAPPING)
    return await comics.changed_url_problems(url, id_in_path(comic_id, "comic"), number)


_admin = declaring("comics", Access.ADMIN)
_SOURCES = "/admin/comics/{comic_id}/sources"
_ONE = "/admin/comics/{comic_id}/sources/{mapping_id}"

ENDPOINTS = (
    _admin("GET", "/admin/comics", list_comics, "List comics"),
    _admin("POST", "/admin/comics", create_comic, "Create a comic", status=201),
    _admin("GET", _SOURCES, list_comic_sources, "List the sources of a comic", errors=(NotFound,)),
    _admin(
        "POST",
        _SOURCES,
        link_comic_source,
        "Map a comic to a source",
        status=201,
        errors=(NotFound, Conflict),
        also=new_mapping_problems,
    ),
    _admin("PATCH", _ONE, change_comic_source, "Change a mapping", errors=(NotFound, Conflict), also=mapping_problems),
    _admin("DELETE", _ONE, unlink_comic_source, "Remove a mapping", errors=(NotFound,)),
)

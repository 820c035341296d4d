"""Public ids in paths and bodies."""

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, overload
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from tsuzuki.api.decoder import invalid
from tsuzuki.api.endpoints import LARGEST
from tsuzuki.catalogue.chapters import NO_CHAPTER
from tsuzuki.catalogue.details import NO_MANGA
from tsuzuki.model.errors import NotFound, Problem
from tsuzuki.model.ids import PublicId, ReleaseId, SeriesSourceId, read_id, read_number
from tsuzuki.sources.sites import NO_SOURCE
from tsuzuki.transfer.synced import NO_VERSION

IdText = Annotated[str, Meta(max_length=64, extra_json_schema={"format": "uuid"})]
"""An id as clients see it."""

Number = Annotated[str, Meta(max_length=64)]
"""An id that is a number to us: opaque to clients, and a text that is none names nothing."""


def id_in_path(text: str, what: str) -> PublicId:
    """The id; NotFound for a text that cannot be one: nothing is there."""
    public_id = read_id(text)
    if public_id is None:
        raise NotFound(f"There is no such {what}.")
    return public_id


class PathId(msgspec.Struct, frozen=True):
    """Marks a parameter of a path that is an id, which the handler is given; NotFound for what cannot be one."""

    wire: Any
    """The type of the text, as the document describes it."""
    read: Callable[[str], Any]


def public_id(what: str) -> PathId:
    """The type of a public id in a path; text that cannot be one is a NotFound that names `what`."""
    return PathId(IdText, lambda text: id_in_path(text, what))


def number_id(missing: str) -> PathId:
    """An id that is a number to us; `missing` is what is said of one that is none."""
    return PathId(Number, lambda text: number_in_path(text, missing))


BookmarkPath = Annotated[PublicId, public_id("bookmark")]
ChannelPath = Annotated[PublicId, public_id("channel")]
ComicPath = Annotated[PublicId, public_id("comic")]
FeedOutPath = Annotated[PublicId, public_id("feed")]
FeedPath = Annotated[PublicId, public_id("feed")]
ImportPath = Annotated[PublicId, public_id("import")]
FollowPath = Annotated[PublicId, public_id("follow")]
GroupPath = Annotated[PublicId, public_id("group")]
InvitationPath = Annotated[PublicId, public_id("invitation")]
InvoicePath = Annotated[PublicId, public_id("invoice")]
SeriesPath = Annotated[PublicId, public_id("series")]
SessionPath = Annotated[PublicId, public_id("session")]
ShelfPath = Annotated[PublicId, public_id("shelf")]
TenantPath = Annotated[PublicId, public_id("tenant")]
TokenPath = Annotated[PublicId, public_id("token")]
UserPath = Annotated[PublicId, public_id("user")]
TagPath = Annotated[PublicId, public_id("tag")]
SourcePath = Annotated[int, number_id(NO_SOURCE)]
MangaPath = Annotated[SeriesSourceId, number_id(NO_MANGA)]
SyncedPath = Annotated[int, number_id(NO_VERSION)]
ReleasePath = Annotated[ReleaseId, number_id(NO_CHAPTER)]


@overload
def id_in_field(text: str, field: str) -> PublicId: ...


@overload
def id_in_field(text: str | None, field: str) -> PublicId | None: ...


def id_in_field(text: str | None, field: str) -> PublicId | None:
    """The id in a field, if there is one; Invalid for a text that cannot be one."""
    public_id = None if text is None else read_id(text)
    if text is not None and public_id is None:
        raise invalid([Problem(field, f"{field} must be an id.")])
    return public_id


def number_in_body(raw: Mapping[str, Any], field: str) -> int | None:
    """The id that a body which may be wrong has there, if it can be one."""
    number = raw.get(field)
    return number if isinstance(number, int) and 0 < number <= LARGEST else None


def number_in_path(text: str, what: str) -> int:
    """The number that a path names; NotFound, in these words, for a text that cannot be one."""
    number = read_number(text)
    if number is None:
        raise NotFound(what)
    return number


Address = Annotated[str, Meta(max_length=2000)]


def address_problems(raw: Mapping[str, Any], field: str, message: str) -> Iterator[Problem]:
    """What no source could have; whether http is open on this loopback, or `local:` for this one, a service knows."""
    url = raw.get(field)
    if isinstance(url, str) and not _may_be_address(url):
        yield Problem(field, message)


def _may_be_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    if parts.scheme == "local":
        return True
    return parts.scheme in {"https", "http"} and bool(host) and "@" not in parts.netloc

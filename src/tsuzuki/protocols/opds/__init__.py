"""OPDS: a shelf's series and articles as catalogues for e-readers and comic readers, in versions 1.2 and 2.0.

Both say the same (`catalogue.py`, `chapters.py`, `articles.py`) in another form (`atom.py`, `json_feeds.py`).
"""

from collections.abc import Awaitable, Callable, Sequence

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.protocols.access import ProtocolDeps
from tsuzuki.protocols.opds.articles import answer_article, answer_day, days, saved_articles
from tsuzuki.protocols.opds.atom import answer_atom, answer_search
from tsuzuki.protocols.opds.catalogue import groups, root, series_list
from tsuzuki.protocols.opds.chapters import chapter, continued, inbox, opened_chapter, publication, series
from tsuzuki.protocols.opds.feeds import OpdsFeed
from tsuzuki.protocols.opds.json_feeds import answer_feed, answer_json, answer_manifest
from tsuzuki.protocols.opds.pages import answer_chapter_cover, answer_file, answer_page, answer_series_cover
from tsuzuki.protocols.opds.progression import show_progress, show_progression, store_progress, store_progression
from tsuzuki.protocols.opds.requests import (
    AUTH,
    AUTH_TYPE,
    FIRST,
    OPDS,
    SECOND,
    OpdsRequest,
    OpdsResource,
    auth_document,
    resource,
)

__all__ = ["OPDS", "resources"]

Build = Callable[[OpdsRequest], Awaitable[OpdsFeed]]

FEEDS: dict[str, Build] = {
    "catalog": root,
    "continue": continued,
    "inbox": inbox,
    "series": series_list,
    "series/{series_id}": series,
    "groups": groups,
    "chapters/{chapter_id}": chapter,
    "articles/saved": saved_articles,
    "articles/days": days,
}
FILES = {
    "releases/{release_id}/pages/{position}": answer_page,
    "releases/{release_id}/file/{name}": answer_file,
    "series/{series_id}/cover": answer_series_cover,
    "chapters/{chapter_id}/cover": answer_chapter_cover,
    "articles/{item_id}/file/{name}": answer_article,
    "articles/days/{day}/file/{name}": answer_day,
}
"""The same in both versions."""


def resources(deps: ProtocolDeps) -> Sequence[OpdsResource]:
    """Both versions."""
    first = {path: _atom(build) for path, build in FEEDS.items()} | {"search": _search} | FILES
    second = {path: _json(build) for path, build in FEEDS.items()} | {"search": _json(series_list)} | FILES
    second["chapters/{chapter_id}/manifest"] = _manifest
    chapters = f"{SECOND}/chapters/{{chapter_id}}"
    return [
        *(resource(deps, f"{FIRST}/{path}", {"GET": answer}) for path, answer in first.items()),
        *(resource(deps, path, {"GET": first["catalog"]}) for path in (FIRST, f"{FIRST}/")),  # what people type
        *(resource(deps, f"{SECOND}/{path}", {"GET": answer}) for path, answer in second.items()),
        *(resource(deps, path, {"GET": second["catalog"]}) for path in (SECOND, f"{SECOND}/")),
        resource(deps, f"{chapters}/progression", {"GET": show_progression, "PUT": store_progression}),
        resource(deps, f"{chapters}/progress", {"GET": show_progress, "PUT": store_progress}),
        _auth(deps),
    ]


def _atom(build: Build) -> Callable[[OpdsRequest], Awaitable[Response]]:
    async def answer(asked: OpdsRequest) -> Response:
        return answer_atom(await build(asked))

    return answer


def _json(build: Build) -> Callable[[OpdsRequest], Awaitable[Response]]:
    async def answer(asked: OpdsRequest) -> Response:
        return answer_feed(await build(asked), asked.base)

    return answer


async def _search(asked: OpdsRequest) -> Response:
    return answer_search(asked.base)


async def _manifest(asked: OpdsRequest) -> Response:
    return answer_manifest(publication(asked, *await opened_chapter(asked)), asked.base)


def _auth(deps: ProtocolDeps) -> OpdsResource:
    """How to sign in, for those who have not."""

    async def show(request: Request) -> Response:
        return answer_json(auth_document(deps.base_of(request)), AUTH_TYPE)

    return OpdsResource(deps, AUTH, {"GET": show}, is_public=True)

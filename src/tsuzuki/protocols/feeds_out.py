"""Feeds out at their secret addresses, and the hub beside them. Neither knows cookies nor passwords."""

from collections.abc import Sequence
from email.utils import formatdate, parsedate_to_datetime

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from tsuzuki.http.auth import address_of
from tsuzuki.http.errors import failure_of
from tsuzuki.http.middleware import request_id_of
from tsuzuki.inbox.feeds_out.policy import MOST_ENTRIES, USUAL_ENTRIES, answerable, is_unchanged
from tsuzuki.inbox.feeds_out.service import MISSING
from tsuzuki.inbox.feeds_out.types import CONTENT_TYPES, FOLDER, HUB, Topic, read_name
from tsuzuki.model.errors import NotFound, TsuzukiError
from tsuzuki.model.times import SECOND, Millis, from_datetime
from tsuzuki.protocols.access import AppResource, ProtocolDeps
from tsuzuki.protocols.feed_documents import write_feed
from tsuzuki.protocols.params import read_params, whole_number

_KEPT_S = 60
"""Seconds for which a reader may keep a feed without asking again."""


def resources(deps: ProtocolDeps) -> Sequence[AppResource]:
    """The feeds, and the hub."""

    async def show(request: Request) -> Response:
        return await _show(deps, request)

    async def subscribe(request: Request) -> Response:
        return await _subscribe(deps, request)

    return [
        AppResource(f"{FOLDER}{{secret}}", {"GET": show}, is_public=True),
        AppResource(HUB, {"POST": subscribe}, is_public=True),
    ]


# -- feeds


async def _show(deps: ProtocolDeps, request: Request) -> Response:
    """A feed; nothing of it where the reader has it already, which costs one list without texts."""
    topic, most = _asked(deps, request)
    feeds = deps.services.feeds_out
    feed = await feeds.find(topic.secret)
    rows = await feeds.entries(feed, most)
    text_at = await feeds.newest_text(feed, rows)
    facts = (topic.url, feed.name, feed.is_full, text_at)
    since = max(feed.updated_at, text_at)
    answer = answerable(rows, *facts, since=since, by_marks=feed.is_by_marks, now=deps.clock())
    await feeds.note_fetched(feed)
    headers = _headers(topic, answer.etag, answer.modified)
    if is_unchanged(answer, request.headers.get("if-none-match"), _date_of(request)):
        return Response(status_code=304, headers=headers)
    body = write_feed(feed, topic, await feeds.contents(feed, [row.id for row in rows]))
    return Response(body, headers=headers | {"content-type": CONTENT_TYPES[topic.form]})


def _asked(deps: ProtocolDeps, request: Request) -> tuple[Topic, int]:
    found = read_name(request.path_params["secret"])
    if found is None:
        raise NotFound(MISSING)
    wanted = whole_number(request.query_params.get("n", ""))
    most = USUAL_ENTRIES if wanted is None else min(max(wanted, 1), MOST_ENTRIES)
    return Topic(deps.base_of(request), *found), most


def _headers(topic: Topic, etag: str, modified: Millis | None) -> dict[str, str]:
    headers = {"etag": etag, "cache-control": f"private, max-age={_KEPT_S}", "link": topic.link}
    return headers if modified is None else headers | {"last-modified": formatdate(modified // SECOND, usegmt=True)}


def _date_of(request: Request) -> Millis | None:
    """The date that the reader has the feed of; None for none, and for what is no date."""
    try:
        return from_datetime(parsedate_to_datetime(request.headers.get("if-modified-since", "")))
    except (IndexError, OverflowError, TypeError, ValueError):
        return None


# -- the hub


async def _subscribe(deps: ProtocolDeps, request: Request) -> Response:
    """202 for what will be confirmed with the subscriber; else why not, as a sentence."""
    try:
        params = await read_params(request)
        said = {name: params.one(name) for name in _PARAMETERS}
        await deps.services.hub.ask(said, deps.base_of(request), address_of(request))
    except TsuzukiError as error:
        failure = failure_of(error, request_id_of(request.scope))
        return PlainTextResponse(failure.body.error, failure.status, failure.headers)
    return Response(status_code=202)


_PARAMETERS = ("hub.mode", "hub.topic", "hub.callback", "hub.secret", "hub.lease_seconds")

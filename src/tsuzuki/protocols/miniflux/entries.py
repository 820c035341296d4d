"""Entries: lists with every filter and order, marks, whole texts, and the files that belong to them."""

from collections.abc import AsyncIterator, Sequence
from typing import Literal

import msgspec
from starlette.responses import Response, StreamingResponse

from tsuzuki.inbox.entries import FAR
from tsuzuki.inbox.sync import LARGEST, LATE, Order, SyncEntry, SyncFilter
from tsuzuki.model.errors import Invalid, NotFound
from tsuzuki.model.ids import EntryId
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.protocols.access import ProtocolDeps
from tsuzuki.protocols.content import AppEntry
from tsuzuki.protocols.miniflux.requests import MinifluxRequest, MinifluxResource, answer_json, done, resource
from tsuzuki.protocols.miniflux.views import MOST_ENCLOSURES, Json, Viewer, reading_time, viewer
from tsuzuki.protocols.params import Params, whole_number

USUAL = 100
MOST = 1_000
"""Entries of one answer."""
MOST_IDS = 10_000
MOST_TAGS = 20
LONGEST_PLAY = 10_000_000
"""Seconds: four months."""
ORDERS: dict[str, Order] = {
    "id": "id",
    "status": "status",
    "changed_at": "changed",
    "published_at": "published",
    "created_at": "created",
    "category_title": "category_title",
    "category_id": "category_id",
    "title": "title",
    "author": "author",
}
_STARRED = {"1": True, "true": True, "0": False, "false": False}


class EntriesBody(msgspec.Struct, frozen=True):
    """Which entries become what."""

    entry_ids: list[int] = []
    status: Literal["read", "unread", ""] | None = None
    """The library for Go writes an empty one for none."""
    starred: bool | None = None


class TextsBody(msgspec.Struct, frozen=True):
    """What an entry is to say."""

    title: str | None = None
    content: str | None = None


class MediaBody(msgspec.Struct, frozen=True):
    """How far a file was played, in seconds."""

    media_progression: int


def resources(deps: ProtocolDeps) -> Sequence[MinifluxResource]:
    """What is about entries."""
    bookmark = {"PUT": _toggle}
    return [
        resource(deps, "/entries", {"GET": list_entries, "PUT": _mark}),
        resource(deps, "/feeds/{feed_id}/entries", {"GET": list_entries}),
        resource(deps, "/categories/{category_id}/entries", {"GET": list_entries}),
        resource(deps, "/entries/ids", {"GET": _ids}),
        resource(deps, "/entries/{entry_id}", {"GET": _show, "PUT": _edit}),
        resource(deps, "/feeds/{feed_id}/entries/{entry_id}", {"GET": _show}),
        resource(deps, "/categories/{category_id}/entries/{entry_id}", {"GET": _show}),
        resource(deps, "/entries/{entry_id}/bookmark", bookmark),
        resource(deps, "/entries/{entry_id}/star", bookmark),
        resource(deps, "/entries/{entry_id}/save", {"POST": _save_elsewhere}),
        resource(deps, "/entries/{entry_id}/fetch-content", {"GET": _fetch_content}),
        resource(deps, "/enclosures/{enclosure_id}", {"GET": _enclosure, "PUT": _play}),
        resource(deps, "/feeds/{feed_id}/mark-all-as-read", {"PUT": _mark_feed}),
        resource(deps, "/categories/{category_id}/mark-all-as-read", {"PUT": _mark_group}),
        resource(deps, "/users/{user_id}/mark-all-as-read", {"PUT": _mark_all}),
        resource(deps, "/flush-history", {"PUT": _flush, "DELETE": _flush}),
    ]


# -- lists


async def list_entries(asked: MinifluxRequest) -> Response:
    """A part of the entries that match, and how many do."""
    most, skip = _slice(asked.params, usual=USUAL, most=MOST)
    by, descending = _order(asked.params)
    wanted = await _filter(asked)
    sync = asked.services.sync
    total = await sync.count(asked.shelf_id, wanted)
    found = await sync.refs(asked.shelf_id, wanted, most=most, skip=skip, by=by, descending=descending)
    view = await viewer(asked)
    needed = {ref.feed for ref in found}
    feeds = {feed.number: view.feed(feed) for feed in await asked.subscriptions.all() if feed.number in needed}
    body = _written(asked, [ref.id for ref in found], total, view=view, feeds=feeds)
    return StreamingResponse(body, media_type="application/json")


async def _written(
    asked: MinifluxRequest, ids: Sequence[EntryId], total: int, *, view: Viewer, feeds: dict[int, Json]
) -> AsyncIterator[bytes]:
    """In portions: a thousand texts may be a lot, and a client that pages takes a short answer for the last."""
    yield b'{"total":%d,"entries":[' % total
    comma = b""
    async for part in asked.services.sync.portions(asked.shelf_id, ids):
        found = await asked.services.sync.entries(asked.shelf_id, part, asked.kind)
        portion = zip(await asked.shown(found), found, strict=True)
        entries = [view.entry(shown, one.entry, feeds[shown.feed]) for shown, one in portion if shown.feed in feeds]
        if entries:
            yield comma + msgspec.json.encode(entries)[1:-1]
            comma = b","
    yield b"]}"


async def _ids(asked: MinifluxRequest) -> Response:
    """Their numbers alone, the newest first."""
    most, skip = _slice(asked.params, usual=MOST_IDS, most=MOST_IDS)
    wanted = await _filter(asked)
    sync = asked.services.sync
    total = await sync.count(asked.shelf_id, wanted)
    found = await sync.refs(asked.shelf_id, wanted, most=most, skip=skip, descending=True)
    return answer_json({"total": total, "entry_ids": [ref.id for ref in found]})


def _slice(params: Params, *, usual: int, most: int) -> tuple[int, int]:
    limit = _number(params, "limit", usual)
    skip = _number(params, "offset", 0)
    if not 0 <= limit <= most:
        raise Invalid(f"limit must be between 0 and {most:,}.")
    if not 0 <= skip <= LARGEST:
        raise Invalid("offset must not be negative.")
    return limit or most, skip


def _order(params: Params) -> tuple[Order, bool]:
    order, direction = params.one("order") or "published_at", params.one("direction") or "asc"
    if order not in ORDERS:
        raise Invalid(f"order must be one of {', '.join(ORDERS)}.")
    if direction not in {"asc", "desc"}:
        raise Invalid("direction must be asc or desc.")
    return ORDERS[order], direction == "desc"


async def _filter(asked: MinifluxRequest) -> SyncFilter:
    """Every filter of the address. `before` and `after` are about arrival: what came later would never be seen."""
    params = asked.params
    above, below = (_number(params, name, 0) for name in ("after_entry_id", "before_entry_id"))
    changed_after = _number(params, "changed_after", 0)
    return SyncFilter(
        kind=asked.kind,
        unread=_unread(params),
        saved=_starred(params),
        feed=await _feed(asked),
        group=await _group(asked),
        above=min(max(0, above), LARGEST - 1),
        below=min(below, LARGEST) if below > 0 else LARGEST,
        arrived_from=Millis(_after(params, "after", Millis(LATE)) - LATE),
        arrived_until=_before(params, "before"),
        published_from=_after(params, "published_after", Millis(-FAR)),
        published_until=_before(params, "published_before"),
        changed_from=Millis(_moment(changed_after) - LATE) if changed_after > 0 else None,
        changed_until=_before(params, "changed_before"),
        search=params.one("search").strip() or None,
        tags=_tags(params),
    )


def _tags(params: Params) -> tuple[str, ...]:
    tags = tuple(dict.fromkeys(tag for tag in params.all("tags") if tag))
    if len(tags) > MOST_TAGS:
        raise Invalid(f"At most {MOST_TAGS} tags can be asked for at once.")
    return tags


def _unread(params: Params) -> bool | None:
    states = {state for state in params.all("status") if state}
    if not states <= {"read", "unread"}:
        raise Invalid("status must be read or unread.")
    return None if len(states) != 1 else "unread" in states


def _starred(params: Params) -> bool | None:
    said = params.one("starred").lower()
    if said and said not in _STARRED:
        raise Invalid("starred must be true or false.")
    return _STARRED.get(said)


async def _feed(asked: MinifluxRequest) -> int | None:
    """In the path, or in the address; NotFound for another shelf's."""
    if "feed_id" in asked.request.path_params:
        return (await asked.feed()).number
    number = _number(asked.params, "feed_id", 0)
    return (await asked.subscriptions.get(number)).number if number > 0 else None


async def _group(asked: MinifluxRequest) -> int | None:
    if "category_id" in asked.request.path_params:
        return (await asked.group()).id
    number = _number(asked.params, "category_id", 0)
    if number <= 0:
        return None
    group = await asked.group_of(number)
    if group is None:
        raise NotFound("There is no such category.")
    return group.id


def _number(params: Params, name: str, usual: int) -> int:
    said = params.one(name).strip()
    number = whole_number(said) if said else usual
    if number is None:
        raise Invalid(f"{name} must be a whole number.")
    return number


def _after(params: Params, name: str, usual: Millis) -> Millis:
    """The first moment after this second; Unix times are in seconds, and exclusive."""
    seconds = _number(params, name, 0)
    return Millis(_moment(seconds) + 1) if seconds > 0 else usual


def _before(params: Params, name: str) -> Millis:
    seconds = _number(params, name, 0)
    return Millis(_moment(seconds) - 1) if seconds > 0 else FAR


def _moment(seconds: int) -> Millis:
    return Millis(min(seconds * SECOND, FAR))


# -- one


async def _found(asked: MinifluxRequest, number: int) -> SyncEntry:
    """The entry of this number; NotFound for another shelf's."""
    found = await asked.services.sync.entries(asked.shelf_id, [number], asked.kind)
    if not found:
        raise NotFound("There is no such entry.")
    return found[0]


async def _show(asked: MinifluxRequest) -> Response:
    return answer_json(await _view(asked))


async def _view(asked: MinifluxRequest) -> Json:
    """The entry in the path; NotFound for another shelf's, or another feed's or category's than the path says."""
    found = await _found(asked, asked.number("entry_id"))
    ways = {"feed_id": found.details.feed, "category_id": found.details.group_id}
    for name in asked.request.path_params.keys() & ways:
        if asked.number(name) != ways[name]:
            raise NotFound("There is no such entry here.")
    view, [shown] = await viewer(asked), await asked.shown([found])
    feed = await asked.subscriptions.get(found.details.feed)
    return view.entry(shown, found.entry, view.feed(feed))


async def _edit(asked: MinifluxRequest) -> Response:
    """The entry where nothing of it is to be changed: clients send back what they were shown, or what `fetch-content`
    told them, to have it the next time.
    """
    asked.user.must_write()
    shown, body = await _view(asked), await asked.body(TextsBody)
    if body.content not in (None, shown["content"]):
        whole = await _known_text(asked)
        if whole is not None and body.content == whole.html:
            shown |= {"content": whole.html, "reading_time": reading_time(whole.html)}
    if body.title not in (None, shown["title"]) or body.content not in (None, shown["content"]):
        raise Invalid("Articles are kept as they were published; they cannot be edited.")
    return answer_json(shown, 201)


async def _known_text(asked: MinifluxRequest) -> AppEntry | None:
    """The entry in the path with the text of its page; None where nobody has fetched that."""
    found = await _found(asked, asked.number("entry_id"))
    text = None if found.entry.item_id is None else await asked.services.articles.known_text(found.entry.item_id)
    return (await asked.shown([found.with_text(text)]))[0] if text else None


async def _fetch_content(asked: MinifluxRequest) -> Response:
    """The whole text of its page. It is kept for everybody, so `update_content` changes nothing."""
    found = await _found(asked, asked.number("entry_id"))
    if found.entry.item_id is not None:
        whole = await asked.services.articles.full_text(found.entry.item_id, found.entry.link)
        if whole.error is not None:
            raise Invalid(whole.error)
        found = found.with_text(whole.content)
    [shown] = await asked.shown([found])
    return answer_json({"content": shown.html, "reading_time": reading_time(shown.html)})


async def _save_elsewhere(asked: MinifluxRequest) -> Response:
    asked.user.must_write()
    await _found(asked, asked.number("entry_id"))
    raise Invalid("There is no other service that entries are saved to.")


# -- files


async def _enclosure(asked: MinifluxRequest) -> Response:
    return answer_json(await _file(asked))


async def _play(asked: MinifluxRequest) -> Response:
    asked.user.must_write()
    await _file(asked)
    seconds = (await asked.body(MediaBody)).media_progression
    if not 0 <= seconds <= LONGEST_PLAY:
        raise Invalid(f"media_progression must be between 0 and {LONGEST_PLAY:,}.")
    number, position = divmod(asked.number("enclosure_id"), MOST_ENCLOSURES)
    await asked.services.sync.play(asked.shelf_id, EntryId(number), position, seconds)
    return done()


async def _file(asked: MinifluxRequest) -> Json:
    number, position = divmod(asked.number("enclosure_id"), MOST_ENCLOSURES)
    [shown] = await asked.shown([await _found(asked, number)])
    if position >= len(shown.enclosures):
        raise NotFound("There is no such file.")
    return (await viewer(asked)).enclosure(shown, shown.enclosures[position], position)


# -- marks


async def _mark(asked: MinifluxRequest) -> Response:
    """Set what is said; numbers of others are passed over."""
    asked.user.must_write()
    body = await asked.body(EntriesBody)
    if not body.entry_ids or (not body.status and body.starred is None):
        raise Invalid("entry_ids, and status or starred, are needed.")
    if len(body.entry_ids) > MOST_IDS:
        raise Invalid(f"entry_ids can have at most {MOST_IDS:,} entries.")
    unread = body.status == "unread" if body.status else None
    await asked.services.sync.mark(asked.shelf_id, body.entry_ids, asked.kind, unread=unread, saved=body.starred)
    return done()


async def _toggle(asked: MinifluxRequest) -> Response:
    """The one thing that the protocol turns over instead of setting it."""
    asked.user.must_write()
    found = await _found(asked, asked.number("entry_id"))
    await asked.services.sync.mark(asked.shelf_id, [found.entry.id], asked.kind, saved=not found.entry.saved)
    return done()


async def _mark_feed(asked: MinifluxRequest) -> Response:
    return await _mark_read(asked, SyncFilter(feed=(await asked.feed()).number))


async def _mark_group(asked: MinifluxRequest) -> Response:
    return await _mark_read(asked, SyncFilter(group=(await asked.group()).id))


async def _mark_all(asked: MinifluxRequest) -> Response:
    if asked.number("user_id") != asked.user.caller.user_id:
        raise NotFound("There is no such user.")
    return await _mark_read(asked, SyncFilter())


async def _mark_read(asked: MinifluxRequest, wanted: SyncFilter) -> Response:
    asked.user.must_write()
    now = asked.deps.clock()
    until = msgspec.structs.replace(wanted, kind=asked.kind, arrived_until=now)
    await asked.services.sync.mark_read(asked.shelf_id, until)
    return done()


async def _flush(asked: MinifluxRequest) -> Response:
    """What was read goes when the settings of the shelf say so, whatever an app wishes: others may share the shelf."""
    asked.user.must_write()
    return done(202)

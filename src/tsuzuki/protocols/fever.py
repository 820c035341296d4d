"""Fever API 3: one address, one key, JSON back. It reads and marks; feeds are added elsewhere."""

import base64
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.devices import AppUser
from tsuzuki.accounts.types import Protocol
from tsuzuki.inbox.sync import LARGEST, SyncFeed, SyncFilter
from tsuzuki.model.errors import Forbidden, TooManyRequests, Unauthorized
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.protocols.access import AppResource, ProtocolDeps
from tsuzuki.protocols.content import AppAnswer, feed_address, icon_of, seconds, site_address
from tsuzuki.protocols.params import Params, read_params

VERSION = 3
PAGE = 50
"""Items of an answer; apps page until there are fewer."""
STEP = 1_000
"""Numbers that are read at a time, where only some of them are meant."""
MANY = 20_000
"""Beyond as many unread or saved ones, an answer to a mark does not list them again."""
LONGEST_KEY = 64
BASES = ("/fever", "/api/fever.php")
"""Its own address, and where FreshRSS has it; some apps add `/fever` once more to whatever was typed."""
_REFUSAL = {"api_version": VERSION, "auth": 0}
_PNG = "image/png;base64,"
"""Without `data:`, which apps put before it themselves."""


def digest(username: str, password: str) -> str:
    """The key that apps send instead of a password."""
    # Fever defines it so. Device passwords are random: nobody finds one by trying MD5s.
    return hashlib.md5(f"{username}:{password}".encode(), usedforsecurity=False).hexdigest()


FEVER = Protocol(
    name="fever",
    title="Fever",
    path="/fever/",
    digest=digest,
)

Json = dict[str, Any]
Read = Callable[["FeverRequest"], Awaitable[Json]]


class FeverRequest(msgspec.Struct, frozen=True):
    """Who asks for what, and the address of this server."""

    deps: ProtocolDeps
    user: AppUser
    params: Params
    base: str

    async def feeds(self) -> list[SyncFeed]:
        """The feeds and series that the app may see."""
        return await self.deps.services.sync.feeds(self.user.shelf.id, self.user.kind)

    async def ids(self, wanted: SyncFilter) -> str:
        """Numbers as Fever writes them: one text."""
        kept = msgspec.structs.replace(wanted, kind=self.user.kind)
        found = await self.deps.services.sync.refs(self.user.shelf.id, kept, most=LARGEST)
        return ",".join(str(ref.id) for ref in found)


def resources(deps: ProtocolDeps) -> Sequence[AppResource]:
    """The resources, equal at every address."""

    async def answer(request: Request) -> Response:
        return await _answer(deps, request)

    paths = [base + again + slash for base in BASES for again in ("", "/fever") for slash in ("", "/")]
    return [AppResource(path, {"GET": answer, "POST": answer}) for path in paths]


async def _answer(deps: ProtocolDeps, request: Request) -> Response:
    params = await read_params(request)
    try:
        key = params.one("api_key").strip().lower()
        user = await deps.sign_in(request, FEVER, None, key if len(key) <= LONGEST_KEY else "")
    except Unauthorized:
        return _json(_REFUSAL)  # with 200: apps take another status for a broken server
    except TooManyRequests as error:
        return _json(_REFUSAL, status=429, headers={"retry-after": str(error.retry_after)})
    asked = FeverRequest(deps, user, params, deps.base_of(request))
    body: Json = {"api_version": VERSION, "auth": 1, "last_refreshed_on_time": await _refreshed(asked)}
    body |= await _write(asked)
    for names, read in _READS.items():
        if any(name in params for name in names):
            body |= await read(asked)
    return _json(body)


def _json(body: Mapping[str, Any], *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(body), status, headers, "application/json; charset=utf-8")


async def _refreshed(asked: FeverRequest) -> int:
    """When a feed of the shelf was polled last."""
    return seconds(await asked.deps.services.sync.last_checked(asked.user.shelf.id)) or asked.deps.clock() // SECOND


# -- what it reads


async def _groups(asked: FeverRequest) -> Json:
    groups = await asked.deps.services.reading.groups.list(asked.user.shelf.id)
    return {"groups": [{"id": group.id, "title": group.name} for group in groups]}


async def _feeds(asked: FeverRequest) -> Json:
    icons = await asked.deps.services.icons.of_shelf(asked.user.shelf.id)
    feeds = [
        {
            "id": feed.number,
            "favicon_id": icon.id if (icon := icon_of(feed, icons)) else 0,
            "title": feed.title,
            "url": feed_address(feed, asked.base),
            "site_url": site_address(feed, asked.base),
            "is_spark": 0,
            "last_updated_on_time": seconds(feed.newest_at or feed.checked_at),
        }
        for feed in await asked.feeds()
    ]
    return {"feeds": feeds}


async def _members(asked: FeverRequest) -> Json:
    """Every feed is in one group, and a group without feeds is left out: apps fail on either."""
    members: dict[int, list[str]] = {}
    for feed in await asked.feeds():
        members.setdefault(feed.group_id, []).append(str(feed.number))
    return {"feeds_groups": [{"group_id": group, "feed_ids": ",".join(feeds)} for group, feeds in members.items()]}


async def _favicons(asked: FeverRequest) -> Json:
    has_feeds = asked.user.kind != "chapter"
    icons = await asked.deps.services.icons.pictures_of(asked.user.shelf.id) if has_feeds else ()
    return {"favicons": [{"id": icon.id, "data": _PNG + base64.b64encode(icon.png).decode()} for icon in icons]}


async def _items(asked: FeverRequest) -> Json:
    sync, shelf_id, kind = asked.deps.services.sync, asked.user.shelf.id, asked.user.kind
    found = await sync.entries(shelf_id, await _wanted(asked), kind)
    items = [
        {
            "id": entry.id,
            "feed_id": entry.feed,
            "title": entry.title,
            "author": entry.author,
            "html": entry.html,
            "url": entry.url,
            "is_saved": int(entry.saved),
            "is_read": int(not entry.unread),
            "created_on_time": seconds(entry.published_at),
        }
        for entry in await AppAnswer(asked.deps, asked.user, asked.base).entries(found)
    ]
    return {"items": items, "total_items": await sync.count(shelf_id, SyncFilter(kind=kind))}


async def _wanted(asked: FeverRequest) -> list[int]:
    """The numbers that are meant: named, below one, above one, else the newest."""
    params, sync, shelf_id, kind = asked.params, asked.deps.services.sync, asked.user.shelf.id, asked.user.kind
    if "with_ids" in params:
        return params.numbers("with_ids")[:PAGE]
    wanted = SyncFilter(kind=kind)
    is_up = "since_id" in params and not (params.number("max_id") or 0) > 0
    if is_up:
        wanted = msgspec.structs.replace(wanted, above=max(0, params.number("since_id") or 0))
    elif (below := params.number("max_id") or 0) > 0:
        wanted = msgspec.structs.replace(wanted, below=min(below, LARGEST))
    feeds = await _named_feeds(asked)
    if feeds is None:
        return [ref.id for ref in await sync.refs(shelf_id, wanted, most=PAGE, descending=not is_up)]
    found: list[int] = []
    while True:
        refs = await sync.refs(shelf_id, wanted, most=STEP, descending=not is_up)
        found += [ref.id for ref in refs if ref.feed in feeds]
        if len(found) >= PAGE or len(refs) < STEP:
            return found[:PAGE]
        wanted = msgspec.structs.replace(wanted, **{"above" if is_up else "below": refs[-1].id})


async def _named_feeds(asked: FeverRequest) -> set[int] | None:
    """The feeds that `feed_ids` and `group_ids` leave; None for all."""
    params = asked.params
    if "feed_ids" not in params and "group_ids" not in params:
        return None
    feeds, groups = set(params.numbers("feed_ids")), set(params.numbers("group_ids"))
    return {feed.number for feed in await asked.feeds() if feed.number in feeds or feed.group_id in groups}


async def _links(_: FeverRequest) -> Json:
    return {"links": []}


async def _unread_ids(asked: FeverRequest) -> Json:
    return {"unread_item_ids": await asked.ids(SyncFilter(unread=True))}


async def _saved_ids(asked: FeverRequest) -> Json:
    return {"saved_item_ids": await asked.ids(SyncFilter(saved=True))}


async def _few_unread(asked: FeverRequest) -> Json:
    return await _unread_ids(asked) if await _are_few(asked, SyncFilter(kind=asked.user.kind, unread=True)) else {}


async def _few_saved(asked: FeverRequest) -> Json:
    return await _saved_ids(asked) if await _are_few(asked, SyncFilter(kind=asked.user.kind, saved=True)) else {}


async def _are_few(asked: FeverRequest, wanted: SyncFilter) -> bool:
    return await asked.deps.services.sync.count(asked.user.shelf.id, wanted) <= MANY


_READS: Mapping[tuple[str, ...], Read] = {
    ("groups",): _groups,
    ("feeds",): _feeds,
    ("groups", "feeds"): _members,
    ("favicons",): _favicons,
    ("items",): _items,
    ("links",): _links,
    ("unread_item_ids",): _unread_ids,
    ("saved_item_ids",): _saved_ids,
}
"""What an app asks for by any of these names; several at once are answered together."""


# -- what it writes


async def _write(asked: FeverRequest) -> Json:
    """Set the state that is named, then say how things are. What is unknown, or another's, changes nothing and is no
    error, nor is it one to mark on a shelf that they only read: apps repeat for ever what was refused.
    """
    mark, state = asked.params.one("mark"), asked.params.one("as")
    with suppress(Forbidden):
        if mark == "item" and state in _STATES:
            asked.user.must_write()
            await _mark_item(asked, state)
        elif mark in {"feed", "group"} and state == "read":
            asked.user.must_write()
            await _mark_many(asked)
    return await _STATES[state](asked) if mark == "item" and state in _STATES else {}


_STATES: Mapping[str, Read] = {"read": _few_unread, "unread": _few_unread, "saved": _few_saved, "unsaved": _few_saved}
"""What an item is marked as, and what is answered then."""


async def _mark_item(asked: FeverRequest, state: str) -> None:
    user, ids = asked.user, asked.params.numbers("id")
    marks = {"unread": state == "unread"} if state in {"read", "unread"} else {"saved": state == "saved"}
    await asked.deps.services.sync.mark(user.shelf.id, ids, user.kind, **marks)


async def _mark_many(asked: FeverRequest) -> None:
    """What had arrived when the app looked; group 0 is everything, and negative ones are made up by apps."""
    params, user = asked.params, asked.user
    number = params.number("id")
    if number is None or number < 0:
        return
    before, now = params.number("before") or 0, asked.deps.clock()
    until = now if before <= 0 or before > now // SECOND else Millis(before * SECOND + SECOND - 1)
    wanted = SyncFilter(kind=user.kind, arrived_until=until)
    if params.one("mark") == "feed":
        wanted = msgspec.structs.replace(wanted, feed=number)
    elif number > 0:
        wanted = msgspec.structs.replace(wanted, group=number)
    await asked.deps.services.sync.mark_read(user.shelf.id, wanted)

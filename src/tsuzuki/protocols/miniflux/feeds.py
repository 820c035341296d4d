"""Feeds and categories: lists, counts, changes, refreshes, discovery, and lists of feeds in a file."""

import base64
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType
from starlette.responses import Response

from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.connectors.opml import MAX_BYTES
from tsuzuki.http.body import first_file, read_body
from tsuzuki.inbox.sync import SyncFeed
from tsuzuki.model.errors import Conflict, Invalid, NotFound, SourceError, TooManyRequests, Unavailable
from tsuzuki.model.ids import PublicId
from tsuzuki.model.times import SECOND
from tsuzuki.protocols.access import ProtocolDeps
from tsuzuki.protocols.content import icon_of
from tsuzuki.protocols.miniflux.requests import MinifluxRequest, MinifluxResource, answer_json, done, resource
from tsuzuki.protocols.miniflux.views import UNSUPPORTED, Json, viewer
from tsuzuki.shelves.deps import RefreshOutcome
from tsuzuki.shelves.types import SubscriptionChange

CREATED = 201
_TRUE = ("true", "1")
_PNG = "image/png"
_LONGEST = 8_192
_OF_FEEDS = frozenset(("title", "feed_url", "site_url", "disabled", "crawler", *UNSUPPORTED))
"""What can be said of a feed; of a series, only its category."""


class CategoryBody(msgspec.Struct, frozen=True):
    """The name of a category."""

    title: str


class CategoryChangeBody(msgspec.Struct, frozen=True):
    """The new name of a category; None where only what we have no setting for changes."""

    title: str | None = None


class AddressBody(msgspec.Struct, frozen=True):
    """The address of a page or a feed."""

    url: str


def resources(deps: ProtocolDeps) -> Sequence[MinifluxResource]:
    """What is about feeds and categories."""
    icon = {"GET": _icon}
    return [
        resource(deps, "/categories", {"GET": _list_categories, "POST": _add_category}),
        resource(deps, "/categories/{category_id}", {"PUT": _rename_category, "DELETE": _delete_category}),
        resource(deps, "/categories/{category_id}/feeds", {"GET": _list_of_category}),
        resource(deps, "/categories/{category_id}/refresh", {"PUT": _refresh_category}),
        resource(deps, "/feeds", {"GET": _list, "POST": _add}),
        resource(deps, "/feeds/counters", {"GET": _counters}),
        resource(deps, "/feeds/refresh", {"PUT": _refresh_all}),
        resource(deps, "/feeds/{feed_id}", {"GET": _show, "PUT": _change, "DELETE": _delete}),
        resource(deps, "/feeds/{feed_id}/refresh", {"PUT": _refresh}),
        resource(deps, "/feeds/{feed_id}/icon", icon),
        resource(deps, "/icons/{icon_id}", icon),
        resource(deps, "/discover", {"POST": _discover}),
        resource(deps, "/export", {"GET": _export}),
        resource(deps, "/import", {"POST": _import}),
    ]


# -- categories


async def _list_categories(asked: MinifluxRequest) -> Response:
    view = await viewer(asked)
    shown = {group.id: view.category(group) for group in await asked.subscriptions.groups()}
    if asked.params.one("counts").lower() in _TRUE:
        feeds, unread = Counter[int](), Counter[int]()
        for feed in await asked.subscriptions.all():
            feeds[feed.group_id] += 1
            unread[feed.group_id] += feed.unread
        for number, category in shown.items():
            category |= {"feed_count": feeds[number], "total_unread": unread[number]}
    return answer_json(list(shown.values()))


async def _add_category(asked: MinifluxRequest) -> Response:
    asked.user.must_write()
    title = (await asked.body(CategoryBody)).title
    if await asked.subscriptions.find_group(title) is not None:
        raise Conflict("This category already exists.")
    return answer_json((await viewer(asked)).category(await asked.subscriptions.make_group(title)), CREATED)


async def _rename_category(asked: MinifluxRequest) -> Response:
    asked.user.must_write()
    group, title = await asked.group(), (await asked.body(CategoryChangeBody)).title
    if title is not None:
        await asked.subscriptions.rename_group(group, title)
    return answer_json((await viewer(asked)).category(await asked.group()), CREATED)


async def _delete_category(asked: MinifluxRequest) -> Response:
    asked.user.must_write()
    await asked.subscriptions.delete_group(await asked.group())
    return done()


async def _list_of_category(asked: MinifluxRequest) -> Response:
    group, view = await asked.group(), await viewer(asked)
    return answer_json([view.feed(feed) for feed in await asked.subscriptions.all() if feed.group_id == group.id])


async def _refresh_category(asked: MinifluxRequest) -> Response:
    """The feeds in it that are not suspended, as when everything is refreshed; a series is refreshed by itself."""
    asked.user.must_write()
    group = await asked.group()
    for feed in await asked.subscriptions.all():
        if feed.group_id == group.id and feed.kind == "item" and not feed.is_suspended:
            await asked.services.reading.subscriptions.refresh(asked.shelf_id, feed.public_id)
    return done()


# -- feeds


async def _list(asked: MinifluxRequest) -> Response:
    view = await viewer(asked)
    return answer_json([view.feed(feed) for feed in await asked.subscriptions.all()])


async def _show(asked: MinifluxRequest) -> Response:
    return answer_json((await viewer(asked)).feed(await asked.feed()))


async def _counters(asked: MinifluxRequest) -> Response:
    feeds = await asked.subscriptions.all()
    reads = {str(feed.number): feed.entries - feed.unread for feed in feeds if feed.entries > feed.unread}
    return answer_json({"reads": reads, "unreads": {str(feed.number): feed.unread for feed in feeds if feed.unread}})


async def _add(asked: MinifluxRequest) -> Response:
    """Follow the feed at this address, or the best one of that page."""
    asked.must_write_feeds()
    body = await asked.body(Json)
    if body.get("category_id") == 0:  # so the library for Go says none
        del body["category_id"]
    address, group = _text(body, "feed_url"), await _wanted_group(asked, body)
    if not isinstance(address, str) or not address.strip():
        raise Invalid("feed_url is needed.")
    _refuse_unsupported(body)
    is_suspended, full_text = (_switch(body, name) is True for name in ("disabled", "crawler"))
    before = {feed.number for feed in await asked.subscriptions.all()}
    try:
        found = await asked.subscriptions.subscribe(
            address,
            group=None if isinstance(group, UnsetType) else group,
            is_suspended=is_suspended,
            full_text=full_text,
        )
    except SourceError as error:
        raise Invalid(str(error)) from error
    if found.number in before:
        raise Conflict("This feed already exists.")
    return answer_json({"feed_id": found.number}, CREATED)


async def _change(asked: MinifluxRequest) -> Response:
    """Change what differs from what is shown: clients send back the whole feed."""
    asked.user.must_write()
    feed, body = await asked.feed(), await asked.body(Json)
    shown = (await viewer(asked)).feed(feed)
    new = {name: value for name, value in body.items() if value is not None and value != shown.get(name)}
    group = await _wanted_group(asked, new)
    if feed.kind == "chapter":
        if new.keys() & _OF_FEEDS:
            raise Invalid("Only the category of a series can be changed here.")
        if not isinstance(group, UnsetType):
            await asked.subscriptions.move(feed, group)
    else:
        _refuse_unsupported(new)
        link, name = _text(new, "feed_url"), _text(new, "title")
        change = SubscriptionChange(
            name=name,
            group=group,
            link=link or UNSET,
            site_url=_site(new),
            is_suspended=_switch(new, "disabled"),
            full_text=_switch(new, "crawler"),
        )
        if change != SubscriptionChange():
            await asked.services.reading.subscriptions.change(asked.shelf_id, feed.public_id, change)
    return answer_json((await viewer(asked)).feed(await asked.feed()), CREATED)


def _site(body: Json) -> str | UnsetType:
    """An address that a click may go to."""
    text = _text(body, "site_url") or UNSET
    if not isinstance(text, UnsetType) and http_url(text) is None:
        raise Invalid("site_url must be an http or https address.")
    return text


async def _wanted_group(asked: MinifluxRequest, body: Json) -> PublicId | UnsetType:
    number = body.get("category_id")
    if number is None:
        return UNSET
    group = await asked.group_of(number) if type(number) is int else None
    if group is None:
        raise Invalid("There is no such category.")
    return group.public_id


def _text(body: Json, name: str) -> str | UnsetType:
    value: Any = body.get(name, UNSET)
    if not isinstance(value, str | UnsetType) or (isinstance(value, str) and len(value) > _LONGEST):
        raise Invalid(f"{name} must be a text of at most {_LONGEST:,} characters.")
    return value if isinstance(value, UnsetType) else value.strip()


def _switch(body: Json, name: str) -> bool | UnsetType:
    value: Any = body.get(name, UNSET)
    if value is None:
        return UNSET
    if not isinstance(value, bool | UnsetType):
        raise Invalid(f"{name} must be true or false.")
    return value


def _refuse_unsupported(body: Json) -> None:
    """Refuse passwords for feeds: whoever gives one should learn that it is not used."""
    used = sorted(name for name in body.keys() & UNSUPPORTED.keys() if body[name])
    if used:
        raise Invalid(f"This server has no such setting of a feed: {', '.join(used)}.")


async def _delete(asked: MinifluxRequest) -> Response:
    asked.user.must_write()
    await asked.subscriptions.unsubscribe(await asked.feed())
    return done()


async def _icon(asked: MinifluxRequest) -> Response:
    """The icon of a feed, or the one of this number that some feed of the shelf has; a series has none."""
    icons = await asked.services.icons.of_shelf(asked.shelf_id)
    if "feed_id" in asked.request.path_params:
        feed = await asked.feed()
        icon = icon_of(feed, icons)
    else:
        number = asked.number("icon_id")
        icon = next((one for one in icons.values() if one.id == number), None) if asked.kind != "chapter" else None
    if icon is None:
        raise NotFound("There is no such icon.")
    png = await asked.services.icons.picture(icon.token.hex())
    return answer_json({"id": icon.id, "mime_type": _PNG, "data": f"{_PNG};base64,{base64.b64encode(png).decode()}"})


# -- refreshes


async def _refresh(asked: MinifluxRequest) -> Response:
    """R96: where its publisher asked to be left alone, the answer says so, and until when."""
    asked.user.must_write()
    feed = await asked.feed()
    if feed.kind == "chapter":
        await _refresh_series(asked, feed)
        return done()
    outcome = await asked.services.reading.subscriptions.refresh(asked.shelf_id, feed.public_id)
    wait = _wait(asked, outcome)
    if wait is not None:
        raise TooManyRequests("The publisher of this feed asks us to wait.", wait)
    return done()


async def _refresh_all(asked: MinifluxRequest) -> Response:
    """R96: with Retry-After where nothing can be asked now; apps begin with this, and must not fail for it."""
    asked.user.must_write()
    wait = _wait(asked, await asked.services.reading.subscriptions.refresh_all(asked.shelf_id))
    return Response(status_code=204, headers=None if wait is None else {"retry-after": str(wait)})


def _wait(asked: MinifluxRequest, outcome: RefreshOutcome) -> int | None:
    """In seconds; None where something will be looked at."""
    if outcome.queued or outcome.not_before is None:
        return None
    return max(1, -(-(outcome.not_before - asked.deps.clock()) // SECOND))


async def _refresh_series(asked: MinifluxRequest, feed: SyncFeed) -> None:
    """Ask each of its sources; one that does not answer is tried again in its turn."""
    reading = asked.services.reading
    follow = await reading.follows.get(asked.shelf_id, feed.public_id)
    series = await reading.series.get(asked.shelf_id, follow.series_public_id)
    for source in series.sources:
        if not source.is_on:
            continue
        try:
            await asked.services.catalogue.chapter_lists.list(source.id, asked.shelf_id, refresh=True)
        except (SourceError, Unavailable):
            continue


# -- what is elsewhere


async def _discover(asked: MinifluxRequest) -> Response:
    """The feeds of a page, best first; of which kind each is, is a guess by its address."""
    asked.must_write_feeds()
    body = await asked.body(AddressBody)
    try:
        found = await asked.services.trier.find_feeds(body.url.strip())
    except SourceError as error:
        raise Invalid(str(error)) from error
    if not found.feeds:
        raise NotFound(f"No feed was found at {body.url}.")
    return answer_json([{"url": feed.url, "title": feed.title, "type": _type(feed.url)} for feed in found.feeds])


def _type(address: str) -> str:
    return next((kind for kind in ("atom", "json") if kind in address.lower()), "rss")


async def _export(asked: MinifluxRequest) -> Response:
    asked.subscriptions.must_show_feeds()
    return Response(await asked.services.lists.write(asked.shelf_id), media_type="text/xml; charset=utf-8")


async def _import(asked: MinifluxRequest) -> Response:
    asked.must_write_feeds()
    request = asked.request
    body = await read_body(request.scope, request.receive, MAX_BYTES)
    body = first_file(request.headers.get("content-type", ""), body)  # NextFlux sends a form
    report = await asked.services.lists.read(asked.shelf_id, body)
    failed = [line.error for line in report if line.error is not None]
    if failed and len(failed) == len(report):
        raise failed[0]
    made = sum(line.outcome == "created" for line in report)
    message = f"{made} feeds were added, {len(report) - made - len(failed)} known already, {len(failed)} refused."
    return answer_json({"message": message}, CREATED)

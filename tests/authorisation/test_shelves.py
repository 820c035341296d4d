"""I8, R91: at every route of a shelf, everybody who may come to it: its people, by their role, and nobody else.

A route that takes `?shelf=` joins these tests by itself; one whose body `BODIES` cannot make fails.
"""

import re
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, cast, get_args

import msgspec

from tests.api.people import API, RunningApp
from tests.authorisation.objects import COMMON, MISSING, OBJECTS, PERSONAL, TENANTS, body_for, filled
from tests.authorisation.policy import POLICY, READ, STREAMS, WRITE, endpoints
from tests.authorisation.test_pages import FORM
from tests.shelves.library_builders import a_published_series
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.types import MemberShelf, ShelfRole, User
from tsuzuki.api.binding import signature_of
from tsuzuki.api.shelf import ShelfQuery
from tsuzuki.model.ids import show_id

# What somebody meets at a route of a shelf that only reads, and at one that writes; 0 is being let in.
ROLES = {
    "neighbour": {READ: 404, WRITE: 404},
    "admin": {READ: 404, WRITE: 404},
    "reader": {READ: 0, WRITE: 403},
    "editor": {READ: 0, WRITE: 0},
    "owner": {READ: 0, WRITE: 0},
}


async def _progress(app: RunningApp) -> dict[str, Any]:
    series = await a_published_series(app.db, [1])
    return {"progress": [{"series_id": show_id(series.public_id), "number": "1", "page": 1}]}


async def _follow(app: RunningApp) -> dict[str, Any]:
    return {"series_id": show_id((await a_published_series(app.db)).public_id)}


# Bodies for routes that have no object in their path.
BODIES: dict[str, Callable[[RunningApp], Awaitable[Any]] | dict[str, Any]] = {
    "POST /api/v1/groups": {"name": "*"},
    "POST /api/v1/tags": {"name": "*"},
    "PATCH /api/v1/inbox/-/tags": {"ids": ["1"], "add": ["*"]},
    "POST /api/v1/imports/server": {"kind": "komga", "url": "http://10.0.0.1", "password": "*"},
    "POST /api/v1/feeds": {"link": "http://93.184.216.34/*"},
    "POST /api/v1/feeds/batch": {"feeds": [{"link": "http://93.184.216.34/*"}]},
    "PATCH /api/v1/items/-/read": {"all": True},
    "PATCH /api/v1/items/-/unread": {"ids": ["1"]},
    "PATCH /api/v1/items/-/undo": {"undo": "1"},
    "POST /api/v1/bookmarks": {"link": "https://example.org/*", "title": "A page"},
    "PATCH /api/v1/inbox/-/read": {"all": True},
    "PATCH /api/v1/inbox/-/unread": {"ids": ["1"]},
    "POST /api/v1/channels": {"kind": "webhook", "name": "*", "config": {"url": "http://93.184.216.34/*"}},
    "POST /api/v1/feeds-out": {"name": "*"},
    "POST /api/v1/progress/batch": _progress,
    "POST /api/v1/library": _follow,
}


async def _body(app: RunningApp, name: str, made: Any) -> Any:
    known = BODIES.get(name)
    if callable(known):
        return await known(app)
    if known is not None:
        return msgspec.json.decode(msgspec.json.encode(known).replace(b"*", secrets.token_hex(4).encode()))
    return body_for(name, made, otherwise={})


async def _shelf_with(app: RunningApp, role: str) -> tuple[User, User, MemberShelf]:
    """Somebody with a shelf, and somebody of the same tenant who has it in this role, if it is one."""
    owner = await app.add()
    other = await app.add(role="admin" if role == "admin" else "reader")
    shelf = await app.accounts.current_user.shelf_of(owner)
    if role in get_args(ShelfRole):
        await app.accounts.sharing.share(shelf_user(owner), shelf.public_id, other.username, cast("ShelfRole", role))
    return owner, other, shelf


async def _made(app: RunningApp, parameters: list[str], people: tuple[User, User], shelf: MemberShelf) -> Any:
    """The owner's, but for what everybody on the shelf has of their own."""
    if not parameters:
        return MISSING
    owner, other = people
    if parameters[-1] not in PERSONAL:
        return await OBJECTS[parameters[-1]](app, owner)
    theirs = await app.accounts.current_user.shelves_of(other)
    is_in = shelf.id in {one.id for one in theirs}
    return await PERSONAL[parameters[-1]](app, other if is_in else owner, shelf.id)


NOT_JSON = {"POST /api/v1/opml": {400}, "POST /api/v1/imports": {400}, "POST /api/v1/imports/server": {400}}
"""Whoever is let in is told that this is no list, no file, or no address."""

NOTHING_HERE = b"Nothing arrived in that time."
"""What whoever is let in is told of a day without articles."""


async def test_every_route_of_a_shelf_asks_for_its_role(app):
    """By name, `?shelf=`: an administrator is a stranger to other people's shelves too."""
    wrong, asked = {}, 0
    for name, endpoint in endpoints().items():
        signature = signature_of(endpoint)
        if not any(issubclass(form, ShelfQuery) for form in signature.query.values()):
            continue
        for role, table in ROLES.items():
            owner, other, shelf = await _shelf_with(app, role)
            made = await _made(app, list(signature.path), (owner, other), shelf)
            path = f"{filled(endpoint.path, made)}?shelf={show_id(shelf.public_id)}"
            path += "&q=word" if name.endswith("/search") else ""
            who = await app.signed_in(other)
            ask = who.begin if name in STREAMS else who.ask
            body = await _body(app, name, made) if signature.body else None
            answer = await ask(endpoint.method, path, body)
            status = 0 if NOTHING_HERE in answer.body else answer.status
            asked += 1
            is_odd = status in {400, 500} - NOT_JSON.get(name, set())
            if (status if status in (401, 403, 404) else 0) != table[POLICY[name]] or is_odd:
                wrong[name, role] = status
    assert wrong == {}
    assert asked > 300


OF_NO_SHELF = COMMON | TENANTS | {"shelf_id", "person_name", "rented_id", "token_id", "session_id"}
NOTHING_LEFT = {"POST /feeds/{feed_id}/restore"}
"""Whoever may do it is told that the feed was not left."""


async def test_every_page_of_a_shelf_asks_for_its_role(app):
    """Of the open shelf, which is the shared one: pages show no other. Whoever has it not has another one open."""
    wrong, asked = {}, 0
    for name, policy in POLICY.items():
        method, path = name.split()
        parameters = re.findall(r"\{(\w+)\}", path)
        if path.startswith(API) or policy not in (READ, WRITE) or not parameters or parameters[-1] in OF_NO_SHELF:
            continue
        for role, table in ROLES.items():
            owner, other, shelf = await _shelf_with(app, role)
            target = filled(path, await _made(app, parameters, (owner, other), shelf))
            who = await app.signed_in(other)
            await who.ask("PATCH", "/me", {"default_shelf_id": show_id(shelf.public_id)})
            options = {"headers": who.headers | FORM, "data": b""} if method == "POST" else {"headers": who.headers}
            status = (await app.client.ask(method, target, **options)).status
            asked += 1
            expected = 404 if name in NOTHING_LEFT and table[policy] == 0 else table[policy]
            if (status if status in (401, 403, 404) else 0) != expected or status == 500:
                wrong[name, role] = status
    assert wrong == {}
    assert asked > 80


# What people of a shelf may do with the shelf itself.
OWNERS = {
    "PATCH /api/v1/me/shelves/{shelf_id}": {"name": "*"},
    "DELETE /api/v1/me/shelves/{shelf_id}": None,
    "GET /api/v1/me/shelves/{shelf_id}/contents": None,
    "PUT /api/v1/me/shelves/{shelf_id}/people/{person_name}": {"role": "editor"},
    "DELETE /api/v1/me/shelves/{shelf_id}/people/{person_name}": None,
    "PATCH /api/v1/shelves/{rented_id}": {"name": "*"},
    "PUT /api/v1/shelves/{rented_id}/plan": {"plan": "basic"},
    "POST /api/v1/shelves/{rented_id}/deactivate": None,
    "POST /api/v1/shelves/{rented_id}/reactivate": None,
}
EVERYONES = {"GET /api/v1/me/shelves/{shelf_id}/people": None}


async def test_only_owners_share_rename_rent_and_delete_a_shelf(app):
    """An administrator manages what shelves cost, the operator's side, and nothing else of them."""
    named = {name for name in endpoints() if "{shelf_id}" in name or "{rented_id}" in name}
    assert named == set(OWNERS | EVERYONES)
    wrong = {}
    for name, body in (OWNERS | EVERYONES).items():
        for role in ROLES:
            owner, other, shelf = await _shelf_with(app, role)
            guest = await app.add()
            await app.accounts.sharing.share(shelf_user(owner), shelf.public_id, guest.username, "reader")
            method, path = name.split()
            ids = {"shelf_id": show_id(shelf.public_id), "person_name": guest.username}
            target = filled(path, ids | {"rented_id": ids["shelf_id"]})
            said = body and msgspec.json.decode(msgspec.json.encode(body).replace(b"*", secrets.token_hex(4).encode()))
            status = (await (await app.signed_in(other)).ask(method, target, said)).status
            is_in = role == "owner" or (name in EVERYONES and role in ("editor", "reader"))
            is_in = is_in or (role == "admin" and "{rented_id}" in name)
            expected = 0 if is_in else 403 if role in ("editor", "reader") else 404
            if (status if status in (401, 403, 404) else 0) != expected or status in (400, 500):
                wrong[name, role] = status
    assert wrong == {}

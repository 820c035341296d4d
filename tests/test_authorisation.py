"""SEC-30..33, SEC-42: who may call what, for every route that the router has.

A route that is not in `POLICY` fails the first test; one with an object in its path that `OBJECTS` cannot make fails
the third. Nothing here lists routes by hand but the table itself.
"""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest
from starlette.routing import Route, Router

from tests.api.people import API, Town, Visitor, a_town
from tests.catalogue.images.builders import a_picture, stored_picture
from tests.crawl.builders import a_dead_letter
from tests.delivery.builders import publish
from tests.shelves.library.builders import a_published_series, chapter_of
from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.nouns import SYSTEM, Slice, User
from tsuzuki.accounts.users import Change
from tsuzuki.api.binding import signature_of
from tsuzuki.api.build import ENDPOINTS
from tsuzuki.api.endpoints import Endpoint
from tsuzuki.billing.access import OPERATOR
from tsuzuki.catalogue.browsing import ListWish
from tsuzuki.catalogue.media.links import Link, MediaLinks
from tsuzuki.crawl.service import Wish as CrawlWish
from tsuzuki.edge.csrf import SAFE_METHODS
from tsuzuki.edge.routing import Resource
from tsuzuki.model.ids import PublicId, ReleaseId, ShelfId, show_id
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.shelves.bookmarks.nouns import NewBookmark
from tsuzuki.shelves.entries.service import Filter
from tsuzuki.shelves.library.follows.nouns import Wish as Following
from tsuzuki.shelves.library.progress.nouns import Reading
from tsuzuki.shelves.subscriptions.service import Wish
from tsuzuki.sources.comics.rows import NewMapping
from tsuzuki.sources.sites.rows import Wanted

PUBLIC, READ, WRITE, ADMIN = "public", "read", "write", "admin"

POLICY = {
    "GET /": PUBLIC,
    "GET /setup": PUBLIC,
    "POST /setup": PUBLIC,
    "GET /sign-in": PUBLIC,
    "POST /sign-in": PUBLIC,
    "POST /sign-in/provider": PUBLIC,
    "GET /invite": PUBLIC,
    "POST /invite": PUBLIC,
    "POST /sign-out": PUBLIC,
    "GET /offline": PUBLIC,
    "GET /manifest.webmanifest": PUBLIC,
    "GET /sw.js": PUBLIC,
    "GET /items/{item_id}": READ,
    "GET /inbox/states": READ,
    "POST /inbox/mark": WRITE,
    "POST /inbox/mark-all": WRITE,
    "POST /inbox/undo": WRITE,
    "GET /library": READ,
    "POST /library/look": WRITE,
    "GET /history": READ,
    "POST /history/forget": WRITE,
    "GET /history/clear": READ,
    "POST /history/clear": WRITE,
    "GET /discover": READ,
    "POST /discover/find": WRITE,
    "GET /discover/sources/{site_id}": READ,
    "GET /discover/series/{manga_id}": READ,
    "GET /series/{series_id}": READ,
    "POST /series/{series_id}/mark": WRITE,
    "POST /series/{series_id}/follow": WRITE,
    "GET /series/{series_id}/unfollow": READ,
    "POST /series/{series_id}/unfollow": WRITE,
    "POST /series/{series_id}/refresh": WRITE,
    "POST /series/{series_id}/settings": WRITE,
    "POST /series/{series_id}/reading": WRITE,
    "POST /series/{series_id}/keep": WRITE,
    "GET /series/{series_id}/chapters/{chapter_id}": READ,
    "GET /feeds": READ,
    "GET /feeds/add": READ,
    "POST /feeds/add": WRITE,
    "POST /feeds/find": WRITE,
    "GET /feeds/import": READ,
    "POST /feeds/import": WRITE,
    "POST /feeds/refresh": WRITE,
    "GET /feeds/{feed_id}": READ,
    "POST /feeds/{feed_id}": WRITE,
    "POST /feeds/{feed_id}/suspend": WRITE,
    "POST /feeds/{feed_id}/refresh": WRITE,
    "GET /feeds/{feed_id}/delete": READ,
    "POST /feeds/{feed_id}/delete": WRITE,
    "POST /feeds/{feed_id}/restore": WRITE,
    "GET /groups/new": READ,
    "POST /groups/new": WRITE,
    "GET /groups/{group_id}": READ,
    "POST /groups/{group_id}": WRITE,
    "POST /groups/{group_id}/move": WRITE,
    "POST /groups/{group_id}/delete": WRITE,
    "GET /search": READ,
    "GET /bookmarks": READ,
    "POST /bookmarks": WRITE,
    "GET /bookmarks/{bookmark_id}": READ,
    "POST /bookmarks/{bookmark_id}/note": WRITE,
    "POST /bookmarks/{bookmark_id}/delete": WRITE,
    "GET /notifications": READ,
    "POST /notifications": WRITE,
    "POST /notifications/{channel_id}/switch": WRITE,
    "POST /notifications/{channel_id}/test": WRITE,
    "POST /notifications/{channel_id}/remove": WRITE,
    "GET /admin": ADMIN,
    "POST /admin/crawler": ADMIN,
    "GET /admin/settings": ADMIN,
    "GET /admin/sources": ADMIN,
    "GET /admin/sources/add": ADMIN,
    "POST /admin/sources/add": ADMIN,
    "GET /admin/sources/{source_id}": ADMIN,
    "POST /admin/sources/{source_id}/switch": ADMIN,
    "POST /admin/sources/{source_id}/try": ADMIN,
    "POST /admin/sources/{source_id}/crawl": ADMIN,
    "GET /admin/sources/{source_id}/edit": ADMIN,
    "POST /admin/sources/{source_id}/edit": ADMIN,
    "GET /admin/sources/{source_id}/delete": ADMIN,
    "POST /admin/sources/{source_id}/delete": ADMIN,
    "POST /admin/comics/{comic_id}/sources/{mapping_id}/switch": ADMIN,
    "GET /admin/comics/{comic_id}/sources/{mapping_id}/remove": ADMIN,
    "POST /admin/comics/{comic_id}/sources/{mapping_id}/remove": ADMIN,
    "GET /admin/sources/{source_id}/map": ADMIN,
    "POST /admin/sources/{source_id}/map": ADMIN,
    "GET /admin/jobs": ADMIN,
    "GET /admin/jobs/{job_id}": ADMIN,
    "POST /admin/jobs/{job_id}/cancel": ADMIN,
    "GET /admin/dead-letters": ADMIN,
    "POST /admin/dead-letters/replay": ADMIN,
    "GET /admin/dead-letters/discard": ADMIN,
    "POST /admin/dead-letters/discard": ADMIN,
    "GET /admin/dead-letters/{letter_id}": ADMIN,
    "POST /admin/dead-letters/{letter_id}/replay": ADMIN,
    "GET /admin/dead-letters/{letter_id}/discard": ADMIN,
    "POST /admin/dead-letters/{letter_id}/discard": ADMIN,
    "GET /admin/audit": ADMIN,
    "GET /admin/users": ADMIN,
    "GET /admin/users/add": ADMIN,
    "POST /admin/users/add": ADMIN,
    "GET /admin/users/{user_id}": ADMIN,
    "POST /admin/users/{user_id}": ADMIN,
    "POST /admin/users/{user_id}/password": ADMIN,
    "POST /admin/users/{user_id}/switch": ADMIN,
    "GET /admin/users/{user_id}/delete": ADMIN,
    "POST /admin/users/{user_id}/delete": ADMIN,
    "POST /admin/invites": ADMIN,
    "GET /admin/tenants": ADMIN,
    "POST /admin/tenants/add": ADMIN,
    "GET /admin/tenants/{tenant_id}": ADMIN,
    "POST /admin/tenants/{tenant_id}": ADMIN,
    "POST /admin/tenants/{tenant_id}/credit": ADMIN,
    "GET /admin/invoices/{invoice_id}": ADMIN,
    "POST /admin/invoices/{invoice_id}": ADMIN,
    "POST /admin/invites/{invite_id}/revoke": ADMIN,
    "GET /styleguide": ADMIN,
    "GET /invoices/{invoice_id}": READ,
    "GET /account/billing": READ,
    "GET /account/billing/statement": READ,
    "GET /account/billing/new": READ,
    "POST /account/billing/shelves": WRITE,
    "GET /account/billing/shelves/{rented_id}": READ,
    "POST /account/billing/shelves/{rented_id}": WRITE,
    "GET /account/billing/shelves/{rented_id}/plan": READ,
    "POST /account/billing/shelves/{rented_id}/plan": WRITE,
    "GET /account/billing/shelves/{rented_id}/deactivate": READ,
    "POST /account/billing/shelves/{rented_id}/deactivate": WRITE,
    "GET /account/billing/shelves/{rented_id}/reactivate": READ,
    "POST /account/billing/shelves/{rented_id}/reactivate": WRITE,
    "GET /settings": READ,
    "POST /settings": WRITE,
    "GET /account": READ,
    "POST /account/password": WRITE,
    "POST /account/devices/{session_id}/sign-out": WRITE,
    "POST /account/devices/sign-out-others": WRITE,
    "POST /account/devices/sign-out-all": WRITE,
    "POST /account/tokens": WRITE,
    "POST /account/tokens/{token_id}/revoke": WRITE,
    "POST /account/identity/link": WRITE,
    "POST /account/identity/unlink": WRITE,
    "GET /static/{name:path}": PUBLIC,
    "GET /healthz": PUBLIC,
    "GET /readyz": PUBLIC,
    "GET /metrics": PUBLIC,
    "GET /api/v1/openapi.json": PUBLIC,
    "GET /api/v1/docs": PUBLIC,
    "GET /api/v1/about": PUBLIC,
    "POST /api/v1/sessions": PUBLIC,
    "DELETE /api/v1/sessions": PUBLIC,
    "GET /api/v1/setup": PUBLIC,
    "POST /api/v1/setup": PUBLIC,
    "POST /api/v1/invites/accept": PUBLIC,
    "GET /api/v1/oidc/enabled": PUBLIC,
    "GET /api/v1/oidc/login": PUBLIC,
    "GET /api/v1/oidc/callback": PUBLIC,
    "GET /api/v1/me": READ,
    "PATCH /api/v1/me": WRITE,
    "PUT /api/v1/me/password": WRITE,
    "DELETE /api/v1/me/identity": WRITE,
    "GET /api/v1/me/sessions": READ,
    "DELETE /api/v1/me/sessions": WRITE,
    "DELETE /api/v1/me/sessions/{session_id}": WRITE,
    "GET /api/v1/me/tokens": READ,
    "POST /api/v1/me/tokens": WRITE,
    "DELETE /api/v1/me/tokens/{token_id}": WRITE,
    "GET /api/v1/shelf": READ,
    "PATCH /api/v1/shelf": WRITE,
    "GET /api/v1/groups": READ,
    "POST /api/v1/groups": WRITE,
    "GET /api/v1/groups/{group_id}": READ,
    "PATCH /api/v1/groups/{group_id}": WRITE,
    "DELETE /api/v1/groups/{group_id}": WRITE,
    "GET /api/v1/feeds": READ,
    "POST /api/v1/feeds": WRITE,
    "POST /api/v1/feeds/batch": WRITE,
    "POST /api/v1/feeds/validate": WRITE,
    "POST /api/v1/feeds/refresh": WRITE,
    "GET /api/v1/feeds/refresh": READ,
    "GET /api/v1/feeds/{feed_id}": READ,
    "PATCH /api/v1/feeds/{feed_id}": WRITE,
    "DELETE /api/v1/feeds/{feed_id}": WRITE,
    "POST /api/v1/feeds/{feed_id}/refresh": WRITE,
    "GET /api/v1/items": READ,
    "GET /api/v1/items/{item_id}": READ,
    "PATCH /api/v1/items/-/read": WRITE,
    "PATCH /api/v1/items/-/unread": WRITE,
    "PATCH /api/v1/items/-/undo": WRITE,
    "POST /api/v1/opml": WRITE,
    "GET /api/v1/opml": READ,
    "GET /api/v1/search": READ,
    "GET /api/v1/bookmarks": READ,
    "POST /api/v1/bookmarks": WRITE,
    "GET /api/v1/bookmarks/{bookmark_id}": READ,
    "PATCH /api/v1/bookmarks/{bookmark_id}": WRITE,
    "DELETE /api/v1/bookmarks/{bookmark_id}": WRITE,
    "GET /api/v1/library": READ,
    "POST /api/v1/library": WRITE,
    "GET /api/v1/library/continue": READ,
    "GET /api/v1/library/{follow_id}": READ,
    "PATCH /api/v1/library/{follow_id}": WRITE,
    "DELETE /api/v1/library/{follow_id}": WRITE,
    "GET /api/v1/history": READ,
    "DELETE /api/v1/history": WRITE,
    "DELETE /api/v1/history/{opened_id}": WRITE,
    "GET /api/v1/series/{series_id}": READ,
    "GET /api/v1/series/{series_id}/chapters": READ,
    "POST /api/v1/series/{series_id}/read": WRITE,
    "POST /api/v1/series/{series_id}/unread": WRITE,
    "GET /api/v1/series/{series_id}/chapters/{chapter_id}": READ,
    "PATCH /api/v1/series/{series_id}/chapters/{chapter_id}": WRITE,
    "GET /api/v1/series/{series_id}/chapters/{chapter_id}/progress": READ,
    "PUT /api/v1/series/{series_id}/chapters/{chapter_id}/progress": WRITE,
    "POST /api/v1/progress/batch": WRITE,
    "POST /api/v1/admin/series/{series_id}/merge": ADMIN,
    "POST /api/v1/admin/series/{series_id}/split": ADMIN,
    "GET /api/v1/inbox": READ,
    "PATCH /api/v1/inbox/-/read": WRITE,
    "PATCH /api/v1/inbox/-/unread": WRITE,
    "GET /api/v1/events": READ,
    "GET /api/v1/counts": READ,
    "GET /api/v1/channels": READ,
    "POST /api/v1/channels": WRITE,
    "PATCH /api/v1/channels/{channel_id}": WRITE,
    "DELETE /api/v1/channels/{channel_id}": WRITE,
    "POST /api/v1/channels/{channel_id}/test": WRITE,
    "GET /api/v1/admin/users": ADMIN,
    "POST /api/v1/admin/users": ADMIN,
    "GET /api/v1/admin/users/{user_id}": ADMIN,
    "PATCH /api/v1/admin/users/{user_id}": ADMIN,
    "DELETE /api/v1/admin/users/{user_id}": ADMIN,
    "GET /api/v1/admin/users/{user_id}/contents": ADMIN,
    "POST /api/v1/admin/users/{user_id}/disable": ADMIN,
    "POST /api/v1/admin/users/{user_id}/enable": ADMIN,
    "PUT /api/v1/admin/users/{user_id}/password": ADMIN,
    "GET /api/v1/admin/invites": ADMIN,
    "POST /api/v1/admin/invites": ADMIN,
    "DELETE /api/v1/admin/invites/{invite_id}": ADMIN,
    "GET /api/v1/admin/tenants": ADMIN,
    "POST /api/v1/admin/tenants": ADMIN,
    "GET /api/v1/admin/tenants/{tenant_id}": ADMIN,
    "PATCH /api/v1/admin/tenants/{tenant_id}": ADMIN,
    "DELETE /api/v1/admin/tenants/{tenant_id}": ADMIN,
    "GET /api/v1/admin/tenants/{tenant_id}/contents": ADMIN,
    "GET /api/v1/plans": READ,
    "GET /api/v1/tenants/{payer_id}": READ,
    "GET /api/v1/tenants/{payer_id}/shelves": READ,
    "POST /api/v1/tenants/{payer_id}/shelves": WRITE,
    "GET /api/v1/tenants/{payer_id}/activity": READ,
    "GET /api/v1/tenants/{payer_id}/invoices": READ,
    "GET /api/v1/tenants/{payer_id}/statement": READ,
    "GET /api/v1/invoices/{invoice_id}": READ,
    "PATCH /api/v1/shelves/{rented_id}": WRITE,
    "PUT /api/v1/shelves/{rented_id}/plan": WRITE,
    "POST /api/v1/shelves/{rented_id}/deactivate": WRITE,
    "POST /api/v1/shelves/{rented_id}/reactivate": WRITE,
    "POST /api/v1/admin/invoices/{invoice_id}/void": ADMIN,
    "POST /api/v1/admin/invoices/{invoice_id}/pay": ADMIN,
    "POST /api/v1/admin/tenants/{tenant_id}/credit": ADMIN,
    "POST /api/v1/webhooks/stripe": PUBLIC,
    "GET /api/v1/admin/auditlog": ADMIN,
    "GET /api/v1/admin/crawler/sources": ADMIN,
    "POST /api/v1/admin/crawler/sources": ADMIN,
    "GET /api/v1/admin/crawler/sources/{source_id}": ADMIN,
    "PATCH /api/v1/admin/crawler/sources/{source_id}": ADMIN,
    "DELETE /api/v1/admin/crawler/sources/{source_id}": ADMIN,
    "PATCH /api/v1/admin/crawler/sources/{source_id}/enable": ADMIN,
    "GET /api/v1/admin/crawler/sources/{source_id}/health": ADMIN,
    "GET /api/v1/admin/crawler/extensions": ADMIN,
    "GET /api/v1/admin/crawler/pause": ADMIN,
    "POST /api/v1/admin/crawler/pause": ADMIN,
    "POST /api/v1/admin/crawler/resume": ADMIN,
    "GET /api/v1/admin/crawler/jobs": ADMIN,
    "POST /api/v1/admin/crawler/jobs": ADMIN,
    "GET /api/v1/admin/crawler/jobs/{job_id}": ADMIN,
    "PATCH /api/v1/admin/crawler/jobs/{job_id}/cancel": ADMIN,
    "GET /api/v1/admin/crawler/jobs/{job_id}/logs": ADMIN,
    "GET /api/v1/admin/crawler/jobs/{job_id}/events": ADMIN,
    "GET /api/v1/admin/comics": ADMIN,
    "POST /api/v1/admin/comics": ADMIN,
    "GET /api/v1/admin/comics/{comic_id}/sources": ADMIN,
    "POST /api/v1/admin/comics/{comic_id}/sources": ADMIN,
    "PATCH /api/v1/admin/comics/{comic_id}/sources/{mapping_id}": ADMIN,
    "DELETE /api/v1/admin/comics/{comic_id}/sources/{mapping_id}": ADMIN,
    "GET /api/v1/admin/deadletters": ADMIN,
    "POST /api/v1/admin/deadletters/replay": ADMIN,
    "POST /api/v1/admin/deadletters/discard": ADMIN,
    "GET /api/v1/admin/deadletters/{letter_id}": ADMIN,
    "POST /api/v1/admin/deadletters/{letter_id}/replay": ADMIN,
    "POST /api/v1/admin/deadletters/{letter_id}/discard": ADMIN,
    "GET /api/v1/admin/queues": ADMIN,
    "GET /api/v1/sources": READ,
    "GET /api/v1/sources/{site_id}/popular": READ,
    "GET /api/v1/sources/{site_id}/latest": READ,
    "GET /api/v1/sources/{site_id}/search": READ,
    "GET /api/v1/sources/{site_id}/filters": READ,
    "GET /api/v1/sources/{site_id}/meta": READ,
    "PUT /api/v1/sources/{site_id}/meta": ADMIN,
    "GET /api/v1/manga/{manga_id}": READ,
    "GET /api/v1/manga/{manga_id}/chapters": READ,
    "GET /api/v1/chapters/{release_id}/pages": READ,
    "GET /api/v1/chapters/{release_id}/pages/{position}/image": READ,
    "GET /api/v1/manga/{manga_id}/cover": READ,
    "GET /api/v1/images/{signature}/{picture}": READ,
    "GET /api/v1/media/{terms}/{seal}/{medium}": READ,
    "POST /api/v1/chapters/{kept_id}/download": WRITE,
    "GET /api/v1/chapters/{kept_id}/download": READ,
    "DELETE /api/v1/chapters/{kept_id}/download": WRITE,
    "GET /api/v1/downloads": READ,
}

# What each caller meets at a route of each policy; 0 is being let in.
CALLERS: dict[str, dict[str, int]] = {
    "anonymous": {PUBLIC: 0, READ: 401, WRITE: 401, ADMIN: 401},
    "reader": {PUBLIC: 0, READ: 0, WRITE: 0, ADMIN: 403},
    "other tenant's reader": {PUBLIC: 0, READ: 0, WRITE: 0, ADMIN: 403},
    "admin": {PUBLIC: 0, READ: 0, WRITE: 0, ADMIN: 0},
    "read token": {PUBLIC: 0, READ: 0, WRITE: 403, ADMIN: 403},
    "write token": {PUBLIC: 0, READ: 403, WRITE: 0, ADMIN: 403},
    "admin token": {PUBLIC: 0, READ: 403, WRITE: 403, ADMIN: 0},
    "demoted admin's token": {PUBLIC: 0, READ: 403, WRITE: 403, ADMIN: 403},
    "expired token": {PUBLIC: 0, READ: 401, WRITE: 401, ADMIN: 401},
    "revoked session": {PUBLIC: 0, READ: 401, WRITE: 401, ADMIN: 401},
    "disabled reader": {PUBLIC: 0, READ: 401, WRITE: 401, ADMIN: 401},
}


def a_mapping_body() -> dict[str, Any]:
    """Another one every time, on the first source that there is."""
    key = secrets.token_hex(4)
    return {"sourceid": 100000, "sourceid_ext": key, "sourceurl": f"https://example.org/{key}"}


def a_shelf_body() -> dict[str, Any]:
    """Another name every time."""
    return {"name": secrets.token_hex(4), "plan": "basic"}


# Bodies that are fine, or what makes them, for routes whose object is looked for only after the body was read.
BODIES: dict[str, Any] = {
    "PUT /api/v1/admin/users/{user_id}/password": {"password": "another password"},
    "PATCH /api/v1/admin/tenants/{tenant_id}": {"name": "Renamed"},
    "POST /api/v1/tenants/{payer_id}/shelves": a_shelf_body,
    "PATCH /api/v1/shelves/{rented_id}": lambda: {"name": secrets.token_hex(4)},
    "PUT /api/v1/shelves/{rented_id}/plan": {"plan": "growth"},
    "POST /api/v1/admin/invoices/{invoice_id}/pay": {"reference": "bank"},
    "POST /api/v1/admin/tenants/{tenant_id}/credit": {"amount_cents": 100, "reason": "sorry"},
    "PATCH /api/v1/bookmarks/{bookmark_id}": {"note": "Mine"},
    "PATCH /api/v1/admin/crawler/sources/{source_id}/enable": {"isenabled": True},
    "POST /api/v1/admin/comics/{comic_id}/sources": a_mapping_body,
    "POST /api/v1/series/{series_id}/read": {"all": True},
    "POST /api/v1/series/{series_id}/unread": {"all": True},
    "PUT /api/v1/series/{series_id}/chapters/{chapter_id}/progress": {"page": 1},
    "PUT /api/v1/sources/{site_id}/meta": {"key": "theme", "value": "dark"},
}

# The same where the body names what goes with the object.
BODIES_OF: dict[str, Callable[[Any], Any]] = {
    "POST /api/v1/admin/series/{series_id}/merge": lambda made: {"into": made["other_id"]},
    "POST /api/v1/admin/series/{series_id}/split": lambda made: {"sources": [int(made["mapping_id"])]},
}

# Answers that do not end by themselves: only their beginning is looked at.
STREAMS = {"GET /api/v1/events", "GET /api/v1/admin/crawler/jobs/{job_id}/events"}


@pytest.fixture
async def town(tmp_path) -> AsyncIterator[Town]:
    async with a_town(tmp_path, billing="on") as town:
        yield town


def routes(app: Any) -> dict[str, Resource]:
    """Every method and path that the router knows, found by walking down to it."""
    while not isinstance(app, Router):
        app = getattr(app, "_app", None) or app.app
    found: dict[str, Resource] = {}
    for route in app.routes:
        assert isinstance(route, Route)
        assert isinstance(route.endpoint, Resource)
        found |= {f"{method} {route.path}": route.endpoint for method in route.endpoint.handlers if method != "HEAD"}
    return found


def endpoints() -> dict[str, Endpoint]:
    return {f"{endpoint.method} {API}{endpoint.path}": endpoint for endpoint in ENDPOINTS}


def _body(name: str) -> Any:
    body = BODIES.get(name)
    return body() if callable(body) else body


# -- the callers


async def visitor(town: Town, name: str) -> Visitor:
    """A new one for every request: some requests end the caller's own session."""
    makers: dict[str, Callable[[Town], Awaitable[Visitor]]] = {
        "anonymous": _anonymous,
        "reader": _reader,
        "other tenant's reader": _other_reader,
        "admin": _admin,
        "read token": lambda town: _token(town, "read"),
        "write token": lambda town: _token(town, "write"),
        "admin token": lambda town: _token(town, "admin"),
        "demoted admin's token": _demoted,
        "expired token": _expired,
        "revoked session": _revoked,
        "disabled reader": _disabled,
    }
    return await makers[name](town)


async def _anonymous(town: Town) -> Visitor:
    return town.anyone


async def _reader(town: Town) -> Visitor:
    return await town.signed_in(await town.add())


async def _other_reader(town: Town) -> Visitor:
    return await town.signed_in(await town.add(tenant_id=town.other_tenant))


async def _admin(town: Town) -> Visitor:
    return await town.signed_in(await town.add(role="admin"))


async def _token(town: Town, scope: str) -> Visitor:
    return await town.with_token(await town.add(role="admin"), scope)


async def _demoted(town: Town) -> Visitor:
    user = await town.add(role="admin")
    holder = await town.with_token(user, "admin")
    await town.accounts.users.change(SYSTEM, user.public_id, Change(role="reader"))
    return holder


async def _expired(town: Town) -> Visitor:
    ends = Millis(town.time() + SECOND)
    holder = await town.with_token(await town.add(role="admin"), "read", "write", "admin", ends=ends)
    town.time.pass_(SECOND)
    return holder


async def _revoked(town: Town) -> Visitor:
    user = await town.add(role="admin")
    holder = await town.signed_in(user)
    await town.accounts.sign_in.sign_out(holder.headers["cookie"].partition("=")[2], "")
    return holder


async def _disabled(town: Town) -> Visitor:
    user = await town.add()
    holder = await town.signed_in(user)
    await town.accounts.users.disable(SYSTEM, user.public_id)
    return holder


# -- the objects in paths: one of the caller's own, one of somebody else's


async def _session_of(town: Town, user: User) -> PublicId:
    return (await _caller(town, user)).key_public_id


async def _token_of(town: Town, user: User) -> PublicId:
    await town.with_token(user, "read")
    return (await town.accounts.tokens.list(await _caller(town, user)))[0].public_id


async def _user_of(town: Town, user: User) -> PublicId:
    tenant = (await town.accounts.oneself.look(await _caller(town, user))).tenant
    return (await town.add(tenant_id=tenant.public_id)).public_id


async def _invite_of(town: Town, user: User) -> PublicId:
    return (await town.accounts.invites.make(await _caller(town, user), "reader", None)).public_id


async def _tenant_of(town: Town, _: User) -> PublicId:
    return (await town.accounts.tenants.add(SYSTEM, "Third")).public_id


async def _payer_of(town: Town, user: User) -> PublicId:
    return (await town.accounts.oneself.look(await _caller(town, user))).tenant.public_id


async def _rented_of(town: Town, user: User) -> PublicId:
    payer = await _payer_of(town, user)
    made = await town.billing.rented.create(OPERATOR, payer, name=secrets.token_hex(8), plan="basic")
    return made.public_id


async def _invoice_of(town: Town, user: User) -> PublicId:
    await _rented_of(town, user)
    found, _ = await town.billing.books.invoices(OPERATOR, await _payer_of(town, user), Slice(most=1))
    return found[0].public_id


async def _group_of(town: Town, user: User) -> PublicId:
    return (await town.reading.groups.add(await _shelf_of(town, user), secrets.token_hex(8))).public_id


async def _feed_of(town: Town, user: User) -> PublicId:
    wish = Wish(link=f"http://93.184.216.34/{secrets.token_hex(8)}")
    return (await town.reading.subscriptions.add(await _shelf_of(town, user), wish)).public_id


async def _item_of(town: Town, user: User) -> str:
    shelf, feed = await _shelf_of(town, user), await _feed_of(town, user)
    feed_id = (await town.reading.subscriptions.get(shelf, feed)).feed_id
    await publish(town.accounts.ground.db, feed_id, ["1"])
    page = await town.reading.entries.list(shelf, Filter(feed=feed), after=FROM_THE_TOP, most=1)
    return str(page.rows[0].id)


async def _bookmark_of(town: Town, user: User) -> PublicId:
    new = NewBookmark(link=f"https://example.org/{secrets.token_hex(8)}", title="A page")
    return (await town.reading.bookmarks.add(await _shelf_of(town, user), new)).public_id


async def _channel_of(town: Town, user: User) -> PublicId:
    config = {"url": "http://93.184.216.34/hook"}
    added = await town.channels.add(await _shelf_of(town, user), "webhook", name=secrets.token_hex(8), config=config)
    return added.channel.id


async def _source_of(town: Town, _: User) -> str:
    name = secrets.token_hex(4)
    wanted = Wanted(name=name, slug=name, base_url="https://example.org")
    return str((await town.crawling.sources.register(SYSTEM, wanted)).id)


async def _job_of(town: Town, user: User) -> PublicId:
    source = await _source_of(town, user)
    return (await town.crawling.jobs.trigger(await _caller(town, user), CrawlWish(int(source)))).public_id


async def _comic_of(town: Town, user: User) -> PublicId:
    await _source_of(town, user)
    return (await town.crawling.comics.add(SYSTEM, "A comic", None)).public_id


async def _mapping_of(town: Town, user: User) -> dict[str, str]:
    source, comic, key = await _source_of(town, user), await _comic_of(town, user), secrets.token_hex(4)
    new = NewMapping(source_id=int(source), source_key=key, url=f"https://example.org/{key}")
    mapping = await town.crawling.comics.link(SYSTEM, comic, new)
    return {"comic_id": show_id(comic), "mapping_id": str(mapping.id)}


async def _site_of(town: Town, _: User) -> str:
    """A folder with one series of one chapter."""
    name = secrets.token_hex(4)
    folder = town.folder / name
    (folder / "Series" / "Chapter 1").mkdir(parents=True)
    (folder / "Series" / "cover.png").write_bytes(a_picture())
    (folder / "Series" / "Chapter 1" / "1.png").write_bytes(a_picture())
    wanted = Wanted(name=name, slug=name, base_url="local:", connector="tsuzuki.local", config={"folder": str(folder)})
    return str((await town.crawling.sources.register(SYSTEM, wanted)).id)


async def _manga_of(town: Town, user: User) -> str:
    wish = ListWish(kind="popular", shelf_id=await _shelf_of(town, user))
    listed = await town.catalogue.browsing.browse(int(await _site_of(town, user)), wish)
    return str(listed.value.manga[0].id)


async def _release_of(town: Town, user: User) -> str:
    shelf = await _shelf_of(town, user)
    listed = await town.catalogue.chapter_lists.list(int(await _manga_of(town, user)), shelf)
    return str(listed.value[0].id)


async def _page_of(town: Town, user: User) -> dict[str, str]:
    return {"release_id": await _release_of(town, user), "position": "0"}


async def _kept_of(town: Town, user: User) -> str:
    release = await _release_of(town, user)
    await town.pictures.kept.keep(await _shelf_of(town, user), ReleaseId(int(release)))
    return release


async def _picture_of(town: Town, _: User) -> dict[str, str]:
    address = f"https://example.org/{secrets.token_hex(8)}.png"
    await stored_picture(town, address)
    signature, picture = town.pictures.articles.url(address).split("/")[-2:]
    return {"signature": signature, "picture": picture}


async def _recording_of(town: Town, _: User) -> dict[str, str]:
    links = await MediaLinks.open(town.db, secrets.token_bytes, town.time)
    terms, seal, medium = links.url(Link("audio", "http://127.0.0.1/a.mp3")).split("/")[-3:]
    return {"terms": terms, "seal": seal, "medium": medium}


async def _series_of(town: Town, _: User) -> dict[str, str]:
    series, other = await a_published_series(town.db, [1], sources=2), await a_published_series(town.db)
    names = {"series_id": show_id(series.public_id), "other_id": show_id(other.public_id)}
    return names | {"mapping_id": str(series.sources[0])}


async def _follow_of(town: Town, user: User) -> PublicId:
    wish = Following(series=(await a_published_series(town.db)).public_id)
    return (await town.reading.follows.add(await _shelf_of(town, user), wish)).follow.public_id


async def _chapter_of(town: Town, _: User) -> dict[str, str]:
    series = await a_published_series(town.db, [1])
    return {"series_id": show_id(series.public_id), "chapter_id": str(await chapter_of(town.db, series.id, 1))}


async def _opened_of(town: Town, user: User) -> str:
    series = await a_published_series(town.db, [1])
    chapter = await chapter_of(town.db, series.id, 1)
    await town.reading.progress.tell(await _shelf_of(town, user), series.public_id, chapter, Reading(page=1))
    return str(chapter)


async def _letter_of(town: Town, _: User) -> str:
    return str(await a_dead_letter(town.accounts.ground.db, town.time()))


async def _shelf_of(town: Town, user: User) -> ShelfId:
    return (await town.accounts.oneself.pick_shelf(await _caller(town, user), None)).id


async def _caller(town: Town, user: User) -> Caller:
    resumed = await town.accounts.sessions.resume(await town.session(user), "")
    assert resumed is not None
    return resumed.caller


Filling = PublicId | str | dict[str, str]

OBJECTS: dict[str, Callable[[Town, User], Awaitable[Filling]]] = {
    "session_id": _session_of,
    "token_id": _token_of,
    "user_id": _user_of,
    "invite_id": _invite_of,
    "tenant_id": _tenant_of,
    "payer_id": _payer_of,
    "rented_id": _rented_of,
    "invoice_id": _invoice_of,
    "group_id": _group_of,
    "feed_id": _feed_of,
    "item_id": _item_of,
    "bookmark_id": _bookmark_of,
    "channel_id": _channel_of,
    "source_id": _source_of,
    "job_id": _job_of,
    "comic_id": _comic_of,
    "mapping_id": _mapping_of,
    "letter_id": _letter_of,
    "series_id": _series_of,
    "follow_id": _follow_of,
    "chapter_id": _chapter_of,
    "opened_id": _opened_of,
    "site_id": _site_of,
    "manga_id": _manga_of,
    "release_id": _release_of,
    "position": _page_of,
    "kept_id": _kept_of,
    "signature": _picture_of,
    "picture": _picture_of,
    "terms": _recording_of,
    "seal": _recording_of,
    "medium": _recording_of,
}
COMMON = {"site_id", "manga_id", "release_id", "series_id", "chapter_id", "position", "picture", "medium"}
"""What sources have is everybody's (R70): there is no foreign one."""
ANYONES = {"POST /api/v1/chapters/{kept_id}/download"}
"""Likewise: a chapter that one shelf keeps, another may keep too."""
UNCALLED = {"GET /api/v1/media/{terms}/{seal}/{medium}": 400}
"""Nothing of it is here, and the guard refuses its publisher: whose seal is good is told just that."""
MISSING = "01952ff9-0000-7000-8000-000000000000"


def filled(path: str, value: Filling = MISSING) -> str:
    """With one value for every object in it, or with one for each."""
    text = show_id(value) if isinstance(value, bytes) else value
    for name in OBJECTS:
        path = path.replace(f"{{{name}}}", text if isinstance(text, str) else text.get(name, MISSING))
    return path.removeprefix(API)


# -- the tests


def test_every_route_of_the_router_has_a_declared_policy_and_every_policy_a_route(town):
    found = routes(town.app)
    assert set(found) == set(POLICY)
    for name, endpoint in endpoints().items():
        assert endpoint.access.value == POLICY[name], name


async def test_every_caller_meets_at_every_route_what_the_table_says(town):
    wrong = {}
    for name, policy in POLICY.items():
        method, path = name.split()
        if not path.startswith(API):
            continue
        for caller, table in CALLERS.items():
            who = await visitor(town, caller)
            ask = who.begin if name in STREAMS else who.ask
            status = (await ask(method, filled(path), _body(name))).status
            if (status if status in (401, 403) else 0) != table[policy]:
                wrong[name, caller] = status
    assert wrong == {}


async def test_what_is_somebody_elses_is_as_unknown_as_what_is_not_there(town):
    """SEC-31: own, foreign and missing objects at every route that names one."""
    wrong = {}
    for name, endpoint in endpoints().items():
        parameters = list(signature_of(endpoint).path)
        if not parameters:
            continue
        assert set(parameters) <= set(OBJECTS), f"{name}: say in OBJECTS how to make {parameters}"
        make = OBJECTS[parameters[-1]]
        is_admins = POLICY[name] == ADMIN
        me = await town.add(role="admin" if is_admins else "reader")
        other = await town.add(role="admin", tenant_id=town.other_tenant)
        objects = {"own": await make(town, me), "foreign": await make(town, other)}
        paths = {kind: filled(endpoint.path, value) for kind, value in objects.items()}
        paths |= {"missing": filled(endpoint.path), "nonsense": filled(endpoint.path, "..%2f1")}
        table = {
            "own": UNCALLED.get(name, 0),
            "foreign": UNCALLED.get(name, 0) if is_admins or parameters[-1] in COMMON or name in ANYONES else 404,
            "missing": 404,
            "nonsense": 404,
        }
        body = BODIES.get(name, {} if signature_of(endpoint).body else None)
        for kind, path in paths.items():
            who = await town.signed_in(me)
            ask = who.begin if name in STREAMS else who.ask
            if name in BODIES_OF:
                body = BODIES_OF[name](objects.get(kind, objects["own"]))
            answer = await ask(endpoint.method, path, body() if callable(body) else body)
            outcome = 0 if answer.status < 300 else answer.status
            if outcome != table[kind]:
                wrong[name, kind] = answer.status, answer.text
    assert wrong == {}


async def test_every_write_that_another_sites_page_makes_is_refused(town):
    """SEC-42, for cookies and for doors alike; a token is no cookie."""
    admin = await town.add(role="admin")
    hostile: list[dict[str, str]] = [
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "cross-site", "origin": town.client.base},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "https://evil.example", "content_type": "text/plain"},
        {"origin": town.client.base + ".evil.example"},
    ]
    wrong = {}
    for name, endpoint in endpoints().items():
        if endpoint.method in SAFE_METHODS:
            continue
        who = await town.signed_in(admin)
        for headers in hostile:
            status = (await who.ask(endpoint.method, filled(endpoint.path), {}, **headers)).status
            if status != 403:
                wrong[name, str(headers)] = status
    assert wrong == {}
    bearer = await town.with_token(admin, "write")
    assert (await bearer.ask("DELETE", "/me/sessions", sec_fetch_site="cross-site")).status == 200
    own = await town.signed_in(admin)
    for headers in ({"sec_fetch_site": "same-origin"}, {"origin": town.client.base}, {"sec_fetch_site": "none"}, {}):
        assert (await own.ask("DELETE", "/me/sessions", **headers)).status == 200


async def test_no_route_takes_a_field_that_it_does_not_declare(town):
    """SEC-33: what a row has and a form has not cannot be set, whatever the route."""
    fields = {field.name for field in msgspec.structs.fields(User)}
    fields |= {"password_hash", "is_admin", "oidc_subject", "scopes", "key_hash", "revoked_at", "plan", "actor"}
    admin = await town.add(role="admin")
    wrong = {}
    for name, endpoint in endpoints().items():
        for form in signature_of(endpoint).body.values():
            declared = {field.encode_name for field in msgspec.structs.fields(form)}
            assert not declared & {"id", "public_id", "password_hash", "key_hash", "disabled_at"}, name
            who = await town.signed_in(admin)
            for field in fields - declared:
                answer = await who.ask(endpoint.method, filled(endpoint.path), {field: "x"})
                if answer.status != 400 or field not in [one["field"] for one in answer.json()["details"]]:
                    wrong[name, field] = answer.status
    assert wrong == {}


DISGUISES = [
    "/api/v1/admin/users/",
    "//api/v1/admin/users",
    "/api/v1//admin/users",
    "/api/v1/./admin/users",
    "/api/v1/about/../admin/users",
    "/api/v1/about/%2e%2e/admin/users",
    "/api/v1/about%2f..%2fadmin%2fusers",
    "/api/v1/admin%2Fusers",
    "/api/v1/%61dmin/users",
    "/API/V1/ADMIN/USERS",
    "/api/v1/admin/users;a=b",
    "/api/v1/admin/users%00",
    "/api/v1/admin/users%20",
    "/api/v1/admin/users.json",
    "/static/../api/v1/admin/users",
    "/static/..%2fapi/v1/admin/users",
    "/healthz/../api/v1/admin/users",
]


@pytest.mark.parametrize("host", [None, "evil.example", "localhost/api/v1/about?", "a b", "[::1", "x@y", ""])
async def test_no_spelling_of_a_path_or_host_gets_around_the_gate(town, host):
    """SEC-32."""
    headers = {} if host is None else {"host": host}
    for path in DISGUISES:
        answer = await town.client.get(path, headers=headers)
        assert answer.status in (400, 401, 404), path


async def test_every_answer_carries_the_policy_and_no_way_to_be_framed(town):
    """SEC-13, SEC-15: refusals included."""
    for who in (town.anyone, await _reader(town), await _admin(town)):
        for path in ("/me", "/admin/users", "/nope", "/sessions"):
            answer = await who.get(path)
            assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cache-control"] == "no-store"


async def test_other_sites_may_read_only_where_the_operator_lists_them(tmp_path):
    friend = "https://friend.example"
    async with a_town(tmp_path, cors_allowed_origins=friend) as town:
        for origin, expected in ((friend, friend), ("https://evil.example", None), ("null", None)):
            answer = await town.anyone.get("/about", origin=origin)
            assert answer.headers.get("access-control-allow-origin") == expected
            assert "access-control-allow-credentials" not in answer.headers


def test_the_tables_name_every_policy():
    assert all(set(table) == {PUBLIC, READ, WRITE, ADMIN} for table in CALLERS.values())

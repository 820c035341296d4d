"""The Google Reader API, as FreshRSS answers it: for apps that ask for its address, or append `api/greader.php`."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.types import Protocol
from tsuzuki.http.errors import MethodNotAllowed
from tsuzuki.http.routing import Handler
from tsuzuki.model.errors import Invalid, Unauthorized
from tsuzuki.protocols.access import AppResource, ProtocolDeps, app_request
from tsuzuki.protocols.google_reader import edits, lists, streams
from tsuzuki.protocols.google_reader.requests import (
    REFUSAL,
    WRONG_PAIR,
    Call,
    ReaderRequest,
    json_answer,
    shaped,
    text_answer,
)
from tsuzuki.protocols.params import Params, read_params

GREADER = Protocol(
    name="greader",
    title="Google Reader",
    path="/api/greader.php",
)

_UNFIT = re.compile(r"[^A-Za-z0-9._~-]")
"""What some app cannot read within a token."""
_TOKEN = re.compile(r"[0-9a-f]{40}")
_SCHEME = "googlelogin"


def token_of(password: str) -> str:
    """What stands for a device password in every request; the same each time."""
    return hashlib.sha256(f"tsuzuki greader {password}".encode("utf-8", "surrogatepass")).hexdigest()[:40]


async def answer_sign_in(deps: ProtocolDeps, request: Request) -> Response:
    """The token of whoever sent a name and a device password, three times, as there were three cookies once."""
    params = await read_params(request)
    password = params.one("Passwd")
    if _TOKEN.fullmatch(password):
        raise Unauthorized  # a token signs nobody in: each would make another
    user = await deps.sign_in(request, GREADER, params.one("Email"), password)
    token = token_of(password)
    await deps.services.accounts.devices.accept(app_request(request, GREADER), user, token)
    named = f"{_UNFIT.sub('-', user.caller.username)}/{token}"
    said = {"SID": named, "LSID": named, "Auth": named}
    if params.one("output") == "json":
        return json_answer(said)
    return text_answer("".join(f"{name}={value}\n" for name, value in said.items()))


def sent_token(request: Request) -> str:
    """The token without the name before it; empty where none was sent."""
    scheme, _, said = request.headers.get("authorization", "").strip().partition(" ")
    name, _, value = said.strip().partition("=")
    if scheme.lower() != _SCHEME or name.strip().lower() != "auth":
        return ""
    return value.strip().rpartition("/")[2]


PHP = "/api/greader.php"
"""Where FreshRSS has it."""
MOST_NAMED = 50
"""Streams in one request: each may be looked up, made, or fetched. Only entries come by the thousand."""
_NAMING = ("s", "t", "a", "r", "it", "xt")
BASES = ("", PHP)
"""What apps put before a path."""


def resources(deps: ProtocolDeps) -> Sequence[AppResource]:
    """The same at every base; what answers before somebody has signed in says nothing."""

    async def sign_in(request: Request) -> Response:
        return await shaped(answer_sign_in(deps, request), WRONG_PAIR)

    async def call(request: Request) -> Response:
        return await shaped(_call(deps, request), REFUSAL)

    pages = {PHP: "OK", f"{PHP}/": "OK", f"{PHP}/check/compatibility": "PASS"}
    found = [AppResource(path, {"GET": _saying(text)}, is_public=True) for path, text in pages.items()]
    for base in BASES:
        found.append(AppResource(f"{base}/accounts/ClientLogin", {"GET": sign_in, "POST": sign_in}, is_public=True))
        found.append(AppResource(f"{base}/reader/api/0/{{call:path}}", {"GET": call, "POST": call}))
    return found


def _saying(text: str) -> Handler:
    async def say(_: Request) -> Response:
        return text_answer(text)

    return say


async def _call(deps: ProtocolDeps, request: Request) -> Response:
    user = await deps.sign_in(request, GREADER, None, sent_token(request))
    name = request.path_params["call"].strip("/")
    if request.method != "POST" and name in _WRITES:
        raise MethodNotAllowed(request.method, ["POST"])
    params = Params(()) if name == _IMPORT else await read_params(request)
    if any(len(params.all(each)) > MOST_NAMED for each in _NAMING):
        raise Invalid(f"A request can name at most {MOST_NAMED} streams.")
    asked = ReaderRequest(deps, user, params, deps.base_of(request), request)
    if name.startswith(_STREAM):
        return await streams.list_contents(asked, name.removeprefix(_STREAM))
    found = _READS.get(name) or _WRITES.get(name)
    # Older apps end a sync where something that they ask for is not there.
    return json_answer([]) if found is None else await found(asked)


def _always(body: Any) -> Call:
    async def say(_: ReaderRequest) -> Response:
        return json_answer(body)

    return say


_STREAM = "stream/contents/"
"""Before the id of a stream, which may contain slashes."""
_READS: Mapping[str, Call] = {
    "token": lists.show_token,
    "user-info": lists.show_user,
    "tag/list": lists.list_tags,
    "subscription/list": lists.list_subscriptions,
    "subscription/export": lists.export_list,
    "unread-count": lists.count_unread,
    "stream/items/ids": streams.list_ids,
    "stream/items/contents": streams.show_items,
    "stream/contents": streams.list_contents,
    "preference/list": _always({"prefs": []}),
    "preference/stream/list": _always({"streamprefs": {}}),
    "friend/list": _always({"friends": []}),
    "status": _always({"status": "up"}),
}
_IMPORT = "subscription/import"
"""Its body is the list itself, and no form."""
_WRITES: Mapping[str, Call] = {
    "edit-tag": edits.edit_tag,
    "mark-all-as-read": edits.mark_all,
    "subscription/edit": edits.edit_subscription,
    "subscription/quickadd": edits.quick_add,
    _IMPORT: lists.import_list,
    "rename-tag": edits.rename_tag,
    "disable-tag": edits.disable_tag,
}

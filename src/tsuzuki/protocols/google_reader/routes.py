"""Every address of the API, and what answers it."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.http.errors import MethodNotAllowed
from tsuzuki.http.routing import Handler
from tsuzuki.protocols.access import AppResource, ProtocolDeps
from tsuzuki.protocols.google_reader import edits, lists, marks, streams
from tsuzuki.protocols.google_reader.answers import CORS, REFUSAL, WRONG_PAIR, json_answer, shaped, text_answer
from tsuzuki.protocols.google_reader.request import Call, ReaderRequest
from tsuzuki.protocols.google_reader.sign_in import GREADER, answer_sign_in, sent_token
from tsuzuki.protocols.params import Params, read_params

PHP = "/api/greader.php"
"""Where FreshRSS has it."""
BASES = ("", "/", PHP, f"{PHP}/")
"""What apps put before a path; one with a slash where somebody typed that at the end, and the app adds its own."""


def resources(deps: ProtocolDeps) -> Sequence[AppResource]:
    """The same at every base; what answers before somebody has signed in says nothing."""

    async def sign_in(request: Request) -> Response:
        return await shaped(answer_sign_in(deps, request), WRONG_PAIR)

    async def call(request: Request) -> Response:
        return await shaped(_call(deps, request), REFUSAL)

    pages = {PHP: "OK", f"{PHP}/": "OK", f"{PHP}/check/compatibility": "PASS"}
    found = [AppResource(path, _open_to_all(_saying(text)), is_public=True) for path, text in pages.items()]
    for base in BASES:
        found.append(AppResource(f"{base}/accounts/ClientLogin", _open_to_all(sign_in), is_public=True))
        found.append(AppResource(f"{base}/reader/api/0/{{call:path}}", _open_to_all(call)))
    return found


def _open_to_all(handler: Handler) -> Mapping[str, Handler]:
    """Also to pages of other sites, whose browsers ask for permission first."""
    return {"OPTIONS": _permit, "GET": handler, "POST": handler}


async def _permit(_: Request) -> Response:
    return Response(status_code=204, headers=CORS)


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
    "edit-tag": marks.edit_tag,
    "mark-all-as-read": marks.mark_all,
    "subscription/edit": edits.edit_subscription,
    "subscription/quickadd": edits.quick_add,
    _IMPORT: lists.import_list,
    "rename-tag": edits.rename_tag,
    "disable-tag": edits.disable_tag,
}

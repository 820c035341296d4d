"""`/import`: files from other programs, and other servers: looked at, shown, imported and undone."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import MemberShelf
from tsuzuki.http.body import read_upload
from tsuzuki.http.errors import BodyTooLarge, failure_of
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import Invalid, NotFound
from tsuzuki.model.ids import read_number
from tsuzuki.transfer.imports.service import MOST_BYTES
from tsuzuki.transfer.imports.types import ShelfImportRow
from tsuzuki.transfer.servers.kinds import SERVER_KINDS, ServerLogin
from tsuzuki.transfer.synced import NO_VERSION
from tsuzuki.web.feeds.feed import LONGEST_URL, read_url
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, problem, read_form, see
from tsuzuki.web.ids import id_of
from tsuzuki.web.links import import_path
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

PATH = "/import"
_LONGEST = 500
_WITH_SOURCES = frozenset({"mihon", "suwayomi"})
"""Kinds whose series name the sources that they are read at."""
_EVERY = 2
"""Seconds between two looks of the page at an import that is under way."""


class ImportLine(msgspec.Struct, frozen=True):
    """An import in the list."""

    path: str
    row: ShelfImportRow


def import_pages(site: Site) -> tuple[Resource, ...]:
    """The page, and what it shows of each import."""
    imports = site.imports

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        frame = await site.frame(request, caller, "import")
        lines = [ImportLine(import_path(row.public_id), row) for row in await imports.list(frame.shelf.id)]
        return site.show(
            frame,
            "import.html",
            form_state,
            lines=lines,
            synced=await site.synced.list(frame.shelf.id),
            servers=SERVER_KINDS,
            longest_url=LONGEST_URL,
            most=MOST_BYTES,
        )

    async def look(request: Request, caller: Caller) -> Response:
        shelf_id = await site.shelf_id(caller)
        try:
            with imports.turn(caller.user_id):
                upload = await read_upload(request, MOST_BYTES)
                shown = await imports.show(shelf_id, caller.user_id, upload.name or "?", upload.body)
        except Invalid as error:
            failure = failure_of(error, "")
            said = failure.body.error
            if isinstance(error, BodyTooLarge):
                said = _("The file is larger than %(size)s MB.", size=MOST_BYTES // 1024**2)
            wrong = FormState(errors={"file": said}, status=failure.status)
            return await show(request, caller, wrong)
        return see(import_path(shown.public_id))

    async def look_at_server(_: Request, caller: Caller, form: Form) -> Response:
        shelf_id = await site.shelf_id(caller)
        with imports.turn(caller.user_id):
            shown = await imports.show_server(shelf_id, caller.user_id, _login(form))
        return see(import_path(shown.public_id))

    return (
        Resource(PATH, {"GET": site.signed_in(show), "POST": site.signed_in(look, PATH)}),
        site.form_page(f"{PATH}/server", show, look_at_server, rules=_RULES, back=PATH),
        *_one_import(site),
        _restore(site),
    )


def _restore(site: Site) -> Resource:
    async def restore(request: Request, shelf: MemberShelf) -> Response:
        await read_form(request)
        version_id = read_number(request.path_params["synced_id"])
        if version_id is None:
            raise NotFound(NO_VERSION)
        await site.synced.restore(shelf.id, version_id)
        return see(with_query(PATH, done="synced_restored"))

    return Resource(f"{PATH}/synced/{{synced_id}}/restore", {"POST": site.on_shelf(restore, PATH)})


_RULES = Rules(keep=("kind", "url", "username"), beside={Invalid: "url"})


def _login(form: Form) -> ServerLogin:
    kind = form.one("kind")
    if kind not in SERVER_KINDS:
        raise problem("kind", _("Choose a kind of server."))
    password = form.one("password")[:_LONGEST]
    if not password:
        raise problem("password", _("Enter the password or the API key."))
    return ServerLogin(
        kind=kind, url=read_url(form), username=form.one("username").strip()[:_LONGEST], password=password
    )


def _one_import(site: Site) -> tuple[Resource, ...]:
    imports = site.imports

    async def show(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "import")
        row = await imports.get(frame.shelf.id, id_of(request, "import_id"))
        answer = site.show(frame, "import_one.html", row=row, path=import_path(row.public_id), **_shown(row))
        if not row.is_over:
            answer.headers["refresh"] = str(_EVERY)
        return answer

    async def start(request: Request, shelf: MemberShelf) -> Response:
        await read_form(request)
        return see(import_path((await imports.start(shelf.id, id_of(request, "import_id"))).public_id))

    async def ask_undo(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "import")
        row = await imports.get(frame.shelf.id, id_of(request, "import_id"))
        return site.ask(
            frame,
            title=_("Undo this import?"),
            text=_(
                "What %(name)s added is removed, and what was read before is restored. What you have read since stays.",
                name=row.name,
            ),
            yes=_("Undo import"),
            path=f"{import_path(row.public_id)}/undo",
            back=import_path(row.public_id),
        )

    async def undo(request: Request, shelf: MemberShelf) -> Response:
        await read_form(request)
        row = await imports.undo(shelf.id, id_of(request, "import_id"))
        return see(with_query(import_path(row.public_id), done="import_undone"))

    async def drop(request: Request, shelf: MemberShelf) -> Response:
        await read_form(request)
        await imports.drop(shelf.id, id_of(request, "import_id"))
        return see(with_query(PATH, done="import_dropped"))

    one = f"{PATH}/{{import_id}}"
    return (
        page(one, site.signed_in(show)),
        Resource(f"{one}/start", {"POST": site.on_shelf(start, PATH)}),
        Resource(f"{one}/undo", {"GET": site.signed_in(ask_undo), "POST": site.on_shelf(undo, PATH)}),
        Resource(f"{one}/drop", {"POST": site.on_shelf(drop, PATH)}),
    )


def _shown(row: ShelfImportRow) -> dict[str, Any]:
    """An import as the template shows it."""
    preview = row.preview
    doing = row.part or ""
    return {
        "known": sum(preview.known.values()),
        "linked": preview.counts.get("series", 0) - preview.unlinked_series if row.kind in _WITH_SOURCES else 0,
        "links_later": row.kind in _WITH_SOURCES,
        "share": 0 if not row.total else min(100, 100 * row.done // row.total),
        "is_checked": doing.startswith("check "),
        "part": doing.removeprefix("bring ").removesuffix(".jsonl"),
    }

"""Bringing a list of feeds in. Taking it out is the API's `/opml`."""

from collections import Counter

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.connectors.opml import MAX_BYTES
from tsuzuki.http.body import read_body
from tsuzuki.http.errors import failure_of
from tsuzuki.http.routing import Resource
from tsuzuki.http.uploads import first_file
from tsuzuki.model.errors import Invalid
from tsuzuki.web.feeds.page import PATH as FEEDS
from tsuzuki.web.forms import BLANK, Sheet
from tsuzuki.web.frame import framing_of
from tsuzuki.web.site import Site

PATH = f"{FEEDS}/import"
_AROUND = 64 * 1024
MOST_SHOWN = 200


def list_page(site: Site) -> Resource:
    """`/feeds/import`"""
    framing = framing_of(site)
    lists = site.lists

    async def show(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        return framing.show(await framing.frame(request, caller, "feeds"), "feeds_import.html", sheet, report=None)

    async def show_import(request: Request, caller: Caller) -> Response:
        return await show(request, caller)

    async def read(request: Request, caller: Caller) -> Response:
        shelf = await site.accounts.current_user.shelf_of(caller)
        body = await read_body(request.scope, request.receive, MAX_BYTES + _AROUND)
        try:
            report = await lists.read(shelf.id, first_file(request.headers.get("content-type", ""), body))
        except Invalid as error:
            wrong = Sheet(errors={"file": str(error)}, status=failure_of(error, "").status)
            return await show(request, caller, wrong)
        failed = [line for line in report if line.outcome == "failed"][:MOST_SHOWN]
        frame = await framing.frame(request, caller, "feeds")
        counts = Counter(line.outcome for line in report)
        return framing.show(frame, "feeds_import.html", report=counts, failed=failed)

    return Resource(PATH, {"GET": site.signed_in(show_import), "POST": site.signed_in(read, PATH)})

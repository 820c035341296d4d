"""Keeping chapters on this server: begun, seen coming, let go."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.shelves.nouns import MemberShelf
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Invalid, LimitExceeded
from tsuzuki.model.ids import ReleaseId, show_id
from tsuzuki.web.forms import read_form, see
from tsuzuki.web.ids import id_of, number_of
from tsuzuki.web.library.page import PATH as LIBRARY
from tsuzuki.web.scripts import data_of, wants_json
from tsuzuki.web.series.acts import PATH
from tsuzuki.web.series.page import back_to
from tsuzuki.web.site import Site
from tsuzuki.web.texts import gettext as _


def keeping_acts(site: Site) -> tuple[Resource, ...]:
    """`/keep`: `keep` or `drop` names a release."""
    kept = site.pictures.kept

    async def keep(request: Request, shelf: MemberShelf) -> Response:
        form = await read_form(request)
        series_id = show_id(id_of(request, "series_id"))
        wanted, dropped = number_of(form.one("keep")), number_of(form.one("drop"))
        if wanted is not None:
            try:
                await kept.keep(shelf.id, ReleaseId(wanted))
            except LimitExceeded:
                if wants_json(request):
                    raise
                return see(back_to(series_id, fail="keep_full"))
        elif dropped is not None:
            await kept.drop(shelf.id, ReleaseId(dropped))
        else:
            raise Invalid(_("The form could not be read."))
        if wants_json(request):
            return data_of({"dropped": dropped} if wanted is None else {})
        told = back_to(series_id, done="keeping") if wanted is not None else back_to(series_id, dropped=str(dropped))
        return see(told)

    return (Resource(f"{PATH}/keep", {"POST": site.on_shelf(keep, LIBRARY)}),)

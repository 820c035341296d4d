"""How a series is followed: its status, group, notices, which release is preferred, and how its pages are shown."""

from collections.abc import Sequence
from typing import TypeVar, get_args

import msgspec
from msgspec import UNSET
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.shelves.nouns import MemberShelf
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import PublicId, ShelfId, show_id
from tsuzuki.shelves.library.follows.nouns import Fit, FollowChange, Mode, PlainFollowRow, ReleasePreferences
from tsuzuki.web.feeds.adding import chosen_group
from tsuzuki.web.forms import Form, Rules, fill, problem, read_form, see
from tsuzuki.web.ids import id_of, numbers_of
from tsuzuki.web.library.page import PATH as LIBRARY
from tsuzuki.web.library.page import STATUSES
from tsuzuki.web.scripts import data_of, wants_json
from tsuzuki.web.series.acts import PATH
from tsuzuki.web.series.page import CHOICES, SeriesPages, back_to
from tsuzuki.web.site import Site
from tsuzuki.web.texts import gettext as _

MODES: tuple[Mode, ...] = get_args(Mode)
FITS: tuple[Fit, ...] = get_args(Fit)
_LONGEST = 200
_RULES = Rules(keep=("status", "group"))

T = TypeVar("T", bound=str)
V = TypeVar("V")


def setting_acts(site: Site) -> tuple[Resource, ...]:
    """`/settings` is the form; `/reading` takes what the reader is told: mode and fit."""
    pages = SeriesPages(site)
    follows, looks = site.reading.follows, site.reading.series

    async def followed(shelf_id: ShelfId, series: PublicId) -> PlainFollowRow | None:
        return (await looks.get(shelf_id, series)).follow

    async def change(request: Request, caller: Caller) -> Response:
        async def act(form: Form) -> Response:
            shelf = await site.accounts.current_user.shelf_of(caller)
            series = id_of(request, "series_id")
            follow = await followed(shelf.id, series)
            if follow is None:
                raise NotFound("This shelf does not follow it.")
            await follows.change(shelf.id, follow.public_id, _change(form, follow.preferences))
            return see(back_to(show_id(series), done="series_saved"))

        return await fill(request, act, lambda sheet: pages.show(request, caller, sheet), rules=_RULES)

    async def reading(request: Request, shelf: MemberShelf) -> Response:
        form = await read_form(request)
        series = id_of(request, "series_id")
        follow = await followed(shelf.id, series)
        if follow is not None:
            wanted = msgspec.structs.replace(
                follow.preferences, mode=_one_of(form.one("mode"), MODES), fit=_one_of(form.one("fit"), FITS)
            )
            await follows.change(shelf.id, follow.public_id, FollowChange(preferences=wanted))
        if wants_json(request):
            return data_of({"kept": follow is not None})
        return see(back_to(show_id(series), done="series_saved"))

    return (
        Resource(f"{PATH}/settings", {"POST": site.signed_in(change, LIBRARY)}),
        Resource(f"{PATH}/reading", {"POST": site.on_shelf(reading, LIBRARY)}),
    )


def _change(form: Form, before: ReleasePreferences) -> FollowChange:
    status = _one_of(form.one("status"), STATUSES)
    if status is None:
        raise problem("status", _("Choose one of the options."))
    return FollowChange(
        status=status,
        group=chosen_group(form) or UNSET,
        notify=form.one("notify") == "on",
        preferences=msgspec.structs.replace(
            before,
            sources=_ordered(numbers_of(form.several("source")), before.sources),
            groups=_ordered(_words(form, "release_group"), before.groups),
            languages=_ordered(_words(form, "language"), before.languages),
        ),
    )


def _words(form: Form, name: str) -> list[str]:
    return [text[:_LONGEST] for text in form.several(name) if text.strip()]


def _ordered(chosen: Sequence[V], before: Sequence[V]) -> tuple[V, ...]:
    """The choices of the form, each once; what the API put behind them stays behind them."""
    more = before[CHOICES:] if chosen else before[:0]
    return tuple(dict.fromkeys([*chosen, *more]))


def _one_of(text: str, known: Sequence[T]) -> T | None:
    return next((each for each in known if each == text), None)

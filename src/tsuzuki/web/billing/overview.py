"""`/account/billing`: what the tenant rents, what that costs, and every cent of it; 404 while billing is off."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.nouns import Slice
from tsuzuki.billing.access import whose
from tsuzuki.billing.shelf_plans.nouns import RentedShelf, Used
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.ids import PublicId, show_id
from tsuzuki.model.plans import CURRENCY, Plan, get_plan
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import page_of
from tsuzuki.web.labels import done_text
from tsuzuki.web.site import ACCOUNT, Site
from tsuzuki.web.texts import ngettext

BILLING = f"{ACCOUNT}/billing"
SHELVES = f"{BILLING}/shelves"
_PER_PAGE = 12


class LimitUse(msgspec.Struct, frozen=True):
    """How much of one limit is used."""

    limit: str
    used: int
    room: int | None


class ShelfCard(msgspec.Struct, frozen=True):
    """A rented shelf as it is shown."""

    id: str
    shelf: RentedShelf
    plan: Plan
    counted: list[LimitUse]


class Pager(msgspec.Struct, frozen=True):
    """Where one is in a list of pages; None where there is no further one."""

    page: int
    newer: int | None
    older: int | None


def billing_page(site: Site) -> Resource:
    """`/account/billing`"""
    framing, billing = framing_of(site), site.billing

    async def show(request: Request, caller: Caller) -> Response:
        desk, who = billing.opened(), whose(caller)
        tenant_id = await payer_of(site, caller)
        tenant, totals = await desk.books.tenant(who, tenant_id)
        used = await desk.rented.use(who, tenant_id)
        cards = [card_of(shelf, used.get(shelf.public_id)) for shelf in await desk.rented.list(who, tenant_id)]
        number = page_of(request.query_params)
        invoices, count = await desk.books.invoices(who, tenant_id, Slice.page(number, _PER_PAGE))
        return framing.show(
            await framing.frame(request, caller, "billing"),
            "billing.html",
            tenant=tenant,
            totals=totals,
            currency=CURRENCY,
            cards=cards,
            ahead=await desk.offers.ahead(who, tenant_id),
            invoices=invoices,
            pager=pager_of(number, count),
            done=done_text(request),
            slept=_one_of(cards, request.query_params.get("slept")),
            span=span,
        )

    return page(BILLING, site.signed_in(show))


def statement_page(site: Site) -> Resource:
    """`/account/billing/statement`"""
    framing, billing = framing_of(site), site.billing

    async def show(request: Request, caller: Caller) -> Response:
        found = await billing.opened().books.statement(whose(caller), await payer_of(site, caller))
        frame = await framing.frame(request, caller, "billing")
        return framing.show(frame, "statement.html", statement=found, totals=found.totals)

    return page(f"{BILLING}/statement", site.signed_in(show))


async def payer_of(site: Site, caller: Caller) -> PublicId:
    """The tenant that the caller belongs to: an operator's own account is one too."""
    return (await site.accounts.current_user.look(caller)).tenant.public_id


def card_of(shelf: RentedShelf, used: Used | None) -> ShelfCard:
    """What a card shows; a shelf that came this very moment uses nothing."""
    plan = get_plan(shelf.plan)
    counted = [
        LimitUse("follows", 0 if used is None else used.follows, plan.limits.follows),
        LimitUse("kept", 0 if used is None else used.kept_chapters, plan.limits.kept_chapters),
    ]
    return ShelfCard(show_id(shelf.public_id), shelf, plan, counted)


def span(length: Millis) -> str:
    """`15 minutes`, `2 hours`, `30 days`: in the largest unit that it is a multiple of."""
    if length % DAY == 0:
        return ngettext("%(count)s day", "%(count)s days", length // DAY)
    if length % HOUR == 0:
        return ngettext("%(count)s hour", "%(count)s hours", length // HOUR)
    return ngettext("%(count)s minute", "%(count)s minutes", length // MINUTE)


def pager_of(number: int, count: int) -> Pager:
    """The pages beside this one."""
    return Pager(number, number - 1 if number > 1 else None, number + 1 if number * _PER_PAGE < count else None)


def _one_of(cards: list[ShelfCard], shelf_id: str | None) -> ShelfCard | None:
    """The shelf that was just put to sleep: it can be woken again at once."""
    return next((card for card in cards if card.id == shelf_id and card.shelf.status == "inactive"), None)

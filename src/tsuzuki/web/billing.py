"""Billing pages of a tenant: rented shelves, invoices, statement."""

from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.billing.books import scope_of
from tsuzuki.billing.types import PlanUsage, RentedShelf
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import Conflict
from tsuzuki.model.ids import PublicId, show_id
from tsuzuki.model.plans import BASIC, CURRENCY, Plan, get_plan, list_plans
from tsuzuki.model.times import DAY, HOUR, MINUTE, Millis
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, post_form, problem, see
from tsuzuki.web.ids import id_of, pages_of, slice_of
from tsuzuki.web.site import ACCOUNT, Site, with_query
from tsuzuki.web.texts import gettext as _
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


def billing_pages(site: Site) -> tuple[Resource, ...]:
    """`/account/billing` with its statement, an invoice, and all that is done to rented shelves."""

    async def show(request: Request, caller: Caller) -> Response:
        billing, who = site.billing.opened(), scope_of(caller)
        tenant_id = await payer_of(site, caller)
        tenant, totals = await billing.books.tenant(who, tenant_id)
        used = await billing.rented.use(who, tenant_id)
        cards = [card_of(shelf, used.get(shelf.public_id)) for shelf in await billing.rented.list(who, tenant_id)]
        slept = request.query_params.get("slept")  # just put to sleep: it can be woken again at once
        invoices, count = await billing.books.invoices(who, tenant_id, slice_of(request, _PER_PAGE))
        return site.show(
            await site.frame(request, caller, "billing"),
            "billing.html",
            tenant=tenant,
            totals=totals,
            currency=CURRENCY,
            cards=cards,
            ahead=await billing.offers.ahead(who, tenant_id),
            invoices=invoices,
            pager=pages_of(request, count, _PER_PAGE),
            slept=next((card for card in cards if card.id == slept and card.shelf.status == "inactive"), None),
            span=span,
        )

    async def show_statement(request: Request, caller: Caller) -> Response:
        found = await site.billing.opened().books.statement(scope_of(caller), await payer_of(site, caller))
        frame = await site.frame(request, caller, "billing")
        return site.show(frame, "statement.html", statement=found, totals=found.totals)

    async def show_invoice(request: Request, caller: Caller) -> Response:
        full = await site.billing.opened().books.invoice(scope_of(caller), id_of(request, "invoice_id"))
        frame = await site.frame(request, caller, "invoice")
        return site.show(
            frame,
            "invoice.html",
            invoice=full.invoice,
            tenant=full.tenant,
            items=full.items,
            total_cents=sum(item.amount_cents for item in full.items),
            credit_cents=full.credit_cents,
            refunds=full.refunds,
            disputes=full.disputes,
        )

    return (
        page(BILLING, site.signed_in(show)),
        page(f"{BILLING}/statement", site.signed_in(show_statement)),
        page("/invoices/{invoice_id}", site.signed_in(show_invoice)),
        *_new(site),
        _one(site),
        _plan(site),
        _turn(site, "deactivate"),
        _turn(site, "reactivate"),
    )


async def payer_of(site: Site, caller: Caller) -> PublicId:
    """The tenant that the caller belongs to: an operator's own account is one too."""
    return (await site.accounts.current_user.get(caller)).tenant.public_id


def card_of(shelf: RentedShelf, used: PlanUsage | None) -> ShelfCard:
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


LONGEST_NAME = 200
_RULES = Rules(keep=("name", "plan"), beside={Conflict: "name"})
_PLAN_RULES = Rules(keep=("plan",))
_NO_RULES = Rules()

Awake = Literal["active", "inactive"]


def _new(site: Site) -> tuple[Resource, ...]:

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        plan_options = await site.billing.opened().offers.for_new(scope_of(caller), await payer_of(site, caller))
        frame = await site.frame(request, caller, "billing")
        return site.show(
            frame, "shelf_new.html", form_state, plan_options=plan_options, span=span, usual=BASIC.id, most=LONGEST_NAME
        )

    async def rent(_request: Request, caller: Caller, form: Form) -> Response:
        billing = site.billing.opened()
        name, plan = _name(form), form.one("plan")
        if not any(known.id == plan for known in list_plans()):
            raise problem("plan", _("Choose one of these plans."))
        await billing.rented.create(scope_of(caller), await payer_of(site, caller), name=name, plan=plan)
        return see(with_query(BILLING, done="shelf_rented"))

    return (
        page(f"{BILLING}/new", site.signed_in(show)),
        Resource(SHELVES, {"POST": site.signed_in(post_form(rent, show, _RULES), BILLING)}),
    )


def _one(site: Site) -> Resource:
    """`/account/billing/shelves/{rented_id}`: its name and its plan."""

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        plan_options = await site.billing.opened().offers.for_shelf(scope_of(caller), id_of(request, "rented_id"))
        assert plan_options.shelf is not None
        frame = await site.frame(request, caller, "billing")
        values = {
            "plan_options": plan_options,
            "shelf": plan_options.shelf,
            "id": show_id(plan_options.shelf.public_id),
            "most": LONGEST_NAME,
        }
        return site.show(frame, "shelf_rented.html", form_state, span=span, **values)

    async def rename(request: Request, caller: Caller, form: Form) -> Response:
        billing, shelf_id = site.billing.opened(), id_of(request, "rented_id")
        await billing.rented.rename(scope_of(caller), shelf_id, _name(form))
        return see(with_query(f"{SHELVES}/{show_id(shelf_id)}", done="shelf_renamed"))

    return site.form_page(f"{SHELVES}/{{rented_id}}", show, rename, rules=_RULES, back=BILLING)


def _plan(site: Site) -> Resource:
    """`/account/billing/shelves/{rented_id}/plan?plan=`: what another plan costs from now on, and choosing it."""

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        plan = form_state.value("plan", request.query_params.get("plan", ""))
        plan_options = await site.billing.opened().offers.for_shelf(scope_of(caller), id_of(request, "rented_id"))
        assert plan_options.shelf is not None
        frame = await site.frame(request, caller, "billing")
        values = {
            "shelf": plan_options.shelf,
            "id": show_id(plan_options.shelf.public_id),
            "offer": plan_options.of(plan),
        }
        before = next(one.plan for one in plan_options.offers if one.plan.id == plan_options.shelf.plan)
        return site.show(
            frame, "shelf_plan.html", form_state, plan_options=plan_options, before=before, span=span, **values
        )

    async def change(request: Request, caller: Caller, form: Form) -> Response:
        billing, shelf_id = site.billing.opened(), id_of(request, "rented_id")
        await billing.rented.change_plan(scope_of(caller), shelf_id, form.one("plan"))
        return see(with_query(BILLING, done="plan_changed"))

    return site.form_page(f"{SHELVES}/{{rented_id}}/plan", show, change, rules=_PLAN_RULES, back=BILLING)


def _turn(site: Site, verb: Literal["deactivate", "reactivate"]) -> Resource:
    """`/account/billing/shelves/{rented_id}/deactivate`, and the way back."""
    status: Awake = "inactive" if verb == "deactivate" else "active"

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        turn = await site.billing.opened().offers.for_status(scope_of(caller), id_of(request, "rented_id"), status)
        frame = await site.frame(request, caller, "billing")
        values = {"turn": turn, "id": show_id(turn.shelf.public_id), "verb": verb, "plan": get_plan(turn.shelf.plan)}
        return site.show(frame, "shelf_turn.html", form_state, **values)

    async def turn(request: Request, caller: Caller, _form: Form) -> Response:
        rented, shelf_id = site.billing.opened().rented, id_of(request, "rented_id")
        if status == "active":
            await rented.reactivate(scope_of(caller), shelf_id)
            return see(with_query(BILLING, done="shelf_awake"))
        await rented.deactivate(scope_of(caller), shelf_id)
        return see(with_query(BILLING, done="shelf_asleep", slept=show_id(shelf_id)))

    return site.form_page(f"{SHELVES}/{{rented_id}}/{verb}", show, turn, rules=_NO_RULES, back=BILLING)


def _name(form: Form) -> str:
    name = " ".join(form.one("name").split())
    if not 1 <= len(name) <= LONGEST_NAME:
        raise problem("name", _("Enter a name of 1 to %(most)s characters.", most=LONGEST_NAME))
    return name

"""`/admin/tenants`: who pays, and the operator's hand in their accounts. There is none of it while billing is off."""

from decimal import Decimal
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.billing.books import IdempotentRequest, whose
from tsuzuki.billing.services import Billing
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.ids import show_id
from tsuzuki.model.plans import CURRENCY, money
from tsuzuki.web.admin.jobs import pages_of, slice_of
from tsuzuki.web.forms import BLANK, Form, Rules, Sheet, fill, problem, see
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import id_of, word_of
from tsuzuki.web.labels import done_text
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

MOST_CENTS = 100_000_000
LONGEST_REFERENCE = 200
LONGEST_KEY = 64
AMOUNT_RULES = Rules(keep=("amount", "reason"))


def cents_of(form: Form) -> int:
    """`12.50` as 1250; exact, or Invalid."""
    try:
        cents = Decimal(form.one("amount").strip().replace(",", ".")) * 100
    except ArithmeticError:  # no number, or one whose exponent has no end
        cents = Decimal(-1)
    if not cents.is_finite() or cents != cents.to_integral_value() or not 1 <= cents <= MOST_CENTS:
        raise problem("amount", _("Enter an amount above 0 with at most two decimals, for example 12.50."))
    return int(cents)


def reference_of(form: Form, name: str) -> str:
    """Where the money can be seen, or why it is given."""
    text = form.one(name).strip()
    if not 1 <= len(text) <= LONGEST_REFERENCE:
        raise problem(name, _("Enter 1 to %(most)s characters.", most=LONGEST_REFERENCE))
    return text


def once_of(form: Form, caller: Caller, content: Any) -> IdempotentRequest:
    """REL-47: the form's key, so that a second click does nothing more."""
    return IdempotentRequest(caller.tenant_id, form.one("key")[:LONGEST_KEY] or None, content)


PATH = "/admin/tenants"
ONE = f"{PATH}/{{tenant_id}}"
LONGEST_NAME = 200
_NAME = Rules(keep=("name",))


def tenant_pages(site: Site) -> tuple[Resource, ...]:
    """The list, one account, and what its forms post to."""
    framing, billing, tenants = framing_of(site), site.billing, site.accounts.tenants

    async def show(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        billing.opened()
        frame = await framing.frame(request, caller, "users")
        text = word_of(request, "q")
        found, total = await tenants.list(slice_of(request), text=text)
        return framing.show(
            frame,
            "admin/tenants.html",
            sheet,
            rows=[(tenant, (await billing.books.tenant(whose(caller), tenant.public_id))[1]) for tenant in found],
            pages=pages_of(request, total),
            text=text,
            done=done_text(request),
            show_id=show_id,
            money=money,
            currency=CURRENCY,
        )

    async def show_tenants(request: Request, caller: Caller) -> Response:
        return await show(request, caller)

    async def add(request: Request, caller: Caller) -> Response:
        billing.opened()

        async def act(form: Form) -> Response:
            tenant = await tenants.add(caller.actor, _name(form))
            return see(with_query(f"{PATH}/{show_id(tenant.public_id)}", done="tenant_added"))

        return await fill(request, act, lambda sheet: show(request, caller, sheet), rules=_NAME)

    return (
        page(PATH, site.operator(show_tenants)),
        Resource(f"{PATH}/add", {"POST": site.operator(add, PATH)}),
        *_account(site, billing),
    )


def _account(site: Site, billing: Billing) -> tuple[Resource, ...]:
    tenants = site.accounts.tenants

    async def show_tenant(request: Request, caller: Caller) -> Response:
        return await _show(site, request, caller)

    async def rename(request: Request, caller: Caller) -> Response:
        billing.opened()
        tenant = await tenants.get(id_of(request, "tenant_id"))

        async def act(form: Form) -> Response:
            await tenants.rename(caller.actor, tenant.public_id, _name(form))
            return see(with_query(_path(request), done="tenant_saved"))

        return await fill(request, act, lambda sheet: _show(site, request, caller, sheet), rules=_NAME)

    async def grant(request: Request, caller: Caller) -> Response:
        desk, tenant = billing.opened(), await tenants.get(id_of(request, "tenant_id"))

        async def act(form: Form) -> Response:
            cents, reason = cents_of(form), reference_of(form, "reason")
            once = once_of(form, caller, [_path(request), cents, reason])
            await desk.books.grant_credit(whose(caller), tenant.public_id, cents, reason=reason, request=once)
            return see(with_query(_path(request), done="credit_granted"))

        return await fill(request, act, lambda sheet: _show(site, request, caller, sheet), rules=AMOUNT_RULES)

    return (
        Resource(ONE, {"GET": site.operator(show_tenant), "POST": site.operator(rename, PATH)}),
        Resource(f"{ONE}/credit", {"POST": site.operator(grant, PATH)}),
        *_invoices(site, billing),
    )


def _invoices(site: Site, billing: Billing) -> tuple[Resource, ...]:
    """Voiding asks first; marking paid says where the money can be seen."""
    framing = framing_of(site)

    async def show(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        full = await billing.opened().books.invoice(whose(caller), id_of(request, "invoice_id"))
        frame = await framing.frame(request, caller, "users")
        return framing.show(
            frame,
            "admin/invoice.html",
            sheet,
            invoice=full.invoice,
            invoice_id=show_id(full.invoice.public_id),
            disputes=full.disputes,
            tenant=full.tenant,
            tenant_id=show_id(full.tenant.public_id),
            key=_key(site),
            money=money,
        )

    async def show_invoice(request: Request, caller: Caller) -> Response:
        return await show(request, caller)

    async def settle(request: Request, caller: Caller) -> Response:
        """Paid, or written off, as the button says; a repeat of the same form does nothing more (REL-47)."""
        desk, invoice_id = billing.opened(), id_of(request, "invoice_id")
        tenant = (await desk.books.invoice(whose(caller), invoice_id)).tenant
        back = f"{PATH}/{show_id(tenant.public_id)}"

        async def act(form: Form) -> Response:
            if form.one("act") == "void":
                await desk.books.void(whose(caller), invoice_id, once_of(form, caller, ["void", show_id(invoice_id)]))
                return see(with_query(back, done="invoice_voided"))
            reference = reference_of(form, "reference")
            once = once_of(form, caller, ["pay", show_id(invoice_id), reference])
            await desk.settlement.mark_paid(whose(caller), invoice_id, reference, once)
            return see(with_query(back, done="invoice_paid"))

        return await fill(request, act, lambda sheet: show(request, caller, sheet), rules=Rules(keep=("reference",)))

    path = "/admin/invoices/{invoice_id}"
    return (Resource(path, {"GET": site.operator(show_invoice), "POST": site.operator(settle, PATH)}),)


async def _show(site: Site, request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
    framing, books = framing_of(site), site.billing.opened().books
    tenant_id = id_of(request, "tenant_id")
    statement = await books.statement(whose(caller), tenant_id)
    invoices, total = await books.invoices(whose(caller), tenant_id, slice_of(request))
    return framing.show(
        await framing.frame(request, caller, "users"),
        "admin/tenant.html",
        sheet,
        statement=statement,
        tenant=statement.tenant,
        tenant_id=show_id(tenant_id),
        invoices=invoices,
        pages=pages_of(request, total),
        done=done_text(request),
        key=_key(site),
        show_id=show_id,
        money=money,
    )


def _key(site: Site) -> str:
    """Of one form as it is shown: sent twice, it acts once."""
    return site.accounts.deps.random_bytes(16).hex()


def _path(request: Request) -> str:
    return f"{PATH}/{show_id(id_of(request, 'tenant_id'))}"


def _name(form: Form) -> str:
    name = form.one("name").strip()
    if not 1 <= len(name) <= LONGEST_NAME:
        raise problem("name", _("Enter a name of 1 to %(most)s characters.", most=LONGEST_NAME))
    return name

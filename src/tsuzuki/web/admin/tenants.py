"""`/admin/tenants`: tenants, their invoices and credit. Only while billing is on."""

from decimal import Decimal
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.billing.books import IdempotentRequest, scope_of
from tsuzuki.billing.services import Billing
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.ids import show_id
from tsuzuki.model.plans import CURRENCY
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, post_form, problem, read_name, read_text, see
from tsuzuki.web.ids import id_of, pages_of, slice_of, word_of
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


def once_of(form: Form, caller: Caller, content: Any) -> IdempotentRequest:
    """REL-47: the form's key, so that a second click does nothing more."""
    return IdempotentRequest(caller.tenant_id, form.one("key")[:LONGEST_KEY] or None, content)


PATH = "/admin/tenants"
ONE = f"{PATH}/{{tenant_id}}"
LONGEST_NAME = 200
_NAME = Rules(keep=("name",))


def tenant_pages(site: Site) -> tuple[Resource, ...]:
    """The list, one account, and what its forms post to."""
    billing, tenants = site.billing, site.accounts.tenants

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        billing.opened()
        frame = await site.frame(request, caller, "users")
        text = word_of(request, "q")
        found, total = await tenants.list(slice_of(request), text=text)
        return site.show(
            frame,
            "admin/tenants.html",
            form_state,
            rows=[(tenant, (await billing.books.tenant(scope_of(caller), tenant.public_id))[1]) for tenant in found],
            pages=pages_of(request, total),
            text=text,
            currency=CURRENCY,
        )

    async def add(_request: Request, caller: Caller, form: Form) -> Response:
        billing.opened()
        tenant = await tenants.add(caller.actor, read_name(form, most=LONGEST_NAME))
        return see(with_query(f"{PATH}/{show_id(tenant.public_id)}", done="tenant_added"))

    return (
        page(PATH, site.operator(show)),
        Resource(f"{PATH}/add", {"POST": site.operator(post_form(add, show, _NAME), PATH)}),
        *_account(site, billing),
    )


def _account(site: Site, billing: Billing) -> tuple[Resource, ...]:
    tenants = site.accounts.tenants

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        books, tenant_id = billing.opened().books, id_of(request, "tenant_id")
        statement = await books.statement(scope_of(caller), tenant_id)
        invoices, total = await books.invoices(scope_of(caller), tenant_id, slice_of(request))
        return site.show(
            await site.frame(request, caller, "users"),
            "admin/tenant.html",
            form_state,
            statement=statement,
            tenant=statement.tenant,
            tenant_id=show_id(tenant_id),
            invoices=invoices,
            pages=pages_of(request, total),
            key=_key(site),
        )

    async def rename(request: Request, caller: Caller, form: Form) -> Response:
        billing.opened()
        await tenants.rename(caller.actor, id_of(request, "tenant_id"), read_name(form, most=LONGEST_NAME))
        return see(with_query(_path(request), done="tenant_saved"))

    async def grant(request: Request, caller: Caller, form: Form) -> Response:
        books, tenant = billing.opened().books, await tenants.get(id_of(request, "tenant_id"))
        cents, reason = cents_of(form), read_text(form, "reason", most=LONGEST_REFERENCE)
        once = once_of(form, caller, [_path(request), cents, reason])
        await books.grant_credit(scope_of(caller), tenant.public_id, cents, reason=reason, request=once)
        return see(with_query(_path(request), done="credit_granted"))

    return (
        site.form_page(ONE, show, rename, rules=_NAME, back=PATH, for_admin=True),
        Resource(f"{ONE}/credit", {"POST": site.operator(post_form(grant, show, AMOUNT_RULES), PATH)}),
        _invoice(site, billing),
    )


def _invoice(site: Site, billing: Billing) -> Resource:
    """Voiding asks first; marking paid says where the money can be seen."""

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        full = await billing.opened().books.invoice(scope_of(caller), id_of(request, "invoice_id"))
        frame = await site.frame(request, caller, "users")
        return site.show(
            frame,
            "admin/invoice.html",
            form_state,
            invoice=full.invoice,
            invoice_id=show_id(full.invoice.public_id),
            disputes=full.disputes,
            tenant=full.tenant,
            tenant_id=show_id(full.tenant.public_id),
            key=_key(site),
        )

    async def settle(request: Request, caller: Caller, form: Form) -> Response:
        """Paid, or written off, as the button says; a repeat of the same form does nothing more (REL-47)."""
        books, invoice_id = billing.opened().books, id_of(request, "invoice_id")
        tenant = (await books.invoice(scope_of(caller), invoice_id)).tenant
        back = f"{PATH}/{show_id(tenant.public_id)}"
        if form.one("act") == "void":
            await books.void(scope_of(caller), invoice_id, once_of(form, caller, ["void", show_id(invoice_id)]))
            return see(with_query(back, done="invoice_voided"))
        reference = read_text(form, "reference", most=LONGEST_REFERENCE)
        once = once_of(form, caller, ["pay", show_id(invoice_id), reference])
        await billing.settlement.mark_paid(scope_of(caller), invoice_id, reference, once)
        return see(with_query(back, done="invoice_paid"))

    path, rules = "/admin/invoices/{invoice_id}", Rules(keep=("reference",))
    return site.form_page(path, show, settle, rules=rules, back=PATH, for_admin=True)


def _key(site: Site) -> str:
    """An idempotency key for one showing of the form: sent twice, it acts once."""
    return site.accounts.deps.random_bytes(16).hex()


def _path(request: Request) -> str:
    return f"{PATH}/{show_id(id_of(request, 'tenant_id'))}"

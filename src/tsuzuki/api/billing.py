"""What a tenant rents and pays. Its people see and change it, the operator everybody's; 404 while billing is off."""

from typing import Annotated

from msgspec import Meta

from tsuzuki.accounts.caller import Caller
from tsuzuki.api.billing_views import (
    ActivityView,
    FullInvoiceView,
    InvoiceView,
    PlanView,
    RentedShelfView,
    StatementView,
    TenantAccountView,
    account_view,
    activity_view,
    full_invoice_view,
    invoice_view,
    plan_view,
    rented_view,
    statement_view,
)
from tsuzuki.api.declaring import declaring
from tsuzuki.api.endpoints import Access
from tsuzuki.api.forms import Body
from tsuzuki.api.ids import IdText, id_in_path
from tsuzuki.api.paging import PageQuery
from tsuzuki.api.tenants import PlanName
from tsuzuki.api.views import ListAnswer, PageMeta
from tsuzuki.billing.access import whose
from tsuzuki.billing.services import Billing
from tsuzuki.model.errors import Conflict, LimitExceeded, NotFound
from tsuzuki.model.plans import list_plans

ShelfName = Annotated[str, Meta(min_length=1, max_length=200)]


class NewShelfBody(Body, frozen=True, kw_only=True):
    """Another shelf."""

    name: ShelfName
    plan: PlanName


class ShelfNameBody(Body, frozen=True, kw_only=True):
    """What a shelf is called."""

    name: ShelfName


class PlanBody(Body, frozen=True, kw_only=True):
    """What a shelf is rented on from now on."""

    plan: PlanName


async def show_plans(billing: Billing) -> list[PlanView]:
    """The cheapest first; prices are for a calendar month, in advance."""
    billing.opened()
    return [plan_view(plan) for plan in list_plans()]


async def show_account(payer_id: IdText, caller: Caller, billing: Billing) -> TenantAccountView:
    """A tenant and where it stands."""
    return account_view(*await billing.opened().books.tenant(whose(caller), id_in_path(payer_id, "tenant")))


async def list_rented_shelves(payer_id: IdText, caller: Caller, billing: Billing) -> list[RentedShelfView]:
    """Oldest first, each with what it uses of its plan."""
    who, tenant_id = whose(caller), id_in_path(payer_id, "tenant")
    used = await billing.opened().rented.use(who, tenant_id)
    return [rented_view(shelf, used.get(shelf.public_id)) for shelf in await billing.rented.list(who, tenant_id)]


async def rent_shelf(payer_id: IdText, caller: Caller, body: NewShelfBody, billing: Billing) -> RentedShelfView:
    """Another shelf, charged from now on."""
    tenant_id = id_in_path(payer_id, "tenant")
    made = await billing.opened().rented.create(whose(caller), tenant_id, name=body.name, plan=body.plan)
    return rented_view(made)


async def list_tenant_activity(
    payer_id: IdText, caller: Caller, page: PageQuery, billing: Billing
) -> ListAnswer[ActivityView, PageMeta]:
    """Newest first."""
    tenant_id = id_in_path(payer_id, "tenant")
    found, total = await billing.opened().books.activity(whose(caller), tenant_id, page.part)
    return ListAnswer([activity_view(activity) for activity in found], page.meta(total))


async def list_tenant_invoices(
    payer_id: IdText, caller: Caller, page: PageQuery, billing: Billing
) -> ListAnswer[InvoiceView, PageMeta]:
    """Newest first."""
    tenant_id = id_in_path(payer_id, "tenant")
    found, total = await billing.opened().books.invoices(whose(caller), tenant_id, page.part)
    return ListAnswer([invoice_view(invoice) for invoice in found], page.meta(total))


async def show_statement(payer_id: IdText, caller: Caller, billing: Billing) -> StatementView:
    """Every movement with the balance after it; the last one is the balance of the sums."""
    return statement_view(await billing.opened().books.statement(whose(caller), id_in_path(payer_id, "tenant")))


async def show_invoice(invoice_id: IdText, caller: Caller, billing: Billing) -> FullInvoiceView:
    """An invoice with its lines."""
    return full_invoice_view(await billing.opened().books.invoice(whose(caller), id_in_path(invoice_id, "invoice")))


async def rename_rented_shelf(
    rented_id: IdText, caller: Caller, body: ShelfNameBody, billing: Billing
) -> RentedShelfView:
    """Gives a shelf another name."""
    shelf_id = id_in_path(rented_id, "shelf")
    return rented_view(await billing.opened().rented.rename(whose(caller), shelf_id, body.name))


async def change_plan(rented_id: IdText, caller: Caller, body: PlanBody, billing: Billing) -> RentedShelfView:
    """From now on, charged or given back for the rest of the month. Refused while more is used than fits."""
    shelf_id = id_in_path(rented_id, "shelf")
    return rented_view(await billing.opened().rented.change_plan(whose(caller), shelf_id, body.plan))


async def deactivate_shelf(rented_id: IdText, caller: Caller, billing: Billing) -> RentedShelfView:
    """It sleeps: it can be read and costs nothing, but nothing new comes onto it."""
    return rented_view(await billing.opened().rented.deactivate(whose(caller), id_in_path(rented_id, "shelf")))


async def reactivate_shelf(rented_id: IdText, caller: Caller, billing: Billing) -> RentedShelfView:
    """Awake again, charged from now on; not while invoices are overdue."""
    return rented_view(await billing.opened().rented.reactivate(whose(caller), id_in_path(rented_id, "shelf")))


_read = declaring("billing", Access.READ)
_write = declaring("billing", Access.WRITE)

ENDPOINTS = (
    _read("GET", "/plans", show_plans, "What can be rented", errors=(NotFound,)),
    _read("GET", "/tenants/{payer_id}", show_account, "A tenant's account", errors=(NotFound,)),
    _read("GET", "/tenants/{payer_id}/shelves", list_rented_shelves, "What a tenant rents", errors=(NotFound,)),
    _write(
        "POST",
        "/tenants/{payer_id}/shelves",
        rent_shelf,
        "Rent another shelf",
        status=201,
        errors=(NotFound, Conflict, LimitExceeded),
    ),
    _read(
        "GET",
        "/tenants/{payer_id}/activity",
        list_tenant_activity,
        "What happened to a tenant",
        errors=(NotFound,),
    ),
    _read("GET", "/tenants/{payer_id}/invoices", list_tenant_invoices, "A tenant's invoices", errors=(NotFound,)),
    _read("GET", "/tenants/{payer_id}/statement", show_statement, "A tenant's statement", errors=(NotFound,)),
    _read("GET", "/invoices/{invoice_id}", show_invoice, "One invoice", errors=(NotFound,)),
    _write("PATCH", "/shelves/{rented_id}", rename_rented_shelf, "Rename a rented shelf", errors=(NotFound, Conflict)),
    _write(
        "PUT",
        "/shelves/{rented_id}/plan",
        change_plan,
        "Change a shelf's plan",
        errors=(NotFound, Conflict, LimitExceeded),
    ),
    _write("POST", "/shelves/{rented_id}/deactivate", deactivate_shelf, "Put a shelf to sleep", errors=(NotFound,)),
    _write("POST", "/shelves/{rented_id}/reactivate", reactivate_shelf, "Wake a shelf", errors=(NotFound, Conflict)),
)

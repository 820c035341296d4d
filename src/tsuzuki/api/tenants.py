"""The operator's side of tenants."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.tenants import Tenants
from tsuzuki.accounts.types import Tenant, TenantContents
from tsuzuki.api.endpoints import Access, Body, declaring
from tsuzuki.api.ids import TenantPath
from tsuzuki.api.paging import PageQuery
from tsuzuki.api.views import ListAnswer, PageMeta, Time, view_of
from tsuzuki.model.errors import Conflict, NotFound

PlanName = Literal["free", "basic", "growth", "self-hosted"]


class TenantView(msgspec.Struct, frozen=True):
    """A tenant: who pays."""

    id: str
    name: str
    churned_at: Time | None
    created_at: Time
    updated_at: Time


_tenant_view = view_of(TenantView, Tenant)


class TenantBody(Body, frozen=True, kw_only=True):
    """The name of a tenant."""

    name: Annotated[str, Meta(min_length=1, max_length=200)]


class NewTenantBody(TenantBody, frozen=True, kw_only=True):
    """`plan` is the plan of its first shelf; without billing there is only the unlimited one."""

    plan: PlanName | None = None


class TenantsQuery(PageQuery, frozen=True, kw_only=True):
    """Which tenants, by a part of the name, and which page of them."""

    q: Annotated[str, Meta(max_length=200)] | None = None


async def list_tenants(query: TenantsQuery, tenants: Tenants) -> ListAnswer[TenantView, PageMeta]:
    """All tenants, oldest first."""
    found, total = await tenants.list(query.part, text=query.q)
    return ListAnswer([_tenant_view(tenant) for tenant in found], query.meta(total))


async def create_tenant(caller: Caller, body: NewTenantBody, tenants: Tenants) -> TenantView:
    """Creates a tenant with one shelf."""
    return _tenant_view(await tenants.add(caller.actor, body.name, body.plan))


async def show_tenant(tenant_id: TenantPath, tenants: Tenants) -> TenantView:
    """One tenant."""
    return _tenant_view(await tenants.get(tenant_id))


async def change_tenant(tenant_id: TenantPath, caller: Caller, body: TenantBody, tenants: Tenants) -> TenantView:
    """Renames a tenant."""
    return _tenant_view(await tenants.rename(caller.actor, tenant_id, body.name))


async def show_tenant_contents(tenant_id: TenantPath, tenants: Tenants) -> TenantContents:
    """What would be deleted with this tenant."""
    return await tenants.contents(tenant_id)


async def delete_tenant(tenant_id: TenantPath, caller: Caller, tenants: Tenants) -> TenantContents:
    """Deletes a tenant with its shelves, and returns what was deleted.

    Not possible while users belong to it or billing records refer to it.
    """
    return await tenants.delete(caller.actor, tenant_id)


_admin = declaring("tenants", Access.ADMIN)

ENDPOINTS = (
    _admin("GET", "/admin/tenants", list_tenants, "List tenants"),
    _admin("POST", "/admin/tenants", create_tenant, "Add a tenant", status=201),
    _admin("GET", "/admin/tenants/{tenant_id}", show_tenant, "Show a tenant", errors=(NotFound,)),
    _admin("PATCH", "/admin/tenants/{tenant_id}", change_tenant, "Rename a tenant", errors=(NotFound,)),
    _admin("DELETE", "/admin/tenants/{tenant_id}", delete_tenant, "Delete a tenant", errors=(NotFound, Conflict)),
    _admin(
        "GET",
        "/admin/tenants/{tenant_id}/contents",
        show_tenant_contents,
        "Preview deleting a tenant",
        errors=(NotFound,),
    ),
)

"""An invoice to look at, to print and to file. There is none while billing is off."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.billing.access import whose
from tsuzuki.http.routing import Resource, page
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import id_of
from tsuzuki.web.site import Site


def invoice_page(site: Site) -> Resource:
    """`/invoices/{invoice_id}`"""
    framing, billing = framing_of(site), site.billing

    async def show(request: Request, caller: Caller) -> Response:
        full = await billing.opened().books.invoice(whose(caller), id_of(request, "invoice_id"))
        frame = await framing.frame(request, caller, "invoice")
        return framing.show(
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

    return page("/invoices/{invoice_id}", site.signed_in(show))

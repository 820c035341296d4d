"""A tenant of a server that rents out shelves, and its member who looks at its pages."""

import re
from html import unescape

from tests.billing.builders import OPERATOR
from tests.web.guests import a_guest
from tsuzuki.accounts.types import SYSTEM, Slice
from tsuzuki.model.ids import show_id

HOME = "/account/billing"


class Payer:
    """A tenant with one member, who looks at its pages."""

    def __init__(self, app, tenant, user, guest) -> None:
        self.app, self.tenant, self.user, self.guest = app, tenant, user, guest

    async def shelves(self):
        return await self.app.billing.rented.list(OPERATOR, self.tenant.public_id)

    async def path(self, number=0, verb=""):
        return f"{HOME}/shelves/{show_id((await self.shelves())[number].public_id)}{verb}"

    async def invoices(self):
        return (await self.app.billing.books.invoices(OPERATOR, self.tenant.public_id, Slice()))[0]

    async def text(self, path=HOME):
        answer = await self.guest.see(path)
        assert answer.status == 200, answer.text
        return unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.text)))


async def a_payer(app, plan="basic"):
    tenant = await app.accounts.tenants.add(SYSTEM, "Reader & Co", plan)
    user = await app.add(tenant_id=tenant.public_id)
    return Payer(app, tenant, user, await a_guest(app, user))

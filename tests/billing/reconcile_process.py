"""Four reconcilers in one process: `python -m tests.billing.reconcile_process URL TENANT CLAIMS`.

It kills itself within the transaction of so many claims, between the claim and its item or right after it; never for 0.
"""

import asyncio
import os
import signal
import sys
from typing import Any

from tests.billing.builders import BillingSetup
from tsuzuki.billing import ledger
from tsuzuki.billing.types import InvoiceItem
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.model.ids import TenantId

RECONCILERS = 4


def make_killable(claims: int) -> None:
    """Die at the so many-th item: before it when that number is odd, after it when it is even."""
    original = vars(ledger)["insert_item_tx"]
    count = 0

    async def insert(*arguments: Any) -> InvoiceItem:
        nonlocal count
        count += 1
        if count == claims and claims % 2:
            os.kill(os.getpid(), signal.SIGKILL)
        item: InvoiceItem = await original(*arguments)
        if count == claims:
            os.kill(os.getpid(), signal.SIGKILL)
        return item

    vars(ledger)["insert_item_tx"] = insert


async def main(url: str, tenant_id: int, claims: int) -> None:
    make_killable(claims)
    db = await open_database(DatabaseOptions(url))
    billing = BillingSetup(db)
    await asyncio.gather(*(billing.services.ledger.bill(TenantId(tenant_id)) for _ in range(RECONCILERS)))
    await db.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))

"""The migration that lets lines be split: what was charged before stays as it was."""

import msgspec

from tests.builders import a_public_id
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.migrate import migrate
from tsuzuki.db.migration_steps import available
from tsuzuki.db.queries import parse_queries

STEP = "given_back"

q = parse_queries(
    "tests",
    """
-- name: add_tenant
insert into tenant (public_id, name, anchor_at, created_at, updated_at) values (:public_id, 'A', 0, 0, 0);
-- name: add_shelf
insert into shelf (public_id, tenant_id, name, plan, created_at, updated_at)
select :public_id, id, 'Shelf', 'basic', 0, 0 from tenant;
-- name: add_invoice
insert into invoice (public_id, tenant_id, amount_cents, currency, period_start, period_end, created_at)
select :public_id, id, 500, 'USD', 0, 9, 1 from tenant;
-- name: add_item
insert into invoice_item (
  tenant_id, invoice_id, shelf_id, description, amount_cents, period_start, period_end, created_at
)
select invoice.tenant_id, invoice.id, shelf.id, 'A month', 500, 0, 9, 1 from invoice cross join shelf;
-- name: add_bolt11
insert into bolt11 (invoice_id, request, payment_hash, amount_msat, created_at, expires_at)
select id, 'lnbc1', 'h', 7, 1, 2 from invoice;
-- name: kept
select invoice_item.amount_cents, invoice_item.description, invoice_item.part_of, bolt11.amount_msat,
  bolt11.amount_cents as asked
from invoice_item join bolt11 on bolt11.invoice_id = invoice_item.invoice_id;
""",
)


class Kept(msgspec.Struct, frozen=True):
    amount_cents: int
    description: str
    part_of: int | None
    amount_msat: int
    asked: int | None


async def test_lines_and_payment_requests_of_before_stay(empty_database_url):
    options = DatabaseOptions(empty_database_url)
    steps = available("sqlite" if empty_database_url.startswith("sqlite") else "postgres")
    version = next(step.version for step in steps if STEP in step.name)
    await migrate(options, now=0, known=[step for step in steps if step.version < version])
    db = await open_database(options)

    async def fill(tx):
        for query in (q.add_tenant, q.add_shelf, q.add_invoice):
            await tx.run(query, public_id=a_public_id())
        await tx.run(q.add_item)
        await tx.run(q.add_bolt11)

    try:
        await db.with_tx(fill)
        await migrate(options, now=0)
        assert await db.read(lambda tx: tx.one(Kept, q.kept)) == Kept(500, "A month", None, 7, None)
    finally:
        await db.close()

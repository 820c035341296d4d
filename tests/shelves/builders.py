"""Shelves on a plan, with billing on, and what their services are given."""

from collections.abc import Callable
from typing import Any

from tests.builders import HERE, NOON, a_public_id
from tsuzuki.db import Database, Tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.delivery.portions import deliver_before_leaving_tx
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.shelves.deps import RefreshOutcome, ShelfDeps

q = parse_queries(
    "tests",
    """
-- name: switch
insert into billing_switch (id, is_on, changed_at) values (1, :is_on, 0)
on conflict (id) do update set is_on = excluded.is_on;
-- name: put
update shelf set plan = :plan, status = :status where id = :shelf_id;
""",
)


async def on_plan(
    db: Database, shelf_id: ShelfId, plan: str = "free", *, status: str = "active", is_billed: bool = True
) -> None:
    """Billing is on, and this shelf is on this plan."""

    async def put(tx: Tx) -> None:
        await tx.run(q.switch, is_on=is_billed)
        await tx.run(q.put, shelf_id=shelf_id, plan=plan, status=status)

    await db.with_tx(put)


async def unvetted(url: str, _: str | None) -> str:
    return url


async def asked(_: int) -> RefreshOutcome:
    return RefreshOutcome(1)


def shelf_deps(db: Database, clock: Callable[[], Millis] = lambda: NOON, **over: Any) -> ShelfDeps:
    """Any address may be called, nobody has to be woken, and nothing is polled."""
    given: dict[str, Any] = {
        "db": db,
        "clock": clock,
        "new_id": a_public_id,
        "parsers": HERE,
        "after_commit": lambda *_: None,
        "vet": unvetted,
        "ask_refresh": asked,
        "ask_refresh_all": asked,
        "deliver_before_leaving_tx": deliver_before_leaving_tx,
    }
    return ShelfDeps(**given | over)

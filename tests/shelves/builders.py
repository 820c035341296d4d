"""Shelves on a plan, with billing on, and services over them."""

from tests.builders import HERE, NOON, a_public_id
from tsuzuki.db import Database, Tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.delivery.fanout import deliver_known_chapters_tx, deliver_known_items_tx
from tsuzuki.model.ids import FeedId, PublicId, SeriesId, ShelfId, WatchId
from tsuzuki.model.installments import FeedChange
from tsuzuki.model.times import Millis
from tsuzuki.shelves.deps import ALWAYS, Asked, ShelfDeps

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


class Above:
    """Delivers what is known; whatever else is asked for does not matter here."""

    async def subscribed_tx(
        self, tx: Tx, shelf_id: ShelfId, feed_id: FeedId, now: Millis, *, since: Millis = ALWAYS
    ) -> None:
        await deliver_known_items_tx(tx, shelf_id, feed_id, since=since, now=now)

    async def followed_tx(self, tx: Tx, shelf_id: ShelfId, series_id: SeriesId, *, available: int, now: Millis) -> None:
        await deliver_known_chapters_tx(tx, shelf_id, series_id, now=now, available=available)

    async def counts_changed_tx(self, tx: Tx, shelf_id: ShelfId, now: Millis) -> None:
        pass

    async def feed_changed_tx(
        self, tx: Tx, shelf_id: ShelfId, public_id: PublicId, *, name: str, change: FeedChange, now: Millis
    ) -> None:
        pass

    def committed(self) -> None:
        pass

    def due(self) -> None:
        pass

    async def ask_refresh(self, watch_id: WatchId) -> Asked:
        return Asked(bool(watch_id))

    async def ask_refresh_all(self, shelf_id: ShelfId) -> Asked:
        return Asked(shelf_id)

    async def vet(self, url: str, _: str | None) -> str:
        return url


def a_ground(db: Database, now: Millis = NOON) -> ShelfDeps:
    return ShelfDeps(db, lambda: now, a_public_id, Above(), HERE)

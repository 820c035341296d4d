"""Tsuzuki as a process that dies, or freezes, when it comes to a named point: `python -m tests.crash.killable work`.

`MORTAL=point:count:signal` says where, at the how many-th time and by which signal. `PLANTED=fault` takes a safeguard
out, so that a test can show that it is missed. `PORTION=entries` has every other delivery go in portions of so many.
Nothing of this is in the program itself.
"""

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from itertools import cycle
from typing import Any

import msgspec

from tsuzuki.db.queries import Queries, Query

POINTS = (
    *("claimed", "visited", "saved", "storing", "ingested", "delivering", "placing", "delivered"),
    *("announcing", "announced", "telling", "told"),
)
FAULTS = ("fencing", "unique", "transaction")


class KillableProcess:
    """Counts how often it came to its point."""

    def __init__(self, spec: str) -> None:
        self._point, _, rest = spec.partition(":")
        count, _, name = rest.partition(":")
        self._left = int(count or 1)
        self._signal = signal.Signals[f"SIG{name or 'KILL'}"]

    def reach(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            if self._left == 0:
                os.kill(os.getpid(), self._signal)


def after(killable: KillableProcess, point: str, owner: Any, name: str) -> None:
    """Make a coroutine function come to a point when it has done its work."""
    original: Callable[..., Awaitable[Any]] = getattr(owner, name)

    async def wrapped(*arguments: Any, **options: Any) -> Any:
        answer = await original(*arguments, **options)
        killable.reach(point)
        return answer

    setattr(owner, name, wrapped)


def before(killable: KillableProcess, point: str, owner: Any, name: str) -> None:
    """Make a coroutine function come to a point before it does anything."""
    original: Callable[..., Awaitable[Any]] = getattr(owner, name)

    async def wrapped(*arguments: Any, **options: Any) -> Any:
        killable.reach(point)
        return await original(*arguments, **options)

    setattr(owner, name, wrapped)


def deliver_in_portions(most: int) -> None:
    """What a few readers follow is delivered as if they were very many."""
    from tsuzuki.delivery.portions import Deliverer
    from tsuzuki.delivery.tasks import PORTION
    from tsuzuki.ingest import chapters, items

    bounds = cycle((most, PORTION))
    for module, name in ((items, "deliver_feeds_tx"), (chapters, "deliver_chapters_tx")):
        original: Callable[..., Awaitable[Any]] = getattr(module, name)

        def deliver(*arguments: Any, original: Callable[..., Any] = original, **options: Any) -> Any:
            return original(*arguments, **options, most=next(bounds))

        setattr(module, name, deliver)
    assert Deliverer.__init__.__kwdefaults__ is not None
    Deliverer.__init__.__kwdefaults__["most"] = most


def make_killable(killable: KillableProcess) -> None:
    from tsuzuki.delivery import portions
    from tsuzuki.delivery.portions import Deliverer
    from tsuzuki.ingest.service import Ingest
    from tsuzuki.notifications.announcer import Announcer
    from tsuzuki.notifications.sender import Sender
    from tsuzuki.polling import feeds, series
    from tsuzuki.polling.service import Poller

    after(killable, "claimed", Poller, "claim")
    for module, poll in ((feeds, feeds.FeedPoll), (series, series.SeriesPoll)):
        after(killable, "visited", module, "run_visit")
        after(killable, "saved", poll, "_save")
    after(killable, "storing", Ingest, "_ingest_tx")
    after(killable, "ingested", Ingest, "handle_all")
    before(killable, "delivering", Deliverer, "handle")
    after(killable, "placing", portions, "deliver_portion_tx")
    after(killable, "delivered", Deliverer, "handle")
    before(killable, "announcing", Announcer, "handle_all")
    after(killable, "announced", Announcer, "handle_all")
    before(killable, "telling", Sender, "_send")
    after(killable, "told", Sender, "_send")


# -- faults


def plant(fault: str, killable: KillableProcess) -> None:
    """Take one safeguard out."""
    {"fencing": _no_fencing, "unique": _no_unique_key, "transaction": _no_transaction}[fault](killable)


def _no_fencing(_: KillableProcess) -> None:
    """I4: whoever held a task once may finish it, whoever holds it now."""
    from tsuzuki.queue import store

    text = store.q.finish_tasks.postgres.sql
    _rewrite(store.q, "finish_tasks", text[text.index(" and task.lease_token = held.token") :], "")


def _no_unique_key(_: KillableProcess) -> None:
    """I1: items are inserted as they come. The test drops the constraint itself."""
    from tsuzuki.ingest import items

    text = items.q.upsert_items.postgres.sql
    _rewrite(items.q, "upsert_items", text[text.index("on conflict") : text.index("returning")], "")


def _no_transaction(killable: KillableProcess) -> None:
    """R1: what is new is stored in one transaction, and put into inboxes in another."""
    from tsuzuki.delivery.fanout import NOTHING, Delivered, deliver_chapters_tx, deliver_feeds_tx
    from tsuzuki.ingest import chapters, items
    from tsuzuki.ingest.service import Ingest

    real: dict[str, Callable[..., Awaitable[Delivered]]] = {
        "deliver_feeds_tx": deliver_feeds_tx,
        "deliver_chapters_tx": deliver_chapters_tx,
    }
    later: list[Callable[[Any], Awaitable[Delivered]]] = []

    def put_off(name: str) -> Callable[..., Awaitable[Delivered]]:
        async def deliver(_: Any, *arguments: Any, **options: Any) -> Delivered:
            later.append(lambda tx: real[name](tx, *arguments, **options))
            return NOTHING

        return deliver

    for module, name in ((items, "deliver_feeds_tx"), (chapters, "deliver_chapters_tx")):
        setattr(module, name, put_off(name))
    original = Ingest.handle_all

    async def handle_all(self: Any, tasks: Any) -> None:
        await original(self, tasks)
        killable.reach("between")
        while later:
            self._after_commit(await self._db.with_tx(later.pop()))

    Ingest.handle_all = handle_all  # type: ignore[method-assign]  # that is the fault


def _rewrite(queries: Queries, name: str, old: str, new: str) -> None:
    query: Query = getattr(queries, name)
    assert old in query.postgres.sql, f"{name} has changed: {query.postgres.sql}"
    text = msgspec.structs.replace(query.postgres, sql=query.postgres.sql.replace(old, new))
    queries.__dict__[name] = msgspec.structs.replace(query, postgres=text)


def main() -> None:
    from tsuzuki.cli import main as tsuzuki

    killable = KillableProcess(os.environ.get("MORTAL", ""))
    make_killable(killable)
    if portion := os.environ.get("PORTION"):
        deliver_in_portions(int(portion))
    if fault := os.environ.get("PLANTED"):
        plant(fault, killable)
    sys.argv[0] = "tsuzuki"
    tsuzuki()


if __name__ == "__main__":
    main()

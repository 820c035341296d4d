"""What an app may ask for in one request, of a shelf with 150,000 entries: the aim is 250 ms.

Processor time is counted, of this process (the server, its SQLite, and the app) and of PostgreSQL's: the clock also
counts what else the machine does.
"""

import time
from collections.abc import Awaitable, Callable
from itertools import cycle
from pathlib import Path

import pytest

from tests.api.people import RunningApp, a_running_app
from tests.app import in_settings
from tests.protocols.people import AppReader, an_app_reader
from tests.protocols.reader_client import READ, READING_LIST, ReaderClient
from tests.protocols.test_fever import fill
from tests.scale import scaled
from tsuzuki.db.queries import parse_queries
from tsuzuki.db.statistics import refresh_statistics

pytestmark = pytest.mark.soak

AT_ONCE = 10_000
AIM_S = 0.25
TICK_S = 0.01

q = parse_queries(
    "tests",
    """-- name: postgres_processes
-- Of this database: other tests share the server.
select cast(pid as bigint) from pg_stat_activity where datname = current_database();""",
)

FORM = {"content-type": "application/x-www-form-urlencoded"}

Ask = Callable[[], Awaitable[object]]


async def spent(app: RunningApp) -> float:
    """Seconds of processor time so far."""
    pids = await app.db.read(lambda tx: tx.many(int, q.postgres_processes)) if app.db.engine == "postgres" else []
    return time.process_time() + sum(map(computed, pids))


def computed(pid: int) -> float:
    """Of one process; of one that has just ended, nothing."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) * TICK_S


async def cost(app: RunningApp, ask: Ask) -> float:
    """The least of three: noise only ever adds."""
    costs = []
    for _ in range(3):
        before = await spent(app)
        await ask()
        costs.append(await spent(app) - before)
    return min(costs)


async def asked(ann: AppReader) -> dict[str, Ask]:
    """The most that apps ask for at once."""
    reader = await ReaderClient(ann).sign_in()
    ids = await reader.ids(READING_LIST, ("n", AT_ONCE))
    assert len(ids) == AT_ONCE
    token = {"x-auth-token": ann.key}
    numbers = "&".join(f"i={number}" for number in ids)
    is_read = cycle((True, False))  # whoever marks, marks all of them otherwise: to repeat a mark costs little

    async def mark() -> None:
        said = await reader.ask(
            "POST", "edit-tag", data=f"{numbers}&{'a' if next(is_read) else 'r'}={READ}", headers=FORM
        )
        assert said.text == "OK"

    async def mark_by_miniflux() -> None:
        body = {"entry_ids": ids, "status": "read" if next(is_read) else "unread"}
        assert (await ann.app.client.ask("PUT", "/miniflux/v1/entries", headers=token, json=body)).status == 204

    async def list_by_miniflux() -> None:
        path = f"/miniflux/v1/entries/ids?limit={AT_ONCE}&status=unread"
        assert len((await ann.app.client.ask("GET", path, headers=token)).json()["entry_ids"]) == AT_ONCE

    async def list_by_label() -> None:
        assert len(await reader.ids("user/-/label/Default", ("n", AT_ONCE), ("xt", READ))) == AT_ONCE

    async def texts() -> None:
        page = await reader.get("stream/contents", ("n", AT_ONCE))
        assert len(page["items"]) == 1_000
        assert "continuation" in page

    return {
        "Google Reader, numbers": lambda: reader.ids(READING_LIST, ("n", AT_ONCE), ("xt", READ)),
        "Google Reader, numbers of a label": list_by_label,
        "Miniflux, numbers": list_by_miniflux,
        "Fever, numbers": lambda: ann.fever("api&unread_item_ids"),
        "Google Reader, texts": texts,
        "Google Reader, marks": mark,
        "Miniflux, marks": mark_by_miniflux,
    }


async def test_an_app_that_asks_for_everything_is_answered_soon(empty_database_url, tmp_path):
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        ann = await an_app_reader(app)
        await fill(app, ann.shelf, await ann.add_feed("Everything"), scaled(15_000, 150_000))
        await refresh_statistics(app.db)
        costs = {name: await cost(app, ask) for name, ask in (await asked(ann)).items()}
        assert {name: took for name, took in costs.items() if took > AIM_S} == {}, costs

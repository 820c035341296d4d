"""Lists of jobs: their order, their pages, and that a page of rare ones does not look at all the others."""

from functools import partial

import apsw
import asyncpg
import pytest

from tests.databases import migrated
from tsuzuki.accounts.types import Slice
from tsuzuki.crawler.store import list_jobs_tx, q
from tsuzuki.crawler.types import Job, JobFilter, Sort, Status
from tsuzuki.db import Database, Tx
from tsuzuki.db.queries import Query, parse_queries
from tsuzuki.model.ids import PublicId

_q = parse_queries(
    "tests",
    """
-- name: add_job
insert into crawl_job (public_id, kind, source_id, source_name, source_slug, status, scheduled_at, started_at,
  finished_at, pages_count, created_at, updated_at)
values (:public_id, 'targeted', :source_id, 'A', 'a', :status, :at, :at, :finished_at, :pages, :at, :at);
""",
)
SORTS: dict[Sort, str] = {
    "scheduledat": "scheduled_at",
    "finishedat": "finished_at",
    "pagescount": "pages_count",
}


async def add_jobs(db: Database) -> None:
    """Thirty, of two sources: every fifth failed, every seventh found pages, the last is queued."""

    async def add(tx: Tx) -> None:
        for number in range(30):
            status: Status = "failed" if number % 5 == 0 else "done"
            if number == 29:
                status = "queued"
            await tx.run(
                _q.add_job,
                public_id=PublicId(number.to_bytes(16, "big")),
                source_id=number % 2,
                status=status,
                at=1000 + number,
                finished_at=None if status == "queued" else 5000 - number,
                pages=number if number % 7 == 0 else 0,
            )

    await db.with_tx(add)


async def listed(db: Database, wanted: JobFilter, most: int) -> list[Job]:
    """All pages of a list, one after the other."""
    found: list[Job] = []
    while True:
        rows, total = await db.read(partial(list_jobs_tx, wanted=wanted, part=Slice(most=most, skip=len(found))))
        found += rows
        if not rows:
            assert len(found) == total
            return found


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("most", [1, 4, 50])
@pytest.mark.parametrize("over", [{}, {"statuses": ("failed", "queued")}, {"statuses": ("done",)}, {"source_id": 1}])
async def test_r57_pages_of_a_list_cover_it_in_order(db, sort, most, over):
    await add_jobs(db)
    jobs = await listed(db, JobFilter(sort=sort, **over), most)
    assert jobs == await listed(db, JobFilter(sort=sort, **over), 50)
    every = await listed(db, JobFilter(), 50)
    assert len(every) == 30
    fitting = [
        job
        for job in every
        if (not over.get("statuses") or job.status in over["statuses"])
        and ("source_id" not in over or job.source_id == over["source_id"])
    ]

    def place(job: Job) -> tuple[bool, int, int]:
        value = getattr(job, SORTS[sort])
        return value is None, -(value or 0), -job.id

    assert [job.id for job in jobs] == [job.id for job in sorted(fitting, key=place)]


PLANS: dict[str, tuple[Query, str]] = {
    "by time": (q.list_jobs, "crawl_job_order"),
    "by end": (q.list_jobs_finished, "crawl_job_finished"),
    "by pages": (q.list_jobs_with_pages, "crawl_job_pages"),
    "not done": (q.list_jobs_not_done, "crawl_job_not_done"),
    "of people": (q.list_jobs_of_people, "crawl_job_manual"),
    "of a source": (q.list_jobs_of_source, "crawl_job_source"),
}
SORTED: dict[str, tuple[Query, str]] = {
    "not done": (q.sort_jobs_not_done, "crawl_job_not_done"),
    "of people": (q.sort_jobs_of_people, "crawl_job_manual"),
    "of a comic": (q.sort_jobs_of_comic, "crawl_job_series"),
}
COUNTS: dict[str, tuple[Query, str]] = {
    "not done": (q.count_jobs_not_done, "crawl_job_not_done"),
    "of people": (q.count_jobs_of_people, "crawl_job_manual"),
    "with pages": (q.count_jobs_with_pages, "crawl_job_pages"),
}
ASKED: dict[str, object] = {
    "statuses": None,
    "source_id": None,
    "has_comic": False,
    "comic_id": bytes(16),
    "is_manual": None,
    "since": None,
    "most": 50,
    "skip": 0,
}
"""What a query is given that is narrowed by nothing."""
NARROWED: dict[str, dict[str, object]] = {
    "not done": {"statuses": ",failed,"},
    "of people": {"is_manual": True},
    "of a source": {"source_id": 7},
}


def sqlite_plan(path: object, query: Query) -> str:
    text = query.sqlite
    with apsw.Connection(str(path)) as connection:
        rows = list(connection.execute(f"explain query plan {text.sql}", [None] * len(text.params)))
    return " / ".join(str(row[3]) for row in rows)


@pytest.mark.parametrize("name", PLANS)
def test_a_page_is_taken_from_its_index_without_sorting(sqlite_template, name):
    query, index = PLANS[name]
    plan = sqlite_plan(sqlite_template, query)
    assert f"USING INDEX {index}" in plan
    assert "TEMP B-TREE" not in plan


@pytest.mark.parametrize("name", SORTED)
def test_rare_jobs_are_found_by_their_index(sqlite_template, name):
    """Walking the index of an order to find a few of 200,000 took fifty times as long."""
    query, index = SORTED[name]
    plan = sqlite_plan(sqlite_template, query)
    assert f"USING INDEX {index}" in plan
    assert "TEMP B-TREE" in plan


@pytest.mark.parametrize("name", COUNTS)
def test_rare_jobs_are_counted_by_their_index(sqlite_template, name):
    query, index = COUNTS[name]
    assert index in sqlite_plan(sqlite_template, query)


async def test_postgres_takes_the_same_ways_through_many_jobs(postgres_url):
    async with migrated(postgres_url) as url:
        connection = await asyncpg.connect(url)
        try:
            await connection.execute("""
                insert into crawl_job (public_id, kind, source_id, source_name, source_slug, status, scheduled_at,
                  started_at, finished_at, pages_count, created_at, updated_at)
                select decode(lpad(to_hex(n), 32, '0'), 'hex'), 'targeted', n % 50, 'A', 'a',
                  case when n % 500 = 0 then 'failed' else 'done' end, n, n, n,
                  case when n % 500 = 1 then n else 0 end, n, n
                from generate_series(1, 20000) as n""")
            await connection.execute("analyze crawl_job")
            for name, (query, index) in PLANS.items():
                values = ASKED | NARROWED.get(name, {})
                arguments = [values[param] for param in query.postgres.params]
                rows = await connection.fetch(f"explain {query.postgres.sql}", *arguments)
                plan = "\n".join(row[0] for row in rows)
                assert f"using {index} on crawl_job" in plan, f"{name}: {plan}"
        finally:
            await connection.close()

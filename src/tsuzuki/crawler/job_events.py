"""Those who run this server hear of crawl jobs in the stream of events. Scheduled polls are too many to be told."""

from collections.abc import Iterable

import msgspec

from tsuzuki.crawler.types import JobId
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import PublicId, show_id
from tsuzuki.model.times import Millis
from tsuzuki.shelves.events import JobChanged, tell_admins_tx

q = load_queries("tsuzuki.crawler.job_events")


class JobNews(msgspec.Struct, frozen=True):
    """How a job stands."""

    public_id: PublicId
    kind: str
    status: str
    source_name: str
    comic_title: str | None


async def job_news_tx(tx: Tx, jobs: Iterable[JobId]) -> list[JobNews]:
    """These jobs as they are now."""
    return await tx.bulk(JobNews, q.job_news, [[job_id] for job_id in jobs])


async def tell_jobs_tx(tx: Tx, jobs: Iterable[JobId], now: Millis) -> None:
    """Tell how these jobs stand now. Wake `EVENTS_WAKEUP` after the commit."""
    for job in await job_news_tx(tx, jobs):
        news = JobChanged(
            id=show_id(job.public_id),
            kind=job.kind,
            status=job.status,
            source=job.source_name,
            comic=job.comic_title,
        )
        await tell_admins_tx(tx, news, now)

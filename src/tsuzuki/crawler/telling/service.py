"""Those who run this server hear of crawl jobs in the stream of events. Scheduled polls are too many to be told."""

from collections.abc import Iterable

from tsuzuki.crawler.rows import JobId
from tsuzuki.crawler.telling.store import job_news_tx
from tsuzuki.db import Tx
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import Millis
from tsuzuki.shelves.events import JobChanged, tell_admins_tx


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

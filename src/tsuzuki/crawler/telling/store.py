"""Jobs as a stream tells of them."""

from collections.abc import Iterable

import msgspec

from tsuzuki.crawler.rows import JobId
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.ids import PublicId

q = load_queries("tsuzuki.crawler.telling")


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

"""What travels to the crawl workers: nothing but which job; all of it is in the job's row (R40)."""

import msgspec

from tsuzuki.crawler.rows import JobId
from tsuzuki.model.ids import PublicId, show_id
from tsuzuki.queue.policy import CRAWL
from tsuzuki.queue.tasks import Queue

JOB_WAKEUP = "crawl-job"
"""Woken when a job has moved or said something."""


class CrawlTask(msgspec.Struct, frozen=True):
    """A job to be done."""

    job_id: JobId


CRAWLS: Queue[CrawlTask] = Queue("crawl", CrawlTask, CRAWL)


def task_key(public_id: PublicId) -> str:
    """One task for each job."""
    return f"crawl-{show_id(public_id)}"

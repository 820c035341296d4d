"""What a crawl says while it goes: lines and counters, in memory, without secrets (R47)."""

from collections.abc import Sequence
from typing import Any

from tsuzuki.accounts.audit.recording import masked
from tsuzuki.crawler.rows import JobLogLine, Level
from tsuzuki.ingest.chapters import ReleaseFound
from tsuzuki.model.errors import RateLimited, SourceError
from tsuzuki.model.fetching import Ask, Reply
from tsuzuki.model.numbers import number_key
from tsuzuki.model.secrets import mask_text
from tsuzuki.model.times import SECOND, Millis


class JobNotes:
    """Lines in their order, and how much was fetched and failed; secrets are masked before anything is kept."""

    def __init__(self, pages_count: int = 0) -> None:
        """`pages_count` is what was fetched before, by a worker that died."""
        self._lines: list[JobLogLine] = []
        self._pages = 0
        self._errors = 0
        self.pages_count = pages_count
        """In all."""
        self.error_count = 0
        """Since this crawl was begun or gone on with."""

    def say(self, level: Level, message: str, **meta: Any) -> None:
        """Remember a line."""
        self._lines.append(JobLogLine(level, mask_text(message), masked(meta)))

    def count(self, *, pages: int = 0, errors: int = 0) -> None:
        """Let the counters move."""
        self._pages += pages
        self._errors += errors
        self.pages_count += pages
        self.error_count += errors

    def taken(self) -> tuple[list[JobLogLine], int, int]:
        """Lines, pages and errors since this was last asked."""
        taken = self._lines, self._pages, self._errors
        self._lines, self._pages, self._errors = [], 0, 0
        return taken

    # -- what every crawl says

    def on_call(self, ask: Ask, outcome: Reply | SourceError, seconds: float, /) -> None:
        """A call that was made."""
        for status, wait in outcome.retried:
            seconds_asked = -(-wait // SECOND)
            said = f"Rate limit hit — retrying after {seconds_asked}s"
            self.say("warn", said, url=ask.url, httpstatus=status, retryafter=seconds_asked)
        meta: dict[str, Any] = {"url": ask.url, "durationms": round(seconds * 1000)}
        if isinstance(outcome, Reply):
            self.say("debug", f"{ask.method} {ask.url}", **meta, httpstatus=outcome.status)
            return
        self.count(errors=1)
        if outcome.status is not None:
            meta["httpstatus"] = outcome.status
        message = str(outcome)
        if outcome.retry_after is not None:
            meta["retryafter"] = -(-outcome.retry_after // SECOND)
        if isinstance(outcome, RateLimited):
            message = f"Rate limit hit, not tried again: {message}"
        self.say("warn", message, **meta)

    def found(self, releases: Sequence[ReleaseFound], url: str) -> None:
        """Chapters that are new or changed."""
        self.count(pages=len(releases))
        self.say("info", _found(len(releases)), url=url, chapternumbers=_numbers(releases))

    def end(self, error: str | None, *, took: Millis) -> None:
        """The last line; a failure counts at least one error."""
        if error is None:
            self.say("info", "Job completed successfully", pagescount=self.pages_count, durationms=took)
            return
        if not self.error_count:
            self.count(errors=1)
        self.say("error", f"Job failed: {error}", pagescount=self.pages_count, durationms=took)


def _found(count: int) -> str:
    if not count:
        return "Found no new chapters"
    return f"Found {count} new chapter{'s' if count > 1 else ''}"


def _numbers(found: Sequence[ReleaseFound]) -> list[float | int]:
    numbers = [each.found.number for each in found if each.found.number is not None]
    return [int(number) if "." not in number_key(number) else float(number) for number in numbers]

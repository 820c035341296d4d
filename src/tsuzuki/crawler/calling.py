"""How a job calls its source: every call goes into its log."""

import msgspec

from tsuzuki.connectors.registry import Registry
from tsuzuki.crawler.journal import JobLog
from tsuzuki.polling.driver import Driver, FolderOf, SourceCall, source_call
from tsuzuki.sources.sites.rows import Source

__all__ = ["SourceCall", "SourceCalls"]


class SourceCalls(msgspec.Struct, frozen=True):
    """Ways to call sources."""

    registry: Registry
    driver: Driver
    folder_of: FolderOf

    def to(self, source: Source, journal: JobLog) -> SourceCall:
        """The way to this source; NotFound when nothing installed can call it."""
        return source_call(source, self.registry, self.driver.with_listener(journal.on_call), folder_of=self.folder_of)

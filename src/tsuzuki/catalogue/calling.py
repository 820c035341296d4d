"""Whether a source may be called now, and how."""

import msgspec

from tsuzuki.connectors.protocol import ConnectorInfo, Unsupported
from tsuzuki.connectors.registry import Registry
from tsuzuki.db import Database
from tsuzuki.model.errors import NotFound, Unavailable
from tsuzuki.polling.driver import Driver, FolderOf, SourceCall, source_call
from tsuzuki.sources.sites.rows import Source
from tsuzuki.sources.sites.service import source_info
from tsuzuki.sources.sites.store import show_pause_tx


class NotCalled(Unavailable):
    """The operator does not let this source be called, or nothing installed can."""


class Calls(msgspec.Struct, frozen=True):
    """Ways to call sources on behalf of readers."""

    db: Database
    registry: Registry
    driver: Driver
    folder_of: FolderOf

    def info(self, source: Source) -> ConnectorInfo | None:
        """What is declared of the source; None while its connector is not installed."""
        return source_info(self.registry, source.connector, source.config)

    async def to(self, source: Source) -> SourceCall:
        """The way to this source; NotCalled says why there is none now."""
        if not source.is_enabled:
            raise NotCalled(f"{source.name} is switched off.")
        pause = await self.db.read(show_pause_tx)
        if pause is not None:
            because = f": “{pause.reason}”" if pause.reason else ""
            raise NotCalled(f"All sources are paused by the operator{because}.")
        return self.aside(source)

    def aside(self, source: Source) -> SourceCall:
        """The way to this source, whether it may be called now or not."""
        try:
            return source_call(source, self.registry, self.driver, folder_of=self.folder_of)
        except (NotFound, Unsupported) as error:
            raise NotCalled(f"{source.name} cannot be called: {error}") from error

"""How a job calls its source: by its connector, on its behalf, with everything overheard."""

from typing import Any

import msgspec

from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.protocol import Connector, Visit
from tsuzuki.connectors.registry import Registry
from tsuzuki.crawl.journal import Journal
from tsuzuki.model.errors import NotFound
from tsuzuki.net.options import SourceIdentity
from tsuzuki.polling.comics import FolderOf, read_config, source_identity
from tsuzuki.polling.saving import visited
from tsuzuki.polling.visit import Driver, LocalReader
from tsuzuki.sources.sites.rows import Source


class SourceCall(msgspec.Struct, frozen=True):
    """How a source is called in one run."""

    connector: Connector
    config: SourceConfig
    driver: Driver
    origin: SourceIdentity
    folder: LocalReader | None

    async def ask(self, visit: Visit[Any]) -> Any:
        """What the visit brings; a SourceError when the source does not."""
        return await visited(self.driver, visit, self.origin, folder=self.folder)


class SourceCalls(msgspec.Struct, frozen=True):
    """Ways to call sources."""

    registry: Registry
    driver: Driver
    folder_of: FolderOf

    def to(self, source: Source, journal: Journal) -> SourceCall:
        """The way to this source; NotFound when nothing installed can call it."""
        if source.connector is None:
            raise NotFound("The source has no extension.")
        connector = self.registry.comics(source.connector)
        config = read_config(connector, source.config)
        origin = source_identity(connector, config, source.id)
        return SourceCall(connector, config, self.driver.overheard(journal.overhear), origin, self.folder_of(config))

"""How a source is called outside of a poll: by its connector, on its behalf."""

from typing import TypeVar

import msgspec

from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.protocol import Connector, Visit
from tsuzuki.connectors.registry import Registry
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import SourceId
from tsuzuki.net.options import SourceIdentity
from tsuzuki.polling.comics import FolderOf, read_config, source_identity
from tsuzuki.polling.saving import visited
from tsuzuki.polling.visit import Driver, LocalReader
from tsuzuki.sources.sites.rows import Source

T = TypeVar("T")


class SourceCall(msgspec.Struct, frozen=True):
    """How a source is called in one run."""

    connector: Connector
    config: SourceConfig
    driver: Driver
    origin: SourceIdentity
    folder: LocalReader | None
    source_id: SourceId

    async def ask(self, visit: Visit[T]) -> T:
        """What the visit brings; a SourceError when the source does not."""
        found = await visited(self.driver, visit, self.origin, folder=self.folder)
        await self.answered()
        return found

    async def answered(self) -> None:
        """To be said of a call that was answered some other way than by `ask` (R99)."""
        await self.driver.answered(self.source_id)


def source_call(source: Source, registry: Registry, driver: Driver, *, folder_of: FolderOf) -> SourceCall:
    """The way to this source; NotFound when nothing installed can, ShapeChanged when its config does not fit."""
    if source.connector is None:
        raise NotFound("The source has no extension.")
    connector = registry.comics(source.connector)
    config = read_config(connector, source.config)
    connector = connector.fitted(config, source.base_url)
    origin = source_identity(connector, config, source.id)
    return SourceCall(connector, config, driver, origin, folder_of(config), source.id)

"""What every connector is: a description of a kind of source, and one generator per thing it can be asked.

A verb yields what it wants done (`Ask`, `ReadFile`, `Parse`, ...), receives the answer at the same place, and returns a
value. Politeness, retries, the address guard and the process pool are the driver's, so no connector can evade them
and its tests need no server.
"""

from collections.abc import Generator, Mapping
from typing import Any, Protocol, TypeVar

import msgspec

from tsuzuki.connectors.filters import Filter, FilterValue
from tsuzuki.model.fetching import Want
from tsuzuki.model.harvest import FoundChapter, FoundPage, SeriesDetails, SeriesPage

T = TypeVar("T")
Visit = Generator[Want, Any, T]


class SourceConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every source's config knows; a connector's own config adds to it by inheriting."""

    ratelimit: float | None = None
    """Requests a second; the connector's own limit when None."""
    proxy: str | None = None
    headers: Mapping[str, str] = {}
    maxpages: int = 50
    """How far a discovery walks a catalogue."""


class Abilities(msgspec.Struct, frozen=True):
    """A picture of what a connector can do."""

    popular: bool = False
    latest: bool = False
    search: bool = False
    details: bool = False
    chapters: bool = False
    pages: bool = False


class ConnectorInfo(msgspec.Struct, frozen=True, kw_only=True):
    """What a connector declares of itself."""

    id: str
    """Reverse-domain, unique: `org.mangadex`."""
    name: str
    languages: tuple[str, ...]
    base_url: str
    version_id: int = 1
    is_nsfw: bool = False
    ratelimit: float = 2.0
    """Requests a second to its hosts."""
    image_urls_expire: bool = False
    """R66: such addresses are never stored."""
    config: type[SourceConfig] = SourceConfig
    abilities: Abilities = Abilities()


class Connector(Protocol):
    """A kind of source with a catalogue. Verbs that `info.abilities` denies raise `Unsupported` when called.

    `config` is an instance of `info.config`; `key` and `url` of a series are the ones its list gave.
    """

    info: ConnectorInfo

    def filters(self, config: Any) -> tuple[Filter, ...]: ...
    def popular(self, config: Any, page: int) -> Visit[SeriesPage]: ...
    def latest(self, config: Any, page: int) -> Visit[SeriesPage]: ...
    def search(
        self, config: Any, page: int, *, text: str, filters: tuple[FilterValue, ...] = ()
    ) -> Visit[SeriesPage]: ...
    def details(self, config: Any, series_url: str) -> Visit[SeriesDetails]: ...
    def chapters(self, config: Any, series_url: str) -> Visit[tuple[FoundChapter, ...]]: ...
    def pages(self, config: Any, chapter_url: str) -> Visit[tuple[FoundPage, ...]]: ...
    def image_url(self, config: Any, page: FoundPage) -> Visit[str]: ...

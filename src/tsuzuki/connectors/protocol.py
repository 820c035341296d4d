"""The interface of a connector: what it declares, and one generator for each thing it can do.

A verb yields what it wants done (`Ask`, `ReadFile`, `Parse`, ...), receives the answer at the same place, and returns a
value. Politeness, retries, the address guard and the process pool are the driver's, so no connector can evade them
and its tests need no server.
"""

import hashlib
from collections.abc import Generator, Mapping
from copy import copy
from typing import Any, NoReturn, Protocol, TypeVar, runtime_checkable
from urllib.parse import urljoin, urlsplit

import msgspec

from tsuzuki.connectors.config import SourceConfig, decode_config
from tsuzuki.connectors.filters import Filter, FilterValue
from tsuzuki.model.errors import Invalid, ShapeChanged
from tsuzuki.model.harvest import FoundChapter, FoundPage, SeriesDetails, SeriesPage
from tsuzuki.model.ids import SourceId
from tsuzuki.model.requests import Ask, SourceIdentity, Want

T = TypeVar("T")
Visit = Generator[Want, Any, T]


class Unsupported(Invalid):
    """The connector cannot do what was asked of it; its abilities say so beforehand."""


class Abilities(msgspec.Struct, frozen=True):
    """What a connector can do."""

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
    """Codes as Tachiyomi spells them; `all` where a source does not distinguish them."""
    base_url: str
    """Where a person reads it; in a connector `for_source`, the source's own address."""
    api_url: str | None = None
    """What is called, where that is another host; only it gets the credentials of a source's config."""
    version_id: int = 1
    uid_overrides: Mapping[str, int] = {}
    """By language: the uid of a source that does not follow from its name (R9)."""
    is_nsfw: bool = False
    ratelimit: float = 2.0
    """Requests a second to its hosts."""
    image_urls_expire: bool = False
    """R66: such addresses are never stored."""
    config: type[SourceConfig] = SourceConfig
    abilities: Abilities = Abilities()


class SeriesAt(msgspec.Struct, frozen=True):
    """A series by the source's own key and address."""

    key: str
    url: str


class ImageOutcome(msgspec.Struct, frozen=True):
    """How one image came, for hosts that want reports."""

    url: str
    is_success: bool
    size: int
    took_ms: int
    is_cached: bool = False
    """The host said that it had the image already."""


@runtime_checkable
class Described(Protocol):
    """Anything that the registry can hold: a connector of comics or of feeds."""

    @property
    def info(self) -> ConnectorInfo: ...


class Connector:
    """A kind of source with a catalogue. Verbs that `info.abilities` denies raise `Unsupported` when called.

    Inherit from it and define the verbs you can answer. `config` is an instance of `info.config`; `series_url` and
    `chapter_url` are the ones that its lists gave. Pages are counted from 1; chapters come newest first (R11).
    Call `self.info.base_url`, never a constant: it is the source's own address, and only it gets credentials.
    """

    info: ConnectorInfo
    backup_chapters: str = ""
    """What stands before a chapter's own id in the addresses of Mihon's extension; empty where it has none."""

    def for_source(self, config: Any, base_url: str = "") -> "Connector":
        """Who answers for a source with this config at this address: itself, with the address in `info.base_url`."""
        address = base_url.rstrip("/")
        if address in ("", self.info.base_url):
            return self
        moved = copy(self)
        moved.info = msgspec.structs.replace(self.info, base_url=address)
        return moved

    def read_config(self, raw: Mapping[str, Any]) -> SourceConfig:
        """The config that a source has stored; a ShapeChanged names every problem."""
        try:
            return decode_config(self.info.config, raw)
        except Invalid as error:
            raise ShapeChanged(f"The source's config does not fit its connector: {error}") from error

    def identity(self, config: SourceConfig, source_id: SourceId, *, watch: str | None = None) -> SourceIdentity:
        """On whose behalf a source with this config is called."""
        return SourceIdentity(
            source=f"source:{source_id}",
            watch=watch,
            home_url=self.info.api_url or self.info.base_url,
            ratelimit=config.ratelimit or self.info.ratelimit,
            proxy=config.proxy,
            headers=config.headers,
            keeps_cookies=True,
        )

    def series_at(self, config: Any, url: str) -> SeriesAt | None:
        """The series that an address from anywhere may be of; None where it is none of this source. Asks nobody."""
        return None

    def series_in_backup(self, config: Any, url: str) -> SeriesAt | None:
        """The series that Mihon's extension of this source calls by this address: most store paths of the site."""
        return self.series_at(config, urljoin(f"{self.info.base_url}/", url))

    def backup_url(self, series_url: str) -> str:
        """The other way round: what the extension calls the series."""
        parts = urlsplit(series_url)
        return f"{parts.path}?{parts.query}" if parts.query else parts.path

    def filters(self, config: Any) -> tuple[Filter, ...]:
        """What a search can be narrowed by."""
        return ()

    def popular(self, config: Any, page: int) -> Visit[SeriesPage]:
        """One page of the list that most people want."""
        self._decline("list popular series")

    def latest(self, config: Any, page: int) -> Visit[SeriesPage]:
        """One page of the series with the newest chapters."""
        self._decline("list the latest series")

    def search(self, config: Any, page: int, *, text: str, filters: tuple[FilterValue, ...] = ()) -> Visit[SeriesPage]:
        """One page of what matches; an empty text with filters browses."""
        self._decline("search")

    def details(self, config: Any, series_url: str) -> Visit[SeriesDetails]:
        """Everything that the source says of a series."""
        self._decline("show a series")

    def chapters(self, config: Any, series_url: str) -> Visit[tuple[FoundChapter, ...]]:
        """Every release, newest first. Raises `ShapeChanged` rather than return a part of the list (R28)."""
        self._decline("list chapters")

    def pages(self, config: Any, chapter_url: str) -> Visit[tuple[FoundPage, ...]]:
        """The pages of a release in reading order, counted from 0."""
        self._decline("list pages")

    def image_url(self, config: Any, page: FoundPage) -> Visit[str]:
        """The address of a page's image, where `pages` had none."""
        yield from ()  # a generator like every other verb, though it asks for nothing
        if page.image_url is None:
            self._decline("find this page's image")
        return page.image_url

    def image(self, config: Any, image_url: str) -> Want:
        """What to ask for to get the image itself, with the headers that its host wants to see."""
        return Ask(image_url)

    def image_report(self, outcome: ImageOutcome) -> Ask | None:
        """The report to the source on a fetched image; None where it wants none."""
        return None

    def _decline(self, doing: str) -> NoReturn:
        raise Unsupported(f"{self.info.name} cannot {doing}.")


MASK = 2**63 - 1


def computed_uid(name: str, language: str, version_id: int = 1) -> int:
    """The first 8 bytes of md5("name/language/version"), as a positive BIGINT. Over 2^53: JSON gets it as a string."""
    digest = hashlib.md5(f"{name.lower()}/{language}/{version_id}".encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "big") & MASK


def default_name(info: ConnectorInfo, language: str) -> str:
    """What a source is called until someone renames it: names are unique, and a source has one language (R9)."""
    return info.name if len(info.languages) == 1 else f"{info.name} ({language.upper()})"


def source_uid(info: ConnectorInfo, language: str) -> int:
    """The uid of a connector's source in one language: its own override, else computed."""
    if language in info.uid_overrides:
        return info.uid_overrides[language]
    return computed_uid(info.name, language, info.version_id)

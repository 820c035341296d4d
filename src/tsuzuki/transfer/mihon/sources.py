"""Which of our sources the sources of a backup are: by their ids (R9), by their names, else by their sites."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import product
from string import ascii_lowercase
from urllib.parse import urlsplit

import msgspec

from tsuzuki.connectors.protocol import Connector, computed_uid
from tsuzuki.connectors.registry import Registry
from tsuzuki.model.errors import Invalid, NotFound, ShapeChanged
from tsuzuki.model.structs import copied
from tsuzuki.sources.types import Source
from tsuzuki.transfer.archive.format import ArchivedSource
from tsuzuki.transfer.mihon.lines import BackupPlace, SeriesPlaces
from tsuzuki.transfer.mihon.unpack import SeriesHead

_ANY_LANGUAGE = "all"
# Codes that extensions may have in the ids of their sources (R9).
_LANGUAGES = (
    *("".join(letters) for letters in product(ascii_lowercase, repeat=2)),
    *("all", "fil", "ceb", "pt-br", "pt-BR", "es-419", "es-la", "zh-hk", "zh-Hans", "zh-Hant", "zh-rHK"),
)


class CallableSource(msgspec.Struct, frozen=True):
    """A source with its connector and config."""

    source: Source
    connector: Connector
    config: object


class BackupSources:
    """The sources of this server, as backups know them."""

    def __init__(self, registry: Registry, sources: Iterable[Source]) -> None:
        self._by_uid: dict[int, CallableSource] = {}
        self._by_slug: dict[str, Source] = {}
        self._by_name: dict[str, CallableSource] = {}
        self._by_host: dict[str, CallableSource] = {}
        for source in sources:
            found = _callable(registry, source)
            if found is None:
                continue
            self._by_uid[source.uid] = found
            self._by_slug[source.slug] = source
            for name in (source.name, found.connector.info.name):
                self._by_name.setdefault(name.casefold(), found)
            host = urlsplit(source.base_url).hostname
            if host:
                self._by_host.setdefault(host, found)

    def by_uid(self, uid: int) -> CallableSource | None:
        """The source with this id."""
        return self._by_uid.get(uid)

    def line(self, slug: str) -> ArchivedSource:
        """A source as a line of an archive; this server has it already."""
        return copied(ArchivedSource, self._by_slug[slug], config={}, is_enabled=True)

    def places(self, head: SeriesHead, names: Mapping[int, str]) -> SeriesPlaces:
        """Where a series of a backup can be read here, and the series that were merged into it."""
        parts = (msgspec.structs.replace(head, source=source, url=url) for source, url in head.merged)
        merged = (self._place(part, names) for part in parts)
        return SeriesPlaces(self._place(head, names), tuple(place for place in merged if place is not None))

    def _place(self, head: SeriesHead, names: Mapping[int, str]) -> BackupPlace | None:
        found = self._find(head, names)
        if found is None:
            return None
        place = found.connector.series_in_backup(found.config, head.url)
        if place is None and _host(head.url):  # a whole address, whoever's extension wrote it
            place = found.connector.series_at(found.config, head.url)
        if place is None:
            return None
        parts = urlsplit(place.url)
        base = f"{parts.scheme}://{parts.netloc}" if parts.netloc else found.source.base_url
        language = None if found.source.lang == "all" else found.source.lang
        return BackupPlace(
            found.source.slug, place.key, place.url, base.rstrip("/"), language, found.connector.backup_chapters
        )

    def _find(self, head: SeriesHead, names: Mapping[int, str]) -> CallableSource | None:
        return (
            self._by_uid.get(head.source)
            or self._named(head.source, names.get(head.source, ""))
            or self._by_host.get(_host(head.url))
        )

    def _named(self, uid: int, name: str) -> CallableSource | None:
        """The source of this name, unless it has another language: progress there would not be progress here."""
        found = self._by_name.get(name.casefold()) if name else None
        if found is None or found.source.lang == _ANY_LANGUAGE:
            return found
        language = language_of(uid, name)
        return found if language in {None, _ANY_LANGUAGE, found.source.lang} else None


@lru_cache(10_000)
def language_of(uid: int, name: str) -> str | None:
    """The language of a source, of which its id is made (R9); None where its extension set the id outright."""
    return next((language for language in _LANGUAGES if computed_uid(name, language) == uid), None)


def _callable(registry: Registry, source: Source) -> CallableSource | None:
    if source.connector is None:
        return None
    try:
        connector = registry.comics(source.connector)
        config = connector.read_config(source.config)
    except (NotFound, Invalid, ShapeChanged):
        return None
    return CallableSource(source, connector.for_source(config, source.base_url), config)


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""

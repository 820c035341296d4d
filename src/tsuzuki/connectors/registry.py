"""Which connectors there are: the built-in ones, the shipped and the operator's definitions, and installed ones."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from importlib import resources
from importlib.metadata import EntryPoint

from tsuzuki.connectors.local import LocalFolder
from tsuzuki.connectors.mangadex.connector import MangaDex
from tsuzuki.connectors.protocol import Connector, ConnectorInfo, Described, Unsupported
from tsuzuki.connectors.selectors.connector import SelectorsSource, WrittenSource
from tsuzuki.connectors.selectors.reader import load_definition
from tsuzuki.model.errors import Conflict, Invalid, NotFound

ENTRY_POINTS = "tsuzuki.connectors"
SAMPLE = "sample.yaml"
"""The definition of the guide's sample site: shipped to be read and tried, not a source for everyone."""
_ID = re.compile(r"[a-z][a-z0-9-]*(?:\.[a-z0-9][a-z0-9_-]*)+")


class Registry:
    """Connectors by their id. Made once, at the start; a connector that is not well-formed refuses it."""

    def __init__(
        self, connectors: Iterable[tuple[str, Described]] | Callable[[], Iterable[tuple[str, Described]]]
    ) -> None:
        """`connectors` come with where they were found, so that a clash can name both. What gives them is called when
        one is first looked for, which is for those of which none can be wrong.
        """
        self._given = connectors
        if not callable(connectors):
            _ = self._found

    @cached_property
    def _found(self) -> Mapping[str, tuple[str, Described]]:
        found: dict[str, tuple[str, Described]] = {}
        for origin, connector in self._given() if callable(self._given) else self._given:
            identity = _checked(origin, connector.info).id
            if identity in found:
                raise Conflict(f"Two connectors have the id {identity}: {found[identity][0]} and {origin}.")
            found[identity] = (origin, connector)
        return found

    def __iter__(self) -> Iterator[Described]:
        return (connector for _, connector in self._found.values())

    def __len__(self) -> int:
        return len(self._found)

    def get(self, identity: str) -> Described:
        """The connector of that id, or `NotFound`."""
        if identity not in self._found:
            raise NotFound(f"There is no connector {identity}.")
        return self._found[identity][1]

    def comics(self, identity: str) -> Connector:
        """The connector of that id; `Unsupported` when it has no catalogue of series."""
        connector = self.get(identity)
        if not isinstance(connector, Connector):
            raise Unsupported(f"{connector.info.name} has no catalogue.")
        return connector


def _checked(origin: str, info: ConnectorInfo) -> ConnectorInfo:
    if not _ID.fullmatch(info.id):
        raise Invalid(f"{origin}: the id {info.id!r} is not of the form com.example.name.")
    if not info.name.strip() or not info.languages:
        raise Invalid(f"{origin}: {info.id} needs a name and at least one language.")
    return info


def builtin() -> Iterator[tuple[str, Described]]:
    """The connectors that come with Tsuzuki, the shipped definitions among them."""
    yield "built-in", MangaDex()
    yield "built-in", LocalFolder()
    yield "built-in", WrittenSource()
    yield from _shipped()


@cache
def _shipped() -> tuple[tuple[str, Described], ...]:
    """Constants of the package; to read them takes a tenth of a start."""
    return tuple(defined(shipped_definitions()))


def shipped_definitions() -> Iterator[tuple[str, str]]:
    """File name and text of each definition in the package but the sample's."""
    folder = resources.files("tsuzuki.connectors.examples")
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".yaml") and file.name != SAMPLE:
            yield file.name, file.read_text("utf-8")


def defined(definitions: Iterable[tuple[str, str]]) -> Iterator[tuple[str, Described]]:
    """A connector for each definition, given as file name and text. `Invalid` names file, line and column."""
    for name, text in definitions:
        yield name, SelectorsSource(load_definition(text, name))


def installed(entry_points: Iterable[EntryPoint]) -> Iterator[tuple[str, Described]]:
    """The connectors of other packages; pass `importlib.metadata.entry_points(group=ENTRY_POINTS)`.

    An entry point is a connector, or something that makes one when called without arguments.
    """
    for entry in entry_points:
        origin = f"entry point {entry.name} ({entry.value})"
        try:
            target = entry.load()
            is_maker = callable(target) and (isinstance(target, type) or not isinstance(target, Described))
            made: object = target() if is_maker else target
        except Exception as error:  # foreign code may raise anything; the operator gets its name
            raise Invalid(f"{origin} cannot be loaded: {type(error).__name__}: {error}") from error
        if not isinstance(made, Described) or not isinstance(made.info, ConnectorInfo):
            raise Invalid(f"{origin} is not a connector: it has no info.")
        yield origin, made

"""A source whose definition stands in its own config: written at the desk, known to every process, no restart."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Annotated

from msgspec import Meta

from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.protocol import Abilities, Connector, ConnectorInfo
from tsuzuki.connectors.selectors.connector import SelectorsSource
from tsuzuki.connectors.selectors.loading import MAX_CHARACTERS, BadDefinition, load_definition
from tsuzuki.model.errors import Problem
from tsuzuki.model.secrets import is_secret

WRITTEN = "tsuzuki.definition"
DOCUMENT = "application/yaml"
_NAME = "definition"
_MOST_AT_HAND = 128

Text = Annotated[str, Meta(max_length=MAX_CHARACTERS, extra_json_schema={"contentMediaType": DOCUMENT})]


class WrittenConfig(SourceConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every source knows, and the text of the definition."""

    definition: Text

    def problems(self) -> Iterator[Problem]:
        """Every mistake of the definition by its line and column."""
        yield from super().problems()
        try:
            source = _source_of(self.definition)
        except BadDefinition as error:
            for found in error.problems:
                line, _, column = found.field.removeprefix(f"{_NAME}:").partition(":")
                yield Problem(_NAME, f"Line {line}, column {column}: {found.message}")
            return
        for name in filter(is_secret, source.definition.headers):
            yield Problem(_NAME, f"{name} belongs into the config's own headers: there it is shown to nobody.")


class WrittenSource(Connector):
    """Stands for whatever its config describes; alone it can do nothing."""

    info = ConnectorInfo(
        id=WRITTEN,
        name="A definition of your own",
        languages=("all",),
        base_url="",
        config=WrittenConfig,
        abilities=Abilities(),
    )

    def fitted(self, config: WrittenConfig, base_url: str = "") -> Connector:  # noqa: ARG002  # the definition says where
        """The source that the definition describes."""
        return _source_of(config.definition)


@lru_cache(maxsize=_MOST_AT_HAND)
def _source_of(text: str) -> SelectorsSource:
    """Reading a definition takes milliseconds, and every call of its source needs it."""
    return SelectorsSource(load_definition(text, _NAME))

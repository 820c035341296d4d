from importlib import metadata

import pytest

from tsuzuki.connectors.protocol import Connector, ConnectorInfo, Unsupported, source_uid
from tsuzuki.connectors.registry import ENTRY_POINTS, Registry, builtin, defined, installed, shipped_definitions
from tsuzuki.model.errors import Conflict, Invalid, NotFound


def an_info(**over):
    return ConnectorInfo(
        **({"id": "example.one", "name": "One", "languages": ("en",), "base_url": "https://one.example"} | over)
    )


class Comics(Connector):
    def __init__(self, **over):
        self.info = an_info(**over)


class Feeds:
    info = an_info(id="example.feeds", name="Feeds")


class Plugin(Connector):
    info = an_info(id="example.plugin", name="Plugin")


def a_plugin():
    return Plugin()


MADE = Plugin()
BROKEN = object()


def fails():
    raise RuntimeError("no such library")


def an_entry(name, attribute):
    return metadata.EntryPoint(name, f"{__name__}:{attribute}", ENTRY_POINTS)


def test_a_connector_is_found_by_its_id():
    comics, feeds = Comics(), Feeds()
    registry = Registry([("here", comics), ("there", feeds)])
    assert registry.get("example.one") is comics
    assert registry.comics("example.one") is comics
    assert registry.get("example.feeds") is feeds
    assert list(registry) == [comics, feeds]
    assert len(registry) == 2


def test_an_unknown_id_is_not_found():
    registry = Registry([("there", Feeds())])
    with pytest.raises(NotFound):
        registry.get("example.none")
    with pytest.raises(Unsupported):
        registry.comics("example.feeds")


def test_two_connectors_of_one_id_stop_the_start():
    with pytest.raises(Conflict, match=r"example\.one: built-in and entry point more \(x:y\)"):
        Registry([("built-in", Comics()), ("entry point more (x:y)", Comics(name="Other"))])


@pytest.mark.parametrize(
    "over", [{"id": "plain"}, {"id": "Example.One"}, {"id": "a..b"}, {"name": " "}, {"languages": ()}]
)
def test_a_connector_without_an_id_stops_the_start(over):
    with pytest.raises(Invalid, match="here"):
        Registry([("here", Comics(**over))])


def test_built_in_connectors_and_shipped_definitions_have_unique_ids():
    registry = Registry(builtin())
    ids = {connector.info.id for connector in registry}
    assert {"org.mangadex", "tsuzuki.local", "com.xkcd", "com.peppercarrot"} <= ids
    assert len(list(shipped_definitions())) == 3
    uids = [source_uid(connector.info, language) for connector in registry for language in connector.info.languages]
    assert len(uids) == len(set(uids))


@pytest.mark.parametrize("attribute", ["Plugin", "a_plugin", "MADE"])
def test_an_entry_point_is_a_connector_or_makes_one(attribute):
    ((origin, connector),) = installed([an_entry("plugin", attribute)])
    assert isinstance(connector, Plugin)
    assert origin == f"entry point plugin ({__name__}:{attribute})"


@pytest.mark.parametrize("attribute", ["fails", "BROKEN", "nothing", "test_an_unknown_id_is_not_found"])
def test_an_entry_point_that_is_no_connector_is_named(attribute):
    with pytest.raises(Invalid, match=r"entry point plugin"):
        list(installed([an_entry("plugin", attribute)]))


def test_a_broken_definition_names_its_file_and_line():
    with pytest.raises(Invalid, match=r"mine\.yaml:1:1"):
        list(defined([("mine.yaml", "- nothing")]))

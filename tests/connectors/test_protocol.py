import pytest

from tests.connectors.builders import run
from tests.connectors.selectors.builders import SITE, a_source
from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.protocol import Abilities, Connector, ConnectorInfo, ImageOutcome, Unsupported
from tsuzuki.model.errors import Invalid
from tsuzuki.model.harvest import FoundPage
from tsuzuki.model.ids import SourceId
from tsuzuki.model.requests import Ask


class Bare(Connector):
    info = ConnectorInfo(id="example.bare", name="Bare", languages=("en",), base_url="https://bare.example")


CONFIG = SourceConfig()


@pytest.mark.parametrize(
    "call",
    [
        lambda bare: bare.popular(CONFIG, 1),
        lambda bare: bare.latest(CONFIG, 1),
        lambda bare: bare.search(CONFIG, 1, text="x"),
        lambda bare: bare.details(CONFIG, "/s"),
        lambda bare: bare.chapters(CONFIG, "/s"),
        lambda bare: bare.pages(CONFIG, "/c"),
    ],
)
def test_a_verb_that_a_connector_lacks_says_so_at_once(call):
    with pytest.raises(Unsupported, match="Bare cannot"):
        call(Bare())


def test_unsupported_is_the_callers_mistake():
    assert issubclass(Unsupported, Invalid)
    assert Bare.info.abilities == Abilities()


def test_a_page_without_an_image_address_needs_a_resolver():
    assert run(Bare().image_url(CONFIG, FoundPage(0, "/c", "https://i.example/1.png")), {}) == "https://i.example/1.png"
    with pytest.raises(Unsupported):
        run(Bare().image_url(CONFIG, FoundPage(0, "/c")), {})


def test_by_default_an_image_is_asked_for_plainly():
    assert Bare().image(CONFIG, "https://i.example/1.png") == Ask("https://i.example/1.png")
    assert Bare().image_report(ImageOutcome("https://i.example/1.png", is_success=True, size=1, took_ms=1)) is None
    assert Bare().filters(CONFIG) == ()


@pytest.mark.parametrize(
    ("base_url", "home"),
    [
        ("", "https://bare.example"),
        ("https://bare.example/", "https://bare.example"),
        ("http://mirror.example/", "http://mirror.example"),
    ],
)
def test_credentials_go_to_the_address_of_the_source(base_url, home):
    bare = Bare()
    source = bare.for_source(CONFIG, base_url)
    assert source.identity(CONFIG, SourceId(1)).home_url == source.info.base_url == home
    assert bare.info == Bare.info


def test_credentials_of_a_definition_go_where_the_definition_is():
    source = a_source().for_source(CONFIG, "http://mirror.example")
    assert source.identity(CONFIG, SourceId(1)).home_url == SITE

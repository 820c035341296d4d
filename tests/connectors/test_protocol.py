import pytest

from tests.connectors.builders import run
from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.protocol import Abilities, Connector, ConnectorInfo, ImageOutcome, Unsupported
from tsuzuki.model.errors import Invalid
from tsuzuki.model.harvest import FoundPage
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


def test_unsupported_is_the_callers_mistake_and_not_a_failure_of_the_source():
    assert issubclass(Unsupported, Invalid)
    assert Bare.info.abilities == Abilities()


def test_a_page_that_knows_its_image_needs_no_call_and_one_that_does_not_is_refused():
    assert run(Bare().image_url(CONFIG, FoundPage(0, "/c", "https://i.example/1.png")), {}) == "https://i.example/1.png"
    with pytest.raises(Unsupported):
        run(Bare().image_url(CONFIG, FoundPage(0, "/c")), {})


def test_by_default_an_image_is_asked_for_plainly_and_nobody_is_told():
    assert Bare().image(CONFIG, "https://i.example/1.png") == Ask("https://i.example/1.png")
    assert Bare().image_report(ImageOutcome("https://i.example/1.png", is_success=True, size=1, took_ms=1)) is None
    assert Bare().filters(CONFIG) == ()

"""The pages of a chapter, and the nodes that they come from."""

import msgspec
import pytest

from tests.connectors.builders import run, run_and_record
from tests.connectors.mangadex.calls import CHAPTER, CONFIG, DEX, always
from tests.connectors.mangadex.entities import (
    a_chapter_id,
    an_error,
    at_home,
)
from tsuzuki.connectors.mangadex.connector import MangaDexConfig
from tsuzuki.connectors.protocol import ImageOutcome
from tsuzuki.model.errors import HttpStatus, ShapeChanged
from tsuzuki.model.requests import Ask


def test_r66_page_addresses_are_of_the_current_node_and_expire():
    pages, (ask,) = run_and_record(DEX.pages(CONFIG, CHAPTER), always(at_home()))
    assert ask.url == f"https://api.mangadex.org/at-home/server/{a_chapter_id(7)}?forcePort443=true"
    assert (ask.pace.name, round(ask.pace.per_second * 60)) == ("at-home", 40)
    assert [page.image_url for page in pages] == [
        "https://node.mangadex.network/data/abc123/1-x.png",
        "https://node.mangadex.network/data/abc123/2-y.png",
    ]
    assert [page.index for page in pages] == [0, 1]
    assert DEX.info.image_urls_expire


def test_the_smaller_images_are_taken_when_the_config_says_so():
    pages = run(DEX.pages(MangaDexConfig(datasaver=True), CHAPTER), always(at_home()))
    assert pages[0].image_url == "https://node.mangadex.network/data-saver/abc123/1-x.jpg"


def test_names_of_pages_cannot_leave_their_folder():
    answer = at_home()
    answer["chapter"]["data"] = ["../../../etc/passwd", "a?b#c"]
    pages = run(DEX.pages(CONFIG, CHAPTER), always(answer))
    assert [str(page.image_url).removeprefix("https://node.mangadex.network/data/abc123/") for page in pages] == [
        "..%2F..%2F..%2Fetc%2Fpasswd",
        "a%3Fb%23c",
    ]


def test_a_chapter_without_pages_is_an_error_of_the_source():
    empty = at_home()
    empty["chapter"]["data"] = []
    with pytest.raises(ShapeChanged):
        run(DEX.pages(CONFIG, CHAPTER), always(empty))
    with pytest.raises(HttpStatus, match="pages"):
        run(DEX.pages(CONFIG, CHAPTER), always(an_error(404, "Not Found", "Chapter not found"), status=404))


def test_image_hosts_get_no_credentials():
    config = MangaDexConfig(headers={"Authorization": "Bearer abc"})
    assert dict(DEX.image(config, "https://node.mangadex.network/data/a/1.png").headers) == {}


def test_only_calls_to_volunteer_nodes_are_reported():
    outcome = ImageOutcome(
        "https://node.mangadex.network/data/a/1.png", is_success=True, size=9, took_ms=12, is_cached=True
    )
    report = DEX.image_report(outcome)
    assert report is not None
    assert (report.url, report.method) == ("https://api.mangadex.network/report", "POST")
    assert msgspec.json.decode(report.body or b"") == {
        "url": outcome.url,
        "success": True,
        "bytes": 9,
        "duration": 12,
        "cached": True,
    }
    for url in ("https://uploads.mangadex.org/data/a/1.png", "https://mangadex.org/x"):
        assert DEX.image_report(ImageOutcome(url, is_success=True, size=9, took_ms=12)) is None
    lookalike = ImageOutcome("https://evilmangadex.org/x", is_success=False, size=0, took_ms=1)
    assert isinstance(DEX.image_report(lookalike), Ask)
    assert DEX.for_source(CONFIG, "https://mirror.example").image_report(outcome) is None

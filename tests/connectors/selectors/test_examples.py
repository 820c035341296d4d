"""The shipped definitions, on answers in the shape of their sites, made by us."""

from decimal import Decimal

import pytest

from tests.connectors.builders import run
from tests.connectors.selectors.builders import CONFIG
from tsuzuki.connectors.registry import Registry, defined, shipped_definitions
from tsuzuki.model.times import from_iso


@pytest.fixture(scope="module")
def registry():
    return Registry(defined(shipped_definitions()))


def test_xkcd_lists_its_archive_and_finds_the_image_in_json(registry):
    source = registry.comics("com.xkcd")
    (series,) = run(source.popular(CONFIG, 1), {}).series
    archive = """<div id="middleContainer" class="box"><h1>Comics:</h1><br>
    <a href="/405/" title="2008-4-3">Journal 3</a><br/>
    <a href="/403/" title="2008-3-31">Convincing Pickup Line</a></div>"""
    newest, older = run(source.chapters(CONFIG, series.url), {"https://xkcd.com/archive/": archive})
    assert (newest.number, newest.title, newest.source_key) == (Decimal(405), "Journal 3", "405")
    assert newest.published_at == from_iso("2008-04-03")
    assert older.number == Decimal(403)
    info = {"num": 405, "title": "Journal 3", "img": "https://imgs.xkcd.com/comics/journal_3.png", "alt": "..."}
    (page,) = run(source.pages(CONFIG, newest.url), {"https://xkcd.com/405/info.0.json": info})
    assert page.image_url == "https://imgs.xkcd.com/comics/journal_3.png"
    assert run(source.details(CONFIG, series.url), {}).author == "Randall Munroe"


def test_peppercarrot_lists_json_and_reads_pages_from_html(registry):
    source = registry.comics("com.peppercarrot")
    (series,) = run(source.popular(CONFIG, 1), {}).series
    episodes = [
        {"name": "ep01_Potion-of-Flight", "total_pages": 3, "translated_languages": ["en", "fr"]},
        {"name": "ep02_Rainbow-Potions", "total_pages": 5, "translated_languages": ["en"]},
    ]
    newest, first = run(source.chapters(CONFIG, series.url), {series.url: episodes})
    assert (newest.number, newest.title) == (Decimal(2), "Rainbow Potions")
    assert first.url == "https://www.peppercarrot.com/en/webcomic/ep01_Potion-of-Flight.html"
    html = """<img src="/core/img/logo.png"><img src="/0_sources/ep01_Potion-of-Flight/low-res/en_P_E01P01.jpg">
    <img src="/0_sources/ep01_Potion-of-Flight/low-res/en_P_E01P02.jpg">"""
    pages = run(source.pages(CONFIG, first.url), {first.url: html})
    assert [page.image_url.rpartition("/")[2] for page in pages] == ["en_P_E01P01.jpg", "en_P_E01P02.jpg"]


def test_little_nemo_walks_categories_of_commons(registry):
    source = registry.comics("org.wikimedia.commons.littlenemo")
    series = run(source.search(CONFIG, 1, text="1905"), {}).series[0]
    members = [
        {"pageid": 11, "ns": 6, "title": "File:Little Nemo 1905-10-15.jpg"},
        {"pageid": 12, "ns": 6, "title": "File:Little Nemo 1905-10-22.jpg"},
    ]
    newest, first = run(source.chapters(CONFIG, series.url), {series.url: {"query": {"categorymembers": members}}})
    assert (first.title, first.number, first.source_key) == ("Little Nemo 1905-10-15", None, "11")
    assert first.published_at == from_iso("1905-10-15")
    assert newest.url.endswith("&pageids=12")
    answer = {"query": {"pages": [{"pageid": 12, "imageinfo": [{"url": "https://upload.wikimedia.org/a/b.jpg"}]}]}}
    (page,) = run(source.pages(CONFIG, newest.url), {newest.url: answer})
    assert page.image_url == "https://upload.wikimedia.org/a/b.jpg"

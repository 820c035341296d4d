"""R105: footnotes stay on the page, and no name from outside is one of the page's own."""

import pytest

from tests.connectors.html.test_sanitiser import offences_in
from tsuzuki.connectors.html.sanitiser import sanitise

BASE = "https://blog.example/feed.xml"
PAGE = "https://blog.example/posts/1"


@pytest.mark.parametrize(
    "link",
    ["#fn1", f"{PAGE}#fn1", f"{BASE}#fn1", " #fn1 ", "/posts/1#fn1", "posts/1/#fn1", "http://blog.example/posts/1#fn1",
     "?utm_source=rss#fn1", f"{PAGE}/?utm_source=rss&amp;utm_medium=feed#fn1"],
)  # fmt: skip
def test_a_footnote_is_found_and_leads_back(link: str):
    html = (
        f'<p>Words<sup id="ref1"><a href="{link}">1</a></sup></p>'
        '<ol><li id="fn1">A note <a href="#ref1">back</a></li></ol>'
    )
    assert sanitise(html, BASE, PAGE) == (
        '<p>Words<sup id="item-ref1"><a href="#item-fn1" rel="noopener noreferrer">1</a></sup></p>'
        '<ol><li id="item-fn1">A note <a href="#item-ref1" rel="noopener noreferrer">back</a></li></ol>'
    )


def test_old_anchors_and_other_cases_are_matched():
    html = '<a href="#n%3a1">1</a><a name="n:1">note</a><a href="#日本">2</a><p id="日本">x</p>'
    safe = sanitise(html, BASE)
    assert 'href="#item-n:1"' in safe
    assert 'id="item-n:1"' in safe
    assert 'href="#item---"' in safe
    assert '<p id="item---">' in safe


def test_places_whose_names_are_written_alike_stay_apart():
    html = '<a href="#注">1</a><a href="#脚">2</a><p id="注">one</p><p id="脚">two</p>'
    safe = sanitise(html, BASE)
    assert '<a href="#item--.2" rel="noopener noreferrer">2</a>' in safe
    assert '<p id="item--">one</p><p id="item--.2">two</p>' in safe
    assert sanitise(safe, BASE) == safe


def test_a_missing_anchor_links_to_the_original_page():
    assert 'href="https://blog.example/feed.xml#top"' in sanitise('<a href="#top">x</a><p id="other">y</p>', BASE)
    elsewhere = sanitise('<a href="https://other.example/#fn1">x</a><p id="fn1">y</p>', BASE, PAGE)
    assert 'href="https://other.example/#fn1"' in elsewhere
    assert "id=" not in elsewhere
    another = f'<a href="{PAGE}?page=2&amp;utm_source=rss#fn1">x</a><p id="fn1">y</p>'
    assert "id=" not in sanitise(another, BASE, PAGE)


@pytest.mark.parametrize(
    "html",
    [
        '<p id="main">x</p>', '<img src="/i" id="body" name="cookie">', '<a id="item-" href="#item-">x</a>',
        '<a href="#x" id="x">y</a><form id="x"></form>', '<a href="#a b">x</a><p id="a b">y</p>',
        '<a href="#%22onclick=1">x</a><p id=\'"onclick=1\'>y</p>', '<a href="#item-x">x</a><p id="item-x">y</p>',
        '<p id="item-loose">x</p>', '<a href="#item-none">x</a>', '<a href="#__proto__">x</a><p id="__proto__">y</p>',
    ],
)  # fmt: skip
def test_no_name_from_outside_is_one_of_the_pages_own(html: str):
    safe = sanitise(html, BASE, PAGE)
    assert offences_in(safe) == []
    assert sanitise(safe, BASE, PAGE) == safe
    assert 'id="main"' not in safe
    assert "name=" not in safe

"""A webcomic's feed reads like a comic; an article with a picture does not."""

import pytest

from tests.connectors.feed.builders import URL, item_of
from tests.data.feeds.make import corpus
from tsuzuki.connectors.feed.assemble import pages_of
from tsuzuki.connectors.feed.parser import parse_anyhow
from tsuzuki.connectors.html.sanitiser import sanitise

HOST = "https://comic.example"


@pytest.mark.parametrize(
    ("name", "pages"),
    [
        ("comic-strip", ("/strips/1.png",)),
        ("comic-pages", ("/p/1.jpg", "/p/2.jpg", "/p/3.jpg", "/p/4.jpg", "/p/5.jpg")),
        ("comic-lazy", ("/p/1.jpg", "/p/2.jpg")),
        ("comic-noscript", ("/p/1.jpg",)),
        ("comic-srcset", ("/p/1-1600.jpg",)),
        ("comic-article", ()),
        ("body-pixel", ()),
        ("body-video", ()),
        ("rss20-description-plain", ()),
    ],
)
def test_the_pages_of_the_corpus(name: str, pages: tuple[str, ...]):
    (item,) = parse_anyhow(corpus()[f"{name}.xml"], URL).items
    assert item.page_urls == tuple(HOST + page for page in pages)


def pages(html: str) -> tuple[str, ...]:
    return pages_of(sanitise(html, HOST + "/1"))


def test_a_short_note_below_a_strip_is_fine():
    assert len(pages('<img src="/1.png"><p>New strip! See you on Thursday.</p>')) == 1


def test_more_images_carry_more_words():
    words = "<p>" + "word " * 60 + "</p>"
    assert pages(f'<img src="/1.png">{words}') == ()
    assert len(pages('<img src="/1.png"><img src="/2.png"><img src="/3.png">' + words)) == 3


def test_a_page_shown_twice_is_one_page():
    assert len(pages('<a href="/1"><img src="/1.png"></a><img src="/1.png">')) == 1


@pytest.mark.parametrize(
    "html",
    ['<img src="/emoji/smile.png">', '<img src="/x/avatar-12.jpg">', '<img src="/1.png" width="32" height="32">',
     '<h2>Heading</h2><img src="/1.png">', '<table><tr><td><img src="/1.png"></td></tr></table>', "<p>words</p>", ""],
)  # fmt: skip
def test_decoration_and_articles_have_no_pages(html: str):
    assert pages(html) == ()


def test_hosts_that_show_only_thumbnails_have_no_pages():
    body = corpus()["comic-strip.xml"]
    assert parse_anyhow(body, "https://www.webtoons.com/en/x/y/rss?title_no=1").items[0].page_urls == ()
    assert parse_anyhow(body, "https://tapas.io/rss/series/1").items[0].page_urls == ()


def test_an_xkcd_strip_has_its_page_and_number():
    item = item_of(
        "<link>https://xkcd.com/353/</link><description>&lt;img src='https://imgs.xkcd.com/python.png'"
        " title='hidden' alt='x'/&gt;</description>"
    )
    assert item.page_urls == ("https://imgs.xkcd.com/python.png",)
    assert item.number == 353

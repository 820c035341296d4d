"""An article of any length is shown as a short one is, and keeps nobody waiting."""

import time

import pytest

from tests.builders import HERE
from tsuzuki.connectors.html.sanitiser import SafeHtml, sanitise
from tsuzuki.parsing.pool import ParsePool, PoolOptions
from tsuzuki.web.article.content import LONGEST_HERE, MOST_SHOWN, prepare

MARKUP = (
    '<h1>Head</h1><p>A <a href="https://example.org/page">page</a> <a href="#note">note</a></p>'
    '<img src="https://example.org/a.png" alt="A gull" title="Seen at noon">'
    '<audio src="https://example.org/a.mp3"></audio>'
)


def picture(address: str) -> str | None:
    return f"/through-us/{address}" if address.startswith("https://") else None


async def shown(markup: str, parsers=HERE) -> str:
    return str(await prepare(parsers, SafeHtml(sanitise(markup, "https://example.org/")), picture, title="A title"))


async def test_a_long_article_is_shown_as_a_short_one():
    filler = "<p>words</p>" * (LONGEST_HERE // 10)
    async with ParsePool(PoolOptions(processes=1)) as parsers:
        assert await shown(MARKUP + filler, parsers) == await shown(MARKUP) + filler


async def test_an_article_of_pictures_shows_the_first_of_them():
    html = await shown("".join(f'<img src="https://example.org/{n}.png">' for n in range(MOST_SHOWN + 100)))
    assert html.count("<img") == MOST_SHOWN
    assert f'<a href="https://example.org/{MOST_SHOWN}.png"' in html


@pytest.mark.parametrize(
    "piece",
    [
        '<img src="https://a.example/x" title="a b">',
        '<a href="https://a.example/x">x</a>',
        "<h1>x</h1>",
        '<video src="https://a.example/x"></video>',
        "<table><tr><td>x</td></tr></table>",
        "<div><p>",
        '<figure><img src="https://a.example/x" title="a b">',
        '<p><img src="https://a.example/x" title="a b">',
    ],
)
async def test_an_article_that_is_made_to_be_slow_computes_elsewhere(piece):
    """SEC-20: also where it was stored before there was a bound."""
    content = SafeHtml(piece * (2_000_000 // len(piece)))
    async with ParsePool(PoolOptions(processes=1)) as parsers:
        began = time.thread_time()
        html = await prepare(parsers, content, picture)
        assert time.thread_time() - began < 0.1
    assert "too large" not in html
    assert "<video" not in html

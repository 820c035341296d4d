"""The whole text of a page instead of what its feed shows: when asked for, or always."""

from collections.abc import AsyncIterator

import pytest

from tests.api.library import Library, a_library
from tests.net.builders import answer
from tsuzuki.connectors.article import read_article
from tsuzuki.model.errors import NotAFeed, TooLarge

WORDS = "of the whole story, with enough words in it to be taken for text."
STORY = "".join(f"<p>Paragraph {number} {WORDS}</p>" for number in range(9))
PAGE = f"""<html><head><title>A page</title><script>x()</script></head><body><nav><a href="/">Home</a></nav>
<article><h1>The title</h1>{STORY}<p onclick="x()">See <a href="/more">more</a>.</p></article>
<footer>Imprint</footer></body></html>"""


@pytest.fixture
async def library(database_url, tmp_path) -> AsyncIterator[Library]:
    async with a_library(tmp_path, database_url) as library:
        yield library


def feed_of(library: Library, path: str) -> str:
    """A feed whose only item links to a page of the same publisher."""
    link = f"{library.press.url}{path}"
    item = f"<item><guid>1</guid><title>One</title><link>{link}</link><description>Short.</description></item>"
    body = f"<rss version='2.0'><channel><title>A</title>{item}</channel></rss>".encode()
    library.press.pages["/feed"] = answer(200, body)
    return f"{library.press.url}/feed"


async def test_the_full_text_is_fetched_once_for_everyone(library):
    me, other = await library.reader(), await library.reader()
    library.press.pages["/story"] = answer(200, PAGE.encode(), content_type="text/html")
    link = feed_of(library, "/story")
    await me.follow(link, 1)
    await other.follow(link, 1)
    [item] = await me.get("/items")
    opened = await me.get(f"/items/{item['id']}")
    assert (opened["content"], opened["is_full_text"]) == ("Short.", False)
    assert library.press.asked["/story"] == 0
    for reader in (me, me, other):
        opened = await reader.get(f"/items/{item['id']}?full_text=true")
        assert opened["is_full_text"]
        assert "Paragraph 8 of the whole story" in opened["content"]
        assert "onclick" not in opened["content"]
        assert "<script" not in opened["content"]
    assert library.press.asked["/story"] == 1


async def test_a_feed_can_always_come_with_the_whole_text(library):
    me = await library.reader()
    library.press.pages["/story"] = answer(200, PAGE.encode(), content_type="text/html")
    feed = await me.follow(feed_of(library, "/story"), 1)
    await me.patch(f"/feeds/{feed['id']}", {"full_text": True})
    [item] = await me.get("/items")
    assert (await me.get(f"/items/{item['id']}"))["is_full_text"]
    assert not (await me.get(f"/items/{item['id']}?full_text=false"))["is_full_text"]


async def test_a_failed_full_text_keeps_the_summary_and_waits(library):
    me = await library.reader()
    await me.follow(feed_of(library, "/missing"), 1)
    [item] = await me.get("/items")
    for _ in range(3):
        opened = await me.get(f"/items/{item['id']}?full_text=true")
        assert (opened["content"], opened["is_full_text"]) == ("Short.", False)
        assert opened["full_text_error"]
    assert library.press.asked["/missing"] == 1


def test_an_article_is_extracted_with_absolute_addresses():
    text = read_article(PAGE.encode(), "https://example.org/story", None)
    assert "Imprint" not in text
    assert 'href="https://example.org/more"' in text


@pytest.mark.parametrize("page", ["", "<html></html>", "<p>Short.</p>", "hello"])
def test_a_page_without_an_article_is_none(page):
    with pytest.raises(NotAFeed):
        read_article(page.encode(), "https://example.org/", None)


def test_a_page_that_is_made_to_be_slow_is_refused():
    """SEC-20."""
    with pytest.raises(TooLarge):
        read_article(b"<div>" * 100_000, "https://example.org/", None)

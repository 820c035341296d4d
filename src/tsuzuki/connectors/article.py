"""The whole text of a page, for feeds that show only its beginning. Pure; the reading runs in the process pool."""

from tsuzuki.connectors.feed.document import decode
from tsuzuki.connectors.html.lexbor import LIBRARIES
from tsuzuki.connectors.html.sanitiser import sanitise
from tsuzuki.connectors.html.tags import is_bomb
from tsuzuki.connectors.protocol import Visit
from tsuzuki.model.errors import NotAFeed, TooLarge
from tsuzuki.model.requests import Ask, Parse, Reply

FOR_PARSERS = LIBRARIES

MAX_BYTES = 3 * 1024 * 1024
SHORTEST = 200
"""Characters; what is shorter is a notice or a menu, and no article."""


def visit_article(url: str) -> Visit[str]:
    """The article of a page as sanitised HTML; NotAFeed where there is none."""
    reply: Reply = yield Ask(url, headers={"Accept": "text/html, application/xhtml+xml"}, max_bytes=MAX_BYTES)
    content_type = reply.headers.get("content-type", "text/html")
    if "html" not in content_type.lower():
        raise NotAFeed(f"The page is not HTML but {content_type}.")
    text: str = yield Parse(read_article, (reply.body, reply.url, reply.charset))
    return text


def read_article(body: bytes, url: str, charset: str | None) -> str:
    """The article in a page, sanitised (I7); NotAFeed where there is none, TooLarge for a page made to be slow."""
    from trafilatura import extract

    page = decode(body, charset)
    if is_bomb(page):
        raise TooLarge("The page is nested too deeply.")
    found = extract(
        page,
        url=url,
        output_format="html",
        include_comments=False,
        include_formatting=True,
        include_images=True,
        include_links=True,
        include_tables=True,
    )
    text = sanitise(found or "", url)
    if len(text) < SHORTEST:
        raise NotAFeed("No article was found on the page.")
    return text

"""Feeds in the shapes of well-known programs and services, polled and looked at as a reader sees them (R103-R105)."""

import re
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
from selectolax.lexbor import LexborHTMLParser, LexborNode

from tests.api.library import Library, Reader, a_library
from tests.data.feeds.make import expected, generators
from tests.net.builders import answer
from tests.web.guests import Guest, a_guest
from tsuzuki.inbox.pictures import duration_of

RAW = re.compile(r"&(?:amp|lt|gt|quot|nbsp|#\d+|#x[0-9a-f]+);|</?(?:p|br|div|a|img|span|b|i|em|strong)\b[^<]{0,200}>")
"""What a reader must not see: character references, and tags as text."""


@pytest.fixture
async def library(database_url, tmp_path) -> AsyncIterator[Library]:
    async with a_library(tmp_path, database_url) as library:
        for name, body in generators().items():
            kind = "application/feed+json" if name.endswith(".json") else "application/xml"
            library.press.pages[f"/{name}"] = answer(200, body, **{"Content-Type": kind})
        yield library


class Shown(msgspec.Struct, frozen=True):
    """An item as the API has it, as a row, and as an article."""

    item: dict[str, Any]
    row: LexborNode
    article: LexborHTMLParser

    @property
    def prose(self) -> LexborNode:
        return node_of(self.article, ".prose")

    @property
    def sources(self) -> list[str]:
        return [image.attributes.get("src") or "" for image in self.prose.css("img")]

    @property
    def pictures(self) -> set[str]:
        found = {one["url"] for one in self.item["enclosures"] if (one["media_type"] or "").startswith("image/")}
        return found | {*self.item["page_urls"], *filter(None, [self.item["image_url"]])}


def node_of(tree: LexborHTMLParser | LexborNode, css: str) -> LexborNode:
    found = tree.css_first(css)
    assert found is not None, css
    return found


def title_is_shown(shown: Shown) -> bool:
    titles = [node_of(shown.row, "h3 a").text(), node_of(shown.article, "article h1").text()]
    wanted = " ".join(shown.item["display_title"].split())
    return bool(wanted) and (titles == [wanted] * 2 or (not shown.item["title"] and all(titles)))


def durations_are_shown(shown: Shown) -> bool:
    said = " ".join(line.text() for line in shown.article.css(".player-line"))
    recordings = [one for one in shown.item["enclosures"] if one["url"] not in shown.pictures]
    return all((duration_of(one["duration_seconds"]) or "") in said for one in recordings)


SENTENCES: dict[str, Callable[[Shown], bool]] = {
    "its title is shown": title_is_shown,
    "no title says that there is none": lambda shown: "Untitled" not in shown.row.text() + shown.article.text(),
    "the row has no raw markup": lambda shown: not RAW.search(shown.row.text()),
    "the text has no raw markup": lambda shown: not RAW.search(shown.prose.text()),
    "the row has its picture": lambda shown: bool(shown.row.css(".entry > img")) == bool(shown.pictures),
    "the article has its pictures": lambda shown: bool(shown.sources) or not shown.pictures,
    "pictures come through us": lambda shown: all(each.startswith("/api/v1/images/") for each in shown.sources),
    "no picture is there twice": lambda shown: len(shown.sources) == len(set(shown.sources)),
    "no picture is a file": lambda shown: (
        not shown.pictures.intersection(link.attributes.get("href") or "" for link in shown.article.css(".medium"))
    ),
    "recordings say how long they are": durations_are_shown,
    "nothing is only said to a mouse": lambda shown: not shown.prose.css("img[title]"),
    "there is something to see": lambda shown: bool(
        shown.prose.text().strip() or shown.sources or shown.article.css(".medium")
    ),
}


async def looked_at(name: str, url: str, me: Reader, guest: Guest) -> list[Shown]:
    feed = await me.follow(f"{url}/{name}", len([each for each in expected() if each.file == name]))
    items = await me.get(f"/items?content=true&limit=100&feed_id={feed['id']}")
    rows = LexborHTMLParser((await guest.see(f"/?feed={feed['id']}")).text).css(".entry")
    pages = [LexborHTMLParser((await guest.see(f"/items/{item['id']}")).text) for item in items]
    return [Shown(*each) for each in zip(items, rows, pages, strict=True)]


async def test_every_generators_feed_is_shown_as_its_readers_expect(library):
    user = await library.app.add()
    me, guest = Reader(await library.app.signed_in(user)), await a_guest(library.app, user)
    seen = [(name, shown) for name in generators() for shown in await looked_at(name, library.press.url, me, guest)]
    assert len(seen) == len(expected())
    wrong = [
        f"{name}, {shown.item['guid']}: not so that {sentence}"
        for name, shown in seen
        for sentence, holds in SENTENCES.items()
        if not holds(shown)
    ]
    assert not wrong, "\n".join(wrong)

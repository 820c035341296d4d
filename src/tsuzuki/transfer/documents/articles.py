"""What readers of feeds export: lists of feeds, and starred articles.

Starred articles become bookmarks. What was read of the others does not come along: these files do not name articles as
their feeds do, so they would come again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from tsuzuki.connectors.feed.document import NeedsLenientReader, decode, parse_tree
from tsuzuki.connectors.html.addresses import http_url
from tsuzuki.connectors.html.lexbor import LIBRARIES
from tsuzuki.connectors.html.sanitiser import one_line, valid_text
from tsuzuki.connectors.opml import read_opml
from tsuzuki.model.errors import NotAFeed, TooLarge
from tsuzuki.model.times import LATEST, SECOND
from tsuzuki.transfer.archive.format import BookmarkLine, FeedLine
from tsuzuki.transfer.foreign import ForeignLines, LeftOut

if TYPE_CHECKING:
    from lxml.etree import _Element as Element

FOR_PARSERS = LIBRARIES

MOST_ARTICLES = 100_000
_LONGEST_TITLE = 500
_STARRED = "starred"
NO_ADDRESS = "They have neither an address nor a text."
NOT_STARRED = "Only starred articles are imported: their feeds bring the others themselves."
NOT_WEB = "Their addresses are not those of feeds on the web."
MADE_OF_PAGES = "FreshRSS makes these feeds of pages by rules that this server does not know."


def read_feed_list(body: bytes, now: int) -> ForeignLines:
    """An OPML document."""
    feeds: list[FeedLine] = []
    left = Counter[str]()
    for outline in read_opml(body):
        if outline.is_page or http_url(outline.link) is None:
            left[MADE_OF_PAGES if outline.is_page else NOT_WEB] += 1
            continue
        title = "" if outline.title == outline.link else outline.title
        feeds.append(a_feed(outline.link, title, outline.site_url, outline.group, now))
    return ForeignLines(feeds=feeds, left_out=[LeftOut("feeds", count, why) for why, count in left.items()])


def a_feed(link: str, title: str, site_url: str | None, group: str, now: int) -> FeedLine:  # noqa: PLR0917  a row
    """A feed to follow."""
    return FeedLine(
        link=link,
        title=one_line(title)[:_LONGEST_TITLE],
        own_site_url=http_url(site_url),
        group=one_line(group)[:200] or None,
        created_at=now,
    )


class _Text(msgspec.Struct, frozen=True):
    content: str | None = None


class _Link(msgspec.Struct, frozen=True):
    href: str | None = None


class _Origin(msgspec.Struct, frozen=True):
    title: str | None = None
    html_url: str | None = msgspec.field(default=None, name="htmlUrl")


class _Article(msgspec.Struct, frozen=True):
    """An article in the format of Google Reader, which later programs copied."""

    title: Any = None
    published: Any = None
    categories: list[Any] = []
    canonical: list[_Link] = []
    alternate: list[_Link] = []
    summary: _Text | None = None
    content: _Text | None = None
    origin: _Origin | None = None
    annotations: list[Any] = []


class _Articles(msgspec.Struct, frozen=True):
    items: list[_Article]
    id: Any = None


def read_reader_json(body: bytes, now: int) -> ForeignLines:
    """Starred articles of FreshRSS, Inoreader and Google Reader (Takeout)."""
    found = decoded(body, _Articles)
    if len(found.items) > MOST_ARTICLES:
        raise TooLarge(f"The file has more than {MOST_ARTICLES:,} articles.")
    is_all = _STARRED in str(found.id) or not any(_has_states(one) for one in found.items)
    bookmarks: list[BookmarkLine] = []
    plain = empty = 0
    for one in found.items:
        if not (is_all or any(str(category).endswith(_STARRED) for category in one.categories)):
            plain += 1
            continue
        mark = _bookmark(one, now)
        empty += mark is None
        bookmarks += [] if mark is None else [mark]
    return ForeignLines(bookmarks=bookmarks, left_out=_left(plain, empty))


def _has_states(one: _Article) -> bool:
    return any("/state/com.google/" in str(category) for category in one.categories)


def _left(plain: int, empty: int) -> list[LeftOut]:
    left_out = [LeftOut("items", plain, NOT_STARRED), LeftOut("items", empty, NO_ADDRESS)]
    return [one for one in left_out if one.count]


def _bookmark(one: _Article, now: int) -> BookmarkLine | None:
    link = next((url for each in [*one.canonical, *one.alternate] if (url := http_url(each.href))), None)
    text = next((each.content for each in (one.content, one.summary) if each is not None and each.content), "")
    return a_bookmark(
        link=link or "",
        title=str(one.title or ""),
        content=text or "",
        feed_name=(one.origin.title if one.origin else None) or "",
        published_at=seconds_of(one.published),
        now=now,
    )


def a_bookmark(
    *,
    link: str,
    title: str,
    content: str,
    feed_name: str,
    published_at: int | None,
    now: int,
    note: str = "",
) -> BookmarkLine | None:
    """A starred article; None for one that says nothing. Its content is sanitised when it is imported."""
    if not link and not content.strip():
        return None
    return BookmarkLine(
        link=link,
        title=one_line(valid_text(title))[:_LONGEST_TITLE],
        content=valid_text(content),
        feed_name=one_line(valid_text(feed_name))[:_LONGEST_TITLE],
        note=valid_text(note),
        published_at=published_at,
        created_at=published_at or now,
    )


def read_ttrss(body: bytes, now: int) -> ForeignLines:
    """What the plugin import_export of TT-RSS writes: starred and archived articles."""
    bookmarks: list[BookmarkLine] = []
    plain = empty = 0
    for one in xml_rows(body, "articles", "article", most=MOST_ARTICLES):
        if one.get("marked") not in {"1", "t", "true"}:
            plain += 1
            continue
        mark = a_bookmark(
            link=http_url(one.get("link")) or "",
            title=one.get("title", ""),
            content=one.get("content", ""),
            feed_name=one.get("feed_title", ""),
            published_at=_moment(one.get("updated", "")),
            note=one.get("note", ""),
            now=now,
        )
        empty += mark is None
        bookmarks += [] if mark is None else [mark]
    return ForeignLines(bookmarks=bookmarks, left_out=_left(plain, empty))


def xml_rows(body: bytes, root: str, row: str, *, most: int) -> Iterator[dict[str, str]]:
    """The texts of the elements within each row, by their names. No DTD, and bounded as feeds are."""
    text = decode(body)
    start = text.find(f"<{root}")
    if start < 0:
        raise NotAFeed(f"The file has no <{root}> element.")
    if "<!ENTITY" in text[:start] or "<!ENTITY" in text[start : start + 100_000]:
        raise NotAFeed("The file declares its own entities (a DTD), which is not allowed.")
    try:
        tree: Element = parse_tree(text[start:])
    except NeedsLenientReader:
        raise NotAFeed("The file's XML is damaged.") from None
    for count, element in enumerate(tree.iter(f"{{*}}{row}"), 1):
        if count > most:
            raise TooLarge(f"The file has more than {most:,} entries.")
        yield {str(child.tag): (child.text or "").strip() for child in _elements(element)}


def _elements(element: "Element") -> Iterable["Element"]:
    """Without comments."""
    return element.iterchildren("{*}*")


def decoded(body: bytes, kind: type[Any]) -> Any:
    """JSON of this shape; NotAFeed says where it is another."""
    try:
        return msgspec.json.decode(body.removeprefix(b"\xef\xbb\xbf"), type=kind, strict=False)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise NotAFeed(f"The file's JSON is not as expected: {error}.") from None


def seconds_of(value: Any) -> int | None:
    """A moment given in seconds."""
    return value * SECOND if isinstance(value, int) and 0 < value * SECOND <= LATEST else None


def _moment(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)  # PostgreSQL writes fractions of seconds
        return seconds_of(int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()))
    except (ValueError, OverflowError):
        return None

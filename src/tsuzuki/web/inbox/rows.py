"""Lines as the list shows them."""

import re
from html import unescape

import msgspec

from tsuzuki.delivery.timeline.nouns import Line
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import Millis, iso
from tsuzuki.model.titles import beside_number
from tsuzuki.web.frame import Frame
from tsuzuki.web.inbox.view import View
from tsuzuki.web.links import chapter_path, cover_path, item_path, outside, tile_of
from tsuzuki.web.messages import say

SNIPPET = 240
_TAG = re.compile(r"<[^<>]*(?:>|\Z)")
_SPACE = re.compile(r"\s+")


class Time(msgspec.Struct, frozen=True):
    """A moment in the three ways in which a list says it: worked out once, and not by the template for each row."""

    iso: str
    words: str
    ago: str


def time_of(at: Millis, frame: Frame) -> Time:
    """As this reader writes it."""
    return Time(iso(at), frame.locale.moment(at), frame.locale.ago(at, frame.now))


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One entry."""

    id: int
    kind: str
    unread: bool
    saved: bool
    time: Time
    title: str
    origin: str
    """The feed or the series that it is of."""
    origin_path: str
    path: str | None
    """Where it is read; None while there is no such page."""
    original: str | None
    author: str | None
    snippet: str
    picture: str | None
    tile: tuple[str, int]
    """Letter and tint, for what has no picture."""
    save_value: str
    """How the form that saves names it."""
    day: str | None = None
    """The heading above it, where a day begins."""
    day_id: str = ""


def rows_of(lines: list[Line], frame: Frame, view: View, last_day: str = "") -> list[Row]:
    """The lines with the days above them; a day that the page before ended with is not said again."""
    rows = []
    day = last_day
    for line in lines:
        row = _row(line, view, time_of(line.sort_at, frame))
        begun = frame.locale.day_of(line.sort_at).isoformat()
        if begun != day:
            day = begun
            row = msgspec.structs.replace(row, day=frame.locale.day(line.sort_at, frame.now), day_id=begun)
        rows.append(row)
    return rows


def day_after(rows: list[Row], lines: list[Line], frame: Frame) -> str:
    """The day that the last line is of."""
    return frame.locale.day_of(lines[-1].sort_at).isoformat() if rows else ""


def _row(line: Line, view: View, time: Time) -> Row:
    return _chapter(line, time) if line.item_id is None else _item(line, view, time)


def _item(line: Line, view: View, time: Time) -> Row:
    assert line.item_id is not None
    feed = None if line.feed_id is None else show_id(line.feed_id)
    origin = line.feed_name or say("inbox.gone_feed")
    return Row(
        id=line.id,
        kind="item",
        unread=line.unread,
        saved=line.saved,
        time=time,
        title=line.item_title or say("inbox.untitled"),
        origin=origin,
        origin_path="/" if feed is None else View(feed=feed, show="all").path(),
        path=item_path(line.item_id, **view.fields),
        original=outside(line.link) if line.link else None,
        author=line.author,
        snippet=plain_beginning(line.beginning or ""),
        picture=None,
        tile=tile_of(origin),
        save_value=f"i{line.item_id}",
    )


def _chapter(line: Line, time: Time) -> Row:
    assert line.chapter_id is not None
    assert line.series_id is not None
    series = show_id(line.series_id)
    return Row(
        id=line.id,
        kind="chapter",
        unread=line.unread,
        saved=line.saved,
        time=time,
        title=chapter_name(line.number, line.volume, line.chapter_title or ""),
        origin=line.series_title or say("inbox.untitled"),
        origin_path=View(series=series, show="all").path(),
        path=chapter_path(series, line.chapter_id),
        original=None,
        author=None,
        snippet="",
        picture=None if line.cover_id is None else cover_path(line.cover_id),
        tile=tile_of(line.series_title or ""),
        save_value=f"c{line.id}",
    )


def chapter_name(number: str | None, volume: str | None, title: str) -> str:
    """`Chapter 12: The road`, `Volume 3`, or what it is called."""
    numbered = say("inbox.chapter", number=number) if number else say("inbox.volume", volume=volume) if volume else ""
    return ": ".join(part for part in (numbered, beside_number(title, number)) if part) or say("inbox.untitled")


def plain_beginning(html: str, most: int = SNIPPET) -> str:
    """The first words of a text that may be HTML, cut anywhere."""
    text = _SPACE.sub(" ", unescape(_TAG.sub(" ", html))).strip()
    return text if len(text) <= most else text[:most].rpartition(" ")[0].rstrip(" ,.;:") + "…"

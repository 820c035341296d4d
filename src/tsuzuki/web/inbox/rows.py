"""Rows of the inbox."""

from functools import lru_cache
from typing import Literal
from urllib.parse import urlencode

import msgspec

from tsuzuki.inbox.entries import Entry
from tsuzuki.model.ids import PublicId, show_id
from tsuzuki.model.times import Millis, iso
from tsuzuki.model.titles import LONGEST_TITLE, first_words, title_of
from tsuzuki.web.frame import Frame
from tsuzuki.web.inbox.view import InboxView
from tsuzuki.web.links import (
    Picture,
    chapter_path,
    cover_path,
    feed_path,
    item_path,
    outside,
    series_path,
    small,
    tile_of,
)
from tsuzuki.web.locale import Locale
from tsuzuki.web.texts import chapter_name
from tsuzuki.web.texts import gettext as _

SNIPPET = 160
"""Characters; the two lines that inbox.css shows of it have room for about so many."""


class Time(msgspec.Struct, frozen=True):
    """A time in the three forms that a list shows, computed once instead of by the template."""

    iso: str
    words: str
    ago: str


def time_of(at: Millis, frame: Frame) -> Time:
    """The time as it is written for this reader."""
    return Time(_said(frame.locale, at).iso, _words(frame.locale, at), frame.locale.ago(at, frame.now))


class _SpokenTime(msgspec.Struct, frozen=True):
    """The texts of a time that do not change while time passes."""

    iso: str
    day: str


@lru_cache(8192)
def _said(locale: Locale, at: Millis) -> _SpokenTime:
    """Cached: an article has one time for all who read it. Nobody needs its milliseconds."""
    return _SpokenTime(f"{iso(at)[:-5]}Z", locale.day_of(at).isoformat())


@lru_cache(2048)
def _words(locale: Locale, at: Millis) -> str:
    return locale.moment(at)


class InboxRow(msgspec.Struct, frozen=True, kw_only=True):
    """One entry."""

    id: int
    kind: str
    unread: bool
    saved: bool
    at: str
    ago: str
    """The same moment, as it is written for this reader."""
    title: str
    origin: str
    """The feed or the series that it is of."""
    origin_path: str
    path: str
    """The path of its page."""
    original: str | None
    author: str | None
    snippet: str
    picture: str | None
    tile: tuple[str, int]
    """Letter and tint, for what has no picture."""
    save_value: str
    """The value of the form's button that saves or unsaves."""
    day: str | None = None
    """The heading above it, where a day begins."""
    day_id: str = ""


def rows_of(
    lines: list[Entry], frame: Frame, view: InboxView, *, picture: Picture, last_day: str = ""
) -> list[InboxRow]:
    """The lines with the days above them; a day that the page before ended with is not said again."""
    rows = []
    day = last_day
    is_compact = frame.preferences.density == "compact"
    shared = _Shared(urlencode(view.fields), picture, frame.locale, is_compact=is_compact)
    for line in lines:
        make_row = _chapter if line.item_id is None else _item
        row = make_row(line, shared, _said(frame.locale, line.sort_at).iso, frame.locale.ago(line.sort_at, frame.now))
        listed_at = _listed_at(line, view)
        begun = _said(frame.locale, listed_at).day
        if begun != day:
            day = begun
            row = msgspec.structs.replace(row, day=frame.locale.day(listed_at, frame.now), day_id=begun)
        rows.append(row)
    return rows


def _listed_at(line: Entry, view: InboxView) -> Millis:
    """The time by which the list is sorted (R92)."""
    return line.sort_at if view.sort == "published" else line.created_at


_Origin = tuple[str, tuple[str, int]]


class _Shared:
    """What the lines of one list share: its address in theirs, pictures, a path and a tile for each feed and series."""

    def __init__(self, query: str, picture: Picture, locale: Locale, *, is_compact: bool) -> None:
        self.picture = picture
        self.locale = locale
        self.is_compact = is_compact
        self.after = f"?{query}" if query else ""
        self._known: dict[tuple[PublicId | None, str], _Origin] = {}

    def of(self, kind: Literal["feed", "series"], public_id: PublicId | None, name: str) -> _Origin:
        """The path of its list, and its tile."""
        known = self._known.get((public_id, name))
        if known is None:
            path = "/"
            if public_id is not None:  # a series has a page of its own, a feed the list of its entries
                shown = show_id(public_id)
                path = series_path(shown) if kind == "series" else feed_path(shown)
            known = self._known[public_id, name] = path, tile_of(name)
        return known


def day_after(lines: list[Entry], frame: Frame, view: InboxView) -> str:
    """The day that the last line is of."""
    return _said(frame.locale, _listed_at(lines[-1], view)).day if lines else ""


def _item(line: Entry, shared: _Shared, at: str, ago: str) -> InboxRow:
    assert line.item_id is not None
    origin = line.feed_name or _("a feed you no longer follow")
    origin_path, tile = shared.of("feed", line.feed_id, origin)
    return InboxRow(
        id=line.id,
        kind="item",
        unread=line.unread,
        saved=line.saved,
        at=at,
        ago=ago,
        title=item_title(line, shared.locale),
        origin=origin,
        origin_path=origin_path,
        path=item_path(line.item_id) + shared.after,
        original=outside(line.link) if line.link else None,
        author=line.author,
        snippet="" if shared.is_compact else _snippet(line),
        picture=None if shared.is_compact else small(shared.picture, line.image_url),
        tile=tile,
        save_value=f"i{line.item_id}",
    )


def _chapter(line: Entry, shared: _Shared, at: str, ago: str) -> InboxRow:
    assert line.chapter_id is not None
    assert line.series_public_id is not None
    origin_path, tile = shared.of("series", line.series_public_id, line.series_title or "")
    return InboxRow(
        id=line.id,
        kind="chapter",
        unread=line.unread,
        saved=line.saved,
        at=at,
        ago=ago,
        title=chapter_name(line.number, line.volume, line.title),
        origin=line.series_title or _("Untitled"),
        origin_path=origin_path,
        path=chapter_path(show_id(line.series_public_id), line.chapter_id),
        original=None,
        author=None,
        snippet="",
        picture=None if line.cover_id is None else cover_path(line.cover_id),
        tile=tile,
        save_value=f"c{line.id}",
    )


def item_title(line: Entry, locale: Locale) -> str:
    """The item's title, else its first words, what stands for its picture, or its time (R103)."""
    return title_of(line.title, line.beginning) or locale.moment(line.sort_at)


def _snippet(line: Entry) -> str:
    """The first words; those that follow, where the first stand for a title."""
    beginning = line.beginning
    if line.title:
        return plain_beginning(beginning)
    title = title_of("", beginning).removesuffix("…")
    words = plain_beginning(beginning, LONGEST_TITLE + SNIPPET)
    return words[len(title) :].lstrip(" ,.;:-–—…") if words.startswith(title) else words


@lru_cache(1024)
def plain_beginning(html: str, most: int = SNIPPET) -> str:
    """The first words of a text that may be HTML, cut anywhere. The last texts' are kept: lists show the same again."""
    return first_words(html, most)

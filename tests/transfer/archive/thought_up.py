"""Shelves that Hypothesis thinks up."""

import itertools
from typing import Any

from hypothesis import strategies as st

from tests.builders import NOON
from tests.transfer.archive.builders import a_source, plain_fields
from tsuzuki.connectors.html.sanitiser import sanitise
from tsuzuki.notifications.kinds import KINDS
from tsuzuki.transfer.archive import format as lines
from tsuzuki.transfer.archive.format import PARTS

_count = itertools.count(1)

MOMENTS = st.integers(0, 2 * 10**12)
MAYBE = st.none() | MOMENTS
PAST = st.integers(0, NOON)
"""When something was read: times to come are taken for the import's own."""
MAYBE_PAST = st.none() | PAST
WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=12)
HTML = st.sampled_from(
    ["", "<p>One <b>word</b></p>", '<img src="https://example.org/a.png" alt="">', "a &amp; b", "<p>続き</p>"]
).map(lambda html: str(sanitise(html, "https://example.org/")))


@st.composite
def thought_up(draw: st.DrawFn) -> dict[str, list[Any]]:
    """Whole shelves, each with names of its own: a server may have had others before."""
    mark = f"e{next(_count)}"
    groups = [f"{mark} {n}" for n in range(draw(st.integers(0, 2)))]
    shelf: dict[str, list[Any]] = {name: [] for name in PARTS}
    theme = draw(st.sampled_from([{}, {"theme": "dark"}, {"density": "compact", "clock": "24"}]))
    shelf["person.jsonl"] = [
        lines.Person(preferences=theme, proxy_images=draw(st.booleans()), retention=draw(st.none() | st.integers(0, 9)))
    ]
    shelf["groups.jsonl"] = [lines.GroupLine(name="Everything", position=0, is_default=True)]
    shelf["groups.jsonl"] += [lines.GroupLine(name=name, position=n + 1) for n, name in enumerate(groups)]
    for n in range(draw(st.integers(0, 2))):
        _add_feed(draw, shelf, f"https://{mark}.example.org/{n}", groups)
    slugs = [f"{mark}-{n}" for n in range(draw(st.integers(0, 2)))]
    used: set[str] = set()
    for n in range(draw(st.integers(0, 2))):
        used |= _add_series(draw, shelf, f"{mark} {n}", slugs, groups)
    shelf["sources.jsonl"] = [a_source(slug, is_enabled=draw(st.booleans())) for slug in slugs if slug in used]
    shelf["series.jsonl"].sort(key=lambda series: series.key)
    shelf["chapters.jsonl"].sort(key=lambda chapter: (chapter.series, chapter.key))
    for kind in draw(st.sets(st.sampled_from(sorted(KINDS)))):
        config = {"url": "https://example.org/"} | plain_fields(KINDS[kind])
        shelf["channels.jsonl"].append(lines.ChannelLine(kind=kind, name=kind, config=config))
    shelf["channels.jsonl"].sort(key=lambda channel: channel.name)
    return shelf


def _add_feed(draw: st.DrawFn, shelf: dict[str, list[Any]], link: str, groups: list[str]) -> None:
    feed = lines.FeedLine(
        link=link,
        title=draw(WORDS),
        site_url=draw(st.sampled_from([None, "https://example.org/"])),
        description=draw(st.none() | WORDS),
        has_unstable_keys=draw(st.booleans()),
        is_harvested=draw(st.booleans()),
        group=draw(st.sampled_from([None, *groups])),
        name=draw(WORDS),
        suspended_at=draw(MAYBE),
        notify=draw(st.booleans()),
        full_text=draw(st.booleans()),
        poll_interval=draw(st.none() | st.integers(1, 10**9)),
        retention=draw(st.none() | st.integers(0, 10**9)),
        created_at=draw(MOMENTS),
    )
    shelf["feeds.jsonl"].append(feed)
    items = [_item(draw, feed, f"k{n}") for n in range(draw(st.integers(0, 3)))]
    items.sort(key=lambda item: item.entry.sort_at)
    shelf["items.jsonl"] += items
    gone = draw(st.sets(st.sampled_from(["a", "b", "続"])))
    shelf["gone.jsonl"] += [lines.RemovedItemLine(feed=feed.feed_key, key=key) for key in sorted(gone)]
    marks = [_bookmark(draw, item, feed) for item in items if item.entry.saved]
    shelf["bookmarks.jsonl"] += marks
    shelf["bookmarks.jsonl"].sort(key=lambda mark: mark.created_at)


def _item(draw: st.DrawFn, feed: lines.FeedLine, key: str) -> lines.ItemLine:
    unread = draw(st.booleans())
    entry = lines.EntryLine(
        unread=unread,
        saved=draw(st.booleans()),
        sort_at=draw(MOMENTS),
        read_at=None if unread else draw(MAYBE),
        created_at=draw(MOMENTS),
    )
    full_text = lines.FullTextLine(content=draw(HTML), error=draw(st.none() | WORDS), fetched_at=draw(MOMENTS))
    return lines.ItemLine(
        feed=feed.feed_key,
        key=key,
        title=draw(WORDS),
        link=draw(st.sampled_from([None, f"{feed.link}/{key}"])),
        author=draw(st.none() | WORDS),
        content=draw(HTML),
        summary=draw(st.none() | WORDS),
        published_at=draw(MAYBE),
        published_raw=draw(st.none() | WORDS),
        sort_at=draw(MOMENTS),
        categories=tuple(draw(st.lists(WORDS, max_size=2))),
        page_urls=draw(st.sampled_from([(), ("https://example.org/1.png",)])),
        created_at=draw(MOMENTS),
        updated_at=draw(MAYBE),
        full_text=draw(st.sampled_from([None, full_text])),
        entry=entry,
    )


def _bookmark(draw: st.DrawFn, item: lines.ItemLine, feed: lines.FeedLine) -> lines.BookmarkLine:
    return lines.BookmarkLine(
        link=item.link or "",
        title=item.title,
        content=item.content,
        feed_name=draw(WORDS),
        note=draw(WORDS),
        published_at=item.published_at,
        created_at=draw(MOMENTS),
        feed=feed.feed_key,
        item=item.key,
    )


def _add_series(
    draw: st.DrawFn, shelf: dict[str, list[Any]], title: str, slugs: list[str], groups: list[str]
) -> set[str]:
    """A series that is or was followed, with chapters; the sources that it is on."""
    is_followed = draw(st.booleans())
    on = sorted(draw(st.sets(st.sampled_from(slugs)))) if slugs else []
    mappings = tuple(_mapping(draw, slug, title, is_followed=is_followed) for slug in on)
    key = f"{on[0]}/{title}" if on else f"?/1/{title}"
    wishes = lines.ArchivedPreferences(sources=tuple(on), groups=tuple(draw(st.lists(WORDS, max_size=2))))
    chapters = [_chapter(draw, key, number, mappings) for number in sorted(draw(st.sets(st.sampled_from("1259"))))]
    said: dict[str, Any] = {
        "group": draw(st.sampled_from([None, *groups])),
        "status": draw(st.sampled_from(["reading", "plan", "done", "dropped"])),
        "notify": draw(st.booleans()),
        "preferences": wishes,
        "created_at": draw(MOMENTS),
    }
    series = lines.ArchivedSeries(
        key=key,
        title=title,
        author=draw(st.none() | WORDS),
        description=draw(st.none() | WORDS),
        status=draw(st.integers(0, 6)),
        is_nsfw=draw(st.booleans()),
        latest_number=chapters[-1].number if chapters else None,
        last_chapter_at=draw(MAYBE),
        sources=mappings,
        follow=lines.FollowLine(**said) if is_followed else None,
        former=None if is_followed else lines.FormerFollowLine(**said, left_at=draw(MOMENTS), entries=("1", "2")),
    )
    shelf["series.jsonl"].append(series)
    shelf["chapters.jsonl"] += chapters
    return set(on)


def _mapping(draw: st.DrawFn, slug: str, title: str, *, is_followed: bool) -> lines.SeriesSource:
    is_active = draw(st.booleans())
    return lines.SeriesSource(
        source=slug,
        key=title,
        url=draw(st.sampled_from(["https://example.org/a", "/a/b"])),
        is_active=is_active,
        title=draw(WORDS),
        genres=tuple(draw(st.lists(WORDS, max_size=2))),
        status=draw(st.integers(0, 6)),
        update_strategy=draw(st.sampled_from(["ALWAYS_UPDATE", "ONLY_FETCH_ONCE"])),
        is_harvested=is_followed and is_active and draw(st.booleans()),
    )


def _chapter(
    draw: st.DrawFn, series: str, number: str, mappings: tuple[lines.SeriesSource, ...]
) -> lines.ArchivedChapter:
    is_read, saved = draw(st.booleans()), draw(st.booleans())
    entry = lines.EntryLine(
        unread=not is_read, saved=saved, sort_at=draw(MOMENTS), read_at=draw(MAYBE), created_at=draw(MOMENTS)
    )
    progress = lines.ProgressLine(
        page=draw(st.integers(0, 9)),
        furthest_page=draw(st.integers(0, 9)),
        is_read=is_read,
        is_bookmarked=saved,
        device=draw(st.none() | WORDS),
        paged_at=draw(MAYBE_PAST),
        marked_at=draw(MAYBE_PAST),
        opened_at=draw(MAYBE_PAST),
        updated_at=draw(PAST),
    )
    releases = [
        lines.ArchivedRelease(
            source=mapping.source,
            series_key=mapping.key,
            key=f"n:{number}",
            url=f"https://example.org/{number}",
            title=draw(WORDS),
            group=draw(st.none() | WORDS),
            source_order=draw(st.integers(0, 9)),
            page_count=draw(st.integers(-1, 9)),
            is_available=draw(st.booleans()),
            is_readable=draw(st.booleans()),
            first_seen_at=draw(MOMENTS),
            last_seen_at=draw(MOMENTS),
        )
        for mapping in mappings
    ]
    return lines.ArchivedChapter(
        series=series,
        key=number,
        number=number,
        volume=draw(st.sampled_from([None, "1", "2.5"])),
        title=draw(WORDS),
        published_at=draw(MAYBE),
        first_seen_at=draw(MOMENTS),
        releases=tuple(releases),
        entry=draw(st.sampled_from([None, entry])),
        progress=draw(st.sampled_from([None, progress])),
    )

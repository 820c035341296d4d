"""Streams: which entries they have, and their contents."""

from collections.abc import AsyncIterator, Sequence

import msgspec
from starlette.responses import Response, StreamingResponse

from tsuzuki.inbox.service import MOST_CONTENT
from tsuzuki.inbox.sync import LATE, SyncFilter, SyncRef
from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.ids import EntryId, PublicId
from tsuzuki.model.times import Millis
from tsuzuki.protocols.content import AppEntry, seconds
from tsuzuki.protocols.google_reader.names import (
    READING_LIST,
    STATE,
    StreamName,
    label_id,
    long_id,
    micros,
    read_item_id,
    read_moment,
    read_stream,
)
from tsuzuki.protocols.google_reader.requests import Json, ReaderRequest, find_feed, find_label, json_answer

USUAL_COUNT = 20
MOST_IDS = 50_000
MOST_ITEMS = 1_000
FEWEST_AT_ONCE = 1_000
"""Numbers read at a time, where some of them are excluded afterwards."""


async def _wanted(asked: ReaderRequest, stream: StreamName) -> SyncFilter | None:
    """The filter for a stream and what else the request asks for; None if nothing can match."""
    params = asked.params
    # `it` and `xt`: in these streams too, and not in those; `ot` and `nt`: not older and not newer than that.
    wanted: SyncFilter | None = SyncFilter(kind=asked.user.kind)
    for each in (stream, *map(read_stream, params.all("it"))):
        wanted = await narrowed(asked, wanted, each)
    for text in params.all("xt"):
        wanted = _without(wanted, read_stream(text))
    if wanted is None:
        return None
    since = read_moment(params.one("ot"))
    return msgspec.structs.replace(
        wanted,
        # What was committed late must not be missed.
        arrived_from=wanted.arrived_from if since is None else Millis(since - LATE),
        arrived_until=read_moment(params.one("nt"), is_end=True) or wanted.arrived_until,
    )


async def narrowed(asked: ReaderRequest, wanted: SyncFilter | None, stream: StreamName) -> SyncFilter | None:
    """The filter, narrowed to this stream; None if nothing can match."""
    if stream.kind == "feed":
        feed = await find_feed(asked, stream.value)
        return None if feed is None else _both(wanted, feed=feed)
    if stream.kind == "label":
        label = await find_label(asked, stream.value)
        if label is None:
            return None
        meant = (label.group and label.group.id, label.tag and label.tag.id)
        if wanted is not None and (wanted.group, wanted.tag) not in ((None, None), meant):
            return None
        return wanted and msgspec.structs.replace(wanted, group=meant[0], tag=meant[1])
    if stream.value == "reading-list":
        return wanted
    states = {"read": {"unread": False}, "unread": {"unread": True}, "starred": {"saved": True}}
    return _both(wanted, **states[stream.value]) if stream.value in states else None


def _without(wanted: SyncFilter | None, stream: StreamName) -> SyncFilter | None:
    """The filter without this state; feeds and labels are excluded from the result instead."""
    states = {"read": {"unread": True}, "unread": {"unread": False}, "starred": {"saved": False}}
    if stream.kind == "state" and stream.value == "reading-list":
        return None
    return _both(wanted, **states[stream.value]) if stream.kind == "state" and stream.value in states else wanted


def _both(wanted: SyncFilter | None, **fields: int) -> SyncFilter | None:
    """Both conditions; None where they contradict."""
    if wanted is None or any(getattr(wanted, name) not in (None, value) for name, value in fields.items()):
        return None
    return msgspec.structs.replace(wanted, **fields)


class ReaderExclusion(msgspec.Struct, frozen=True):
    """What `xt` excludes from the result: feeds by their numbers, and tags."""

    feeds: set[int]
    tags: set[PublicId]

    def __bool__(self) -> bool:
        return bool(self.feeds or self.tags)


async def _excluded(asked: ReaderRequest) -> ReaderExclusion:
    excluded: set[int] = set()
    tags: set[PublicId] = set()
    for stream in map(read_stream, asked.params.all("xt")):
        if stream.kind == "feed" and (number := await find_feed(asked, stream.value)) is not None:
            excluded.add(number)
        if stream.kind == "label" and (label := await find_label(asked, stream.value)) is not None:
            if label.group is not None:
                group_id = label.group.id
                excluded |= {feed.number for feed in await asked.subscriptions.all() if feed.group_id == group_id}
            if label.tag is not None:
                tags.add(label.tag.public_id)
    return ReaderExclusion(excluded, tags)


async def _left(asked: ReaderRequest, refs: Sequence[SyncRef], excluded: ReaderExclusion) -> list[SyncRef]:
    """The numbers without those excluded."""
    left = [ref for ref in refs if ref.feed not in excluded.feeds]
    if not excluded.tags:
        return left
    tagged = await asked.tags.of_entries(asked.shelf_id, [ref.id for ref in left])
    return [ref for ref in left if excluded.tags.isdisjoint(tag.public_id for tag in tagged.get(ref.id, ()))]


class ReaderPage(msgspec.Struct, frozen=True):
    """Some entries, and where to go on; None at the end."""

    refs: Sequence[SyncRef]
    continuation: str | None = None


async def _page(asked: ReaderRequest, stream: StreamName, most: int) -> ReaderPage:
    wanted = await _wanted(asked, stream)
    if wanted is None:
        return ReaderPage(())
    excluded, descending = await _excluded(asked), asked.params.one("r") != "o"  # `r=o`: the oldest first
    after = read_item_id(asked.params.one("c"))
    found: list[SyncRef] = []
    step = max(most + 1, FEWEST_AT_ONCE) if excluded else most + 1
    while True:
        if after is not None and after > 0:  # what is no place of ours is passed over
            wanted = msgspec.structs.replace(wanted, **{"below" if descending else "above": after})
        refs = await asked.sync.refs(asked.shelf_id, wanted, most=step, descending=descending)
        found += await _left(asked, refs, excluded)
        if len(found) > most:
            return ReaderPage(found[:most], str(found[most - 1].id))
        if len(refs) < step:
            return ReaderPage(found)
        after = refs[-1].id


def _most(asked: ReaderRequest, most: int) -> int:
    count = asked.params.number("n") or 0
    return min(count, most) if count > 0 else USUAL_COUNT


async def list_ids(asked: ReaderRequest) -> Response:
    """The numbers of many entries, without contents."""
    page = await _page(asked, read_stream(asked.params.one("s")), _most(asked, MOST_IDS))
    refs = [
        {"id": str(ref.id), "directStreamIds": [f"feed/{ref.feed}"], "timestampUsec": micros(ref.arrived_at)}
        for ref in page.refs
    ]
    return json_answer({"itemRefs": refs} | _continued(page.continuation))


def _continued(continuation: str | None) -> Json:
    return {} if continuation is None else {"continuation": continuation}


_MISTAKABLE = frozenset({"read", "starred"})
"""Labels that some apps would take for a state, by the end of their ids."""


async def list_contents(asked: ReaderRequest, in_path: str = "") -> Response:
    """A stream, named in the path or in `s`, with contents."""
    stream = read_stream(in_path or asked.params.one("s"))
    page = await _page(asked, stream, _most(asked, MOST_ITEMS))
    items, last = await _items(asked, [ref.id for ref in page.refs], most=MOST_CONTENT)
    continuation = page.continuation if last is None else str(last)
    return _items_answer(asked, stream.id, items, continuation)


async def show_items(asked: ReaderRequest) -> Response:
    """The entries of these ids; what is unknown, or another's, is left out."""
    numbers = {number for text in asked.params.all("i") if (number := read_item_id(text)) is not None}
    ids = sorted(numbers, reverse=asked.params.one("r") != "o")
    return StreamingResponse(_written(asked, ids), media_type="application/json; charset=utf-8")


async def _written(asked: ReaderRequest, ids: Sequence[int]) -> AsyncIterator[bytes]:
    """In portions: ten thousand texts would take too much memory."""
    yield msgspec.json.encode(_about(asked, READING_LIST))[:-1] + b',"items":['
    comma = b""
    async for part in asked.sync.portions(asked.shelf_id, ids):
        items, _ = await _portion(asked, part)
        if items:
            yield comma + msgspec.json.encode(items)[1:-1]
            comma = b","
    yield b"]}"


async def _items(asked: ReaderRequest, ids: Sequence[int], *, most: int) -> tuple[list[msgspec.Raw], int | None]:
    """Entries as JSON, some at a time; and the last of them where they came to more characters than `most`."""
    items: list[msgspec.Raw] = []
    size = 0
    async for part in asked.sync.portions(asked.shelf_id, ids):
        found, length = await _portion(asked, part)
        items += found
        size += length
        if size > most and part[-1] != ids[-1]:
            return items, part[-1]
    return items, None


async def _portion(asked: ReaderRequest, ids: Sequence[int]) -> tuple[list[msgspec.Raw], int]:
    """Entries as JSON, and the characters of their texts."""
    entries = await asked.shown(await asked.sync.entries(asked.shelf_id, ids, asked.user.kind))
    tagged = await asked.tags.of_entries(asked.shelf_id, [EntryId(entry.id) for entry in entries])
    items = [_item(entry, [tag.name for tag in tagged.get(EntryId(entry.id), ())]) for entry in entries]
    return [msgspec.Raw(msgspec.json.encode(item)) for item in items], sum(len(entry.html) for entry in entries)


def _items_answer(
    asked: ReaderRequest, stream_id: str, items: Sequence[msgspec.Raw], continuation: str | None = None
) -> Response:
    return json_answer(_about(asked, stream_id) | {"items": items} | _continued(continuation))


def _about(asked: ReaderRequest, stream_id: str) -> Json:
    # Without `self`: it is a list of links to some apps, and a link to others.
    title = "Reading List" if stream_id == READING_LIST else stream_id.rpartition("/")[2]
    return {"direction": "ltr", "id": stream_id, "title": title, "updated": seconds(asked.deps.clock())}


def _item(entry: AppEntry, tags: Sequence[str]) -> Json:
    labels = dict.fromkeys(label_id(name) for name in (entry.group_name, *tags) if name not in _MISTAKABLE)
    categories = [READING_LIST, *labels]
    categories += [f"{STATE}starred"] * entry.saved + [f"{STATE}read"] * (not entry.unread)
    item: Json = {
        "id": long_id(entry.id),
        "crawlTimeMsec": str(entry.arrived_at),
        "timestampUsec": micros(entry.arrived_at),
        "published": seconds(entry.published_at),
        "updated": seconds(entry.published_at),
        "title": entry.title,
        "canonical": [{"href": entry.url}],
        "alternate": [{"href": entry.url, "type": "text/html"}],
        "summary": {"direction": "ltr", "content": entry.html},
        "categories": categories,
        "origin": {"streamId": f"feed/{entry.feed}", "title": entry.feed_title, "htmlUrl": entry.feed_site},
    }
    if entry.author:
        item["author"] = entry.author
    if entry.enclosures:
        item["enclosure"] = [_enclosure(one) for one in entry.enclosures]
    return item


def _enclosure(one: Enclosure) -> Json:
    said = {"href": one.url, "type": one.media_type, "length": one.length}
    return {name: value for name, value in said.items() if value is not None}

"""What apps change: marks on entries, feeds and labels."""

from starlette.responses import Response

from tsuzuki.inbox.sync import SyncFeed, SyncFilter
from tsuzuki.model.errors import Conflict, Forbidden, Invalid, LimitExceeded, NotFound, SourceError
from tsuzuki.model.times import Millis
from tsuzuki.protocols.content import feed_address
from tsuzuki.protocols.google_reader.names import (
    StreamName,
    name_of_label,
    read_item_id,
    read_label,
    read_moment,
    read_stream,
    shown_label,
)
from tsuzuki.protocols.google_reader.requests import (
    ReaderRequest,
    done,
    find_group,
    json_answer,
    made_group,
    own_feed,
    own_label,
)
from tsuzuki.protocols.google_reader.streams import narrowed
from tsuzuki.protocols.params import Params, whole_number
from tsuzuki.shelves.groups import Group

_ADDS_READ = {"read"}
_ADDS_UNREAD = {"unread", "kept-unread", "tracking-kept-unread"}
_TAKES_READ = {"unread", "kept-unread"}


async def edit_tag(asked: ReaderRequest) -> Response:
    """Set states and tags of entries; states that we do not have change nothing."""
    params = asked.params
    added, taken = (list(map(read_stream, params.all(name))) for name in ("a", "r"))
    if "i" not in params:
        for stream in added:  # so Readrops makes a folder
            if stream.kind == "label":
                await made_group(asked, stream.value)
        return done()
    adds, takes = ({one.value for one in streams if one.kind == "state"} for streams in (added, taken))
    unread = _wish(is_set=adds & _ADDS_UNREAD or takes & {"read"}, is_unset=adds & _ADDS_READ or takes & _TAKES_READ)
    saved = _wish(is_set=adds & {"starred"}, is_unset=takes & {"starred"})
    ids = [number for text in params.all("i") if (number := read_item_id(text)) is not None]
    add, remove = ([name_of_label(one.value) for one in streams if one.kind == "label"] for streams in (added, taken))
    if add or remove:
        asked.user.must_write()
        seen = await asked.sync.visible(asked.shelf_id, ids, asked.user.kind)
        await asked.tags.tag_entries(asked.shelf_id, seen, add=add, remove=remove)
    if unread is not None or saved is not None:
        asked.user.must_write()
        await asked.sync.mark(asked.shelf_id, ids, asked.user.kind, unread=unread, saved=saved)
    return done()


def _wish(*, is_set: set[str], is_unset: set[str]) -> bool | None:
    """Whether to set or unset a state; None for neither, Invalid for both."""
    if is_set and is_unset:
        raise Invalid("One request cannot add a state and remove it.")
    return True if is_set else False if is_unset else None


async def mark_all(asked: ReaderRequest) -> Response:
    """Mark as read what had arrived in these streams by the time the app loaded them."""
    streams = [read_stream(text) for text in asked.params.all("s") if text]
    if not streams:
        raise Invalid("The request does not say what to mark as read.")
    until, now = read_moment(asked.params.one("ts"), is_end=True), asked.deps.clock()
    arrived = SyncFilter(kind=asked.user.kind, arrived_until=Millis(now if until is None else min(until, now)))
    meant = [await _meant(asked, arrived, stream) for stream in streams]
    asked.user.must_write()
    # what is read stays so; all the rest of the shelf is not meant
    await asked.sync.mark_read(asked.shelf_id, *(each for each in meant if each.unread is not False))
    return done()


async def _meant(asked: ReaderRequest, arrived: SyncFilter, stream: StreamName) -> SyncFilter:
    """The filter narrowed to the stream; NotFound for one that is unknown, or another shelf's."""
    wanted = await narrowed(asked, arrived, stream)
    if wanted is None:
        raise NotFound("There is no such stream.")
    if wanted.feed is not None:
        await asked.subscriptions.get(wanted.feed)
    return wanted


async def edit_subscription(asked: ReaderRequest) -> Response:
    """Follow, change or leave feeds, named by number or address."""
    params = asked.params
    change = _CHANGES.get(params.one("ac"))
    if change is None:
        raise Invalid("The action must be subscribe, unsubscribe or edit.")
    streams = [read_stream(text) for text in params.all("s") if text.strip()]
    if any(stream.kind != "feed" for stream in streams):
        raise Invalid("Only feeds can be changed here.")
    label = read_label(params.one("a"))
    names = params.all("t") or params.all("title")
    if not streams and (label is None or change is not _edit):
        raise Invalid("The request names no feed.")
    asked.user.must_write()
    if change is not _subscribe:
        for stream in streams:
            await own_feed(asked, stream.value)  # all of them, before any is changed
    if not streams and label is not None:
        await made_group(asked, label)  # so ReadYou and Twine make a folder
    for place, stream in enumerate(streams):
        await change(asked, stream.value, names[place] if place < len(names) else "", label)
    return done()


async def _subscribe(asked: ReaderRequest, said: str, name: str, label: str | None) -> None:
    """Follow it, then put it into its group: no group is made for a feed that is none."""
    is_number = whole_number(said) is not None
    feed = await own_feed(asked, said) if is_number else await asked.subscriptions.subscribe(said, name=name)
    if label is not None:
        await _move(asked, feed, await made_group(asked, label))


async def _unsubscribe(asked: ReaderRequest, said: str, _name: str, _label: str | None) -> None:
    await asked.subscriptions.unsubscribe(await own_feed(asked, said))


async def _edit(asked: ReaderRequest, said: str, name: str, label: str | None) -> None:
    """Rename it and move it; taken out of its label and put into no other, it goes to the default group."""
    feed, left = await own_feed(asked, said), read_label(asked.params.one("r"))
    if name.strip():
        await asked.subscriptions.rename(feed, name)
    if label is not None:
        await _move(asked, feed, await made_group(asked, label))
    elif left is not None and shown_label(left) == shown_label(feed.group_name):
        await _move(asked, feed, await asked.subscriptions.default_group())


async def _move(asked: ReaderRequest, feed: SyncFeed, group: Group) -> None:
    if group.id != feed.group_id:
        await asked.subscriptions.move(feed, group.public_id)


_CHANGES = {"subscribe": _subscribe, "unsubscribe": _unsubscribe, "edit": _edit}


async def quick_add(asked: ReaderRequest) -> Response:
    """Follow a feed. Apps show the error's sentence, and after a success fetch the feed at once."""
    said = asked.params.one("quickadd").strip().removeprefix("feed/")
    try:
        feed = await asked.subscriptions.subscribe(said)
    except (Invalid, Conflict, Forbidden, LimitExceeded, SourceError) as error:
        return json_answer({"numResults": 0, "query": said, "error": str(error)})
    found = {"streamId": f"feed/{feed.number}", "streamName": feed.title}
    return json_answer({"numResults": 1, "query": feed_address(feed, asked.base)} | found)


def _named_label(params: Params, name: str) -> str:
    """The label that a parameter names, also by its bare name in `t`."""
    label = read_label(params.one(name))
    label = params.one("t") if label is None and name == "s" else label
    if not label:
        raise Invalid(f"The parameter {name} must name a label.")
    return label


async def rename_tag(asked: ReaderRequest) -> Response:
    """Rename a group, a tag, or both. A tag becomes one with another of this name; a group does not."""
    found = await own_label(asked, _named_label(asked.params, "s"))
    label = _named_label(asked.params, "dest")
    if found.group is not None:
        known = await find_group(asked, label)
        if known is not None and known.id != found.group.id:
            raise Conflict(f"A group named {known.name!r} already exists.")
        await asked.subscriptions.rename_group(found.group, name_of_label(label))
    if found.tag is not None:
        asked.user.must_write()
        await asked.tags.rename(asked.shelf_id, found.tag.public_id, name_of_label(label))
    return done()


async def disable_tag(asked: ReaderRequest) -> Response:
    """Delete groups, whose feeds go to the default group, and tags."""
    labels = [label for text in asked.params.all("s") if (label := read_label(text)) is not None]
    found = [await own_label(asked, label) for label in labels or [_named_label(asked.params, "s")]]
    groups = {one.group.id: one.group for one in found if one.group is not None}
    tags = {one.tag.id: one.tag for one in found if one.tag is not None}
    if any(group.is_default for group in groups.values()):
        raise Conflict("The default group cannot be deleted.")
    asked.user.must_write()
    for group in groups.values():
        await asked.subscriptions.delete_group(group)
    for tag in tags.values():
        await asked.tags.delete(asked.shelf_id, tag.public_id)
    return done()

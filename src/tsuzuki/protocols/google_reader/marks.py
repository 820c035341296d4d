"""Marks on entries."""

import msgspec
from starlette.responses import Response

from tsuzuki.inbox.sync import SyncFilter
from tsuzuki.model.errors import Invalid, NotFound
from tsuzuki.model.times import Millis
from tsuzuki.protocols.google_reader.answers import done
from tsuzuki.protocols.google_reader.names import read_item_id, read_moment, read_stream
from tsuzuki.protocols.google_reader.request import ReaderRequest, made_group
from tsuzuki.protocols.google_reader.streams import narrowed

_ADDS_READ = {"read"}
_ADDS_UNREAD = {"unread", "kept-unread", "tracking-kept-unread"}
_TAKES_READ = {"unread", "kept-unread"}


async def edit_tag(asked: ReaderRequest) -> Response:
    """Set states; labels on entries, and states that we do not have, change nothing."""
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
    if unread is not None or saved is not None:
        asked.user.must_write()
    if unread is not None:
        await asked.sync.mark(asked.shelf_id, ids, asked.user.kind, unread=unread)
    if saved is not None:
        await asked.sync.save(asked.shelf_id, ids, asked.user.kind, saved=saved)
    return done()


def _wish(*, is_set: set[str], is_unset: set[str]) -> bool | None:
    """What is wanted of a state; None for nothing, Invalid for both."""
    if is_set and is_unset:
        raise Invalid("One request cannot add a state and remove it.")
    return True if is_set else False if is_unset else None


async def mark_all(asked: ReaderRequest) -> Response:
    """What had arrived when the app looked."""
    if not asked.params.one("s"):
        raise Invalid("The request does not say what to mark as read.")
    stream, now = read_stream(asked.params.one("s")), asked.deps.clock()
    wanted = await narrowed(asked, SyncFilter(kind=asked.user.kind), stream)
    if wanted is not None and wanted.feed is not None:
        await asked.subscriptions.get(wanted.feed)
    if wanted is None:
        raise NotFound("There is no such stream.")
    until = read_moment(asked.params.one("ts"), is_end=True)
    asked.user.must_write()
    if stream.value != "read" or stream.kind != "state":
        before = Millis(now if until is None else min(until, now))
        await asked.sync.mark_read(asked.shelf_id, msgspec.structs.replace(wanted, arrived_until=before))
    return done()

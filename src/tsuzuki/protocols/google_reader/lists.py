"""Who somebody is, and which labels and feeds they have; both as OPML."""

import hashlib
from collections.abc import Sequence

from starlette.responses import Response

from tsuzuki.connectors.opml import MAX_BYTES
from tsuzuki.http.body import first_file, read_body
from tsuzuki.inbox.sync import SyncFeed, SyncFilter
from tsuzuki.model.times import Millis
from tsuzuki.protocols.content import feed_address, icon_address, site_address
from tsuzuki.protocols.google_reader.names import READING_LIST, STATE, label_id, micros, shown_label
from tsuzuki.protocols.google_reader.requests import Json, ReaderRequest, json_answer, text_answer
from tsuzuki.shelves.groups import Group
from tsuzuki.shelves.tags import ShelfTag


async def show_token(asked: ReaderRequest) -> Response:
    """The edit token, which protects cookies; none counts here, so nobody looks at what comes back."""
    return text_answer(hashlib.sha256(b"T" + asked.user.password_id).hexdigest()[:57])


async def show_user(asked: ReaderRequest) -> Response:
    """Who has signed in; apps also ask this to try a token."""
    name = asked.user.caller.username
    return json_answer({"userId": name, "userName": name, "userProfileId": name, "userEmail": name})


async def list_tags(asked: ReaderRequest) -> Response:
    """Every group, also those without feeds, and every tag. A name that is both is a group's."""
    groups = await asked.subscriptions.groups()
    labels = {label_id(group.name): _category(group.name) | {"type": "folder"} for group in groups}
    for tag in await asked.tags.list(asked.shelf_id):
        said = _category(tag.name) | {"type": "tag", "unread_count": await _unread(asked, tag=tag)}
        labels.setdefault(label_id(tag.name), said)
    return json_answer({"tags": [{"id": f"{STATE}starred"}, *labels.values()]})


async def _unread(asked: ReaderRequest, *, tag: ShelfTag, group: Group | None = None) -> int:
    """What is unread of a label, as far as the app may see it."""
    if asked.user.kind is None and group is None:
        return tag.unread
    group_id = None if group is None else group.id
    wanted = SyncFilter(kind=asked.user.kind, unread=True, group=group_id, tag=tag.id)
    return await asked.sync.count(asked.shelf_id, wanted)


def _category(group: str) -> Json:
    """One function for every list: apps compare these byte by byte."""
    return {"id": label_id(group), "label": shown_label(group)}


async def list_subscriptions(asked: ReaderRequest) -> Response:
    """Feeds and series, each in its group."""
    icons = await asked.deps.services.icons.of_shelf(asked.shelf_id)
    feeds = [
        {
            "id": f"feed/{feed.number}",
            "title": feed.title,
            "categories": [_category(feed.group_name)],
            "url": feed_address(feed, asked.base),
            "htmlUrl": site_address(feed, asked.base),
            "iconUrl": icon_address(feed, icons, asked.base),
        }
        for feed in await asked.subscriptions.all()
    ]
    return json_answer({"subscriptions": feeds})


async def count_unread(asked: ReaderRequest) -> Response:
    """Unread counts of each feed, each label and everything."""
    feeds = await asked.subscriptions.all()
    groups = {label_id(group.name): group for group in await asked.subscriptions.groups()}
    by_label: dict[str, list[SyncFeed]] = {name: [] for name in groups}
    for feed in feeds:
        by_label.setdefault(label_id(feed.group_name), []).append(feed)
    streams = {f"feed/{feed.number}": [feed] for feed in feeds} | by_label | {READING_LIST: feeds}
    counts = {name: _count(name, members) for name, members in streams.items()}
    for tag in await asked.tags.list(asked.shelf_id):
        name = label_id(tag.name)
        count = await _unread(asked, tag=tag, group=groups.get(name))
        counts[name] = counts[READING_LIST] | {"id": name, "count": count}  # nothing in it is newer
    return json_answer({"max": max(1000, counts[READING_LIST]["count"]), "unreadcounts": list(counts.values())})


def _count(name: str, feeds: Sequence[SyncFeed]) -> Json:
    newest = max((feed.newest_at or 0 for feed in feeds), default=0)
    count = sum(feed.unread for feed in feeds)
    return {"id": name, "count": count, "newestItemTimestampUsec": micros(Millis(newest))}


async def export_list(asked: ReaderRequest) -> Response:
    """The feeds as OPML."""
    asked.subscriptions.must_show_feeds()
    said = await asked.deps.services.lists.write(asked.shelf_id)
    return Response(said, media_type="text/x-opml; charset=utf-8")


async def import_list(asked: ReaderRequest) -> Response:
    """The body is the list itself, whatever type it says to have."""
    asked.user.must_write()
    asked.subscriptions.must_show_feeds()
    request = asked.request
    body = await read_body(request.scope, request.receive, MAX_BYTES)
    body = first_file(request.headers.get("content-type", ""), body)
    found = await asked.deps.services.lists.read(asked.shelf_id, body)
    return text_answer(f"OK: {sum(one.outcome != 'failed' for one in found)}")

"""Tags of a shelf, and what they are on."""

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from tsuzuki.accounts.types import Shelf
from tsuzuki.api.endpoints import Access, Body, declaring
from tsuzuki.api.ids import FeedPath, FollowPath, Number, TagPath
from tsuzuki.api.items import MOST_AT_ONCE
from tsuzuki.api.views import Time, view_of
from tsuzuki.model.errors import Conflict, LimitExceeded, NotFound
from tsuzuki.model.ids import EntryId, read_number
from tsuzuki.shelves.tags import LONGEST_TAG, MOST_TAGS_OF_ONE, ShelfTag, TagName, Tags

TagText = Annotated[str, Meta(min_length=1, max_length=LONGEST_TAG)]
TagTexts = Annotated[tuple[TagText, ...], Meta(max_length=MOST_TAGS_OF_ONE)]


class TagView(msgspec.Struct, frozen=True, kw_only=True):
    """A tag. `entries` and `unread` include those of tagged feeds and series, of which there are `followed`."""

    id: str
    name: str
    entries: int
    unread: int
    followed: int
    created_at: Time
    updated_at: Time


_tag_view = view_of(TagView, ShelfTag)


class TagNamesView(msgspec.Struct, frozen=True):
    """The tags of a feed or a series, by name."""

    tags: list[str]


class TagBody(Body, frozen=True, kw_only=True):
    """The name of a tag."""

    name: TagText


class TagNamesBody(Body, frozen=True, kw_only=True):
    """Names of tags; new ones are made."""

    tags: TagTexts


class EntryTagsBody(Body, frozen=True, kw_only=True):
    """Entries by id, and the names of tags to put on them and to take off; new ones are made."""

    ids: Annotated[tuple[Number, ...], Meta(min_length=1, max_length=MOST_AT_ONCE)]
    add: TagTexts = ()
    remove: TagTexts = ()

    def __post_init__(self) -> None:
        if not (self.add or self.remove):
            raise ValueError("Send add, remove or both.")


class TaggedView(msgspec.Struct, frozen=True):
    """How many tags were put on entries or taken off."""

    changed: int


async def list_tags(shelf: Shelf, tags: Tags) -> list[TagView]:
    """All tags by name, with counts."""
    return [_tag_view(one) for one in await tags.list(shelf.id)]


async def create_tag(shelf: Shelf, body: TagBody, tags: Tags) -> TagView:
    """Adds a tag. Names are compared whatever their case."""
    return _tag_view(await tags.add(shelf.id, body.name))


async def show_tag(tag_id: TagPath, shelf: Shelf, tags: Tags) -> TagView:
    """One tag."""
    return _tag_view(await tags.get(shelf.id, tag_id))


async def rename_tag(tag_id: TagPath, shelf: Shelf, body: TagBody, tags: Tags) -> TagView:
    """Renames a tag. If another one has this name, the two become that one, which is the response."""
    return _tag_view(await tags.rename(shelf.id, tag_id, body.name))


async def delete_tag(tag_id: TagPath, shelf: Shelf, tags: Tags) -> None:
    """Deletes a tag. Nothing that has it is deleted. It can be restored for 30 days."""
    await tags.delete(shelf.id, tag_id)


async def restore_tag(tag_id: TagPath, shelf: Shelf, tags: Tags) -> TagView:
    """Restores a deleted tag on everything that had it."""
    return _tag_view(await tags.restore(shelf.id, tag_id))


async def tag_entries(shelf: Shelf, body: EntryTagsBody, tags: Tags) -> TaggedView:
    """Puts tags on entries and takes others off. A name in both is put on."""
    ids = [EntryId(number) for text in body.ids if (number := read_number(text)) is not None]
    return TaggedView(await tags.tag_entries(shelf.id, ids, add=body.add, remove=body.remove))


async def list_feed_tags(feed_id: FeedPath, shelf: Shelf, tags: Tags) -> TagNamesView:
    """The tags of a feed, which all its entries have."""
    return _names(await tags.of_feed(shelf.id, feed_id))


async def set_feed_tags(feed_id: FeedPath, shelf: Shelf, body: TagNamesBody, tags: Tags) -> TagNamesView:
    """Gives a feed these tags and no others."""
    return _names(await tags.set_feed(shelf.id, feed_id, body.tags))


async def list_series_tags(follow_id: FollowPath, shelf: Shelf, tags: Tags) -> TagNamesView:
    """The tags of a followed series, which all its entries have."""
    return _names(await tags.of_series(shelf.id, follow_id))


async def set_series_tags(follow_id: FollowPath, shelf: Shelf, body: TagNamesBody, tags: Tags) -> TagNamesView:
    """Gives a followed series these tags and no others."""
    return _names(await tags.set_series(shelf.id, follow_id, body.tags))


def _names(tags: Sequence[TagName]) -> TagNamesView:
    return TagNamesView([tag.name for tag in tags])


_read = declaring("tags", Access.READ)
_write = declaring("tags", Access.WRITE)

ENDPOINTS = (
    _read("GET", "/tags", list_tags, "List tags", errors=(NotFound,)),
    _write("POST", "/tags", create_tag, "Add a tag", status=201, errors=(NotFound, Conflict, LimitExceeded)),
    _read("GET", "/tags/{tag_id}", show_tag, "Show a tag", errors=(NotFound,)),
    _write("PATCH", "/tags/{tag_id}", rename_tag, "Rename a tag", errors=(NotFound,)),
    _write("DELETE", "/tags/{tag_id}", delete_tag, "Delete a tag", errors=(NotFound,)),
    _write("POST", "/tags/{tag_id}/restore", restore_tag, "Restore a deleted tag", errors=(NotFound, LimitExceeded)),
    _write("PATCH", "/inbox/-/tags", tag_entries, "Tag entries", errors=(NotFound, LimitExceeded)),
    _read("GET", "/feeds/{feed_id}/tags", list_feed_tags, "List the tags of a feed", errors=(NotFound,)),
    _write("PUT", "/feeds/{feed_id}/tags", set_feed_tags, "Set the tags of a feed", errors=(NotFound, LimitExceeded)),
    _read("GET", "/library/{follow_id}/tags", list_series_tags, "List the tags of a series", errors=(NotFound,)),
    _write(
        "PUT",
        "/library/{follow_id}/tags",
        set_series_tags,
        "Set the tags of a series",
        errors=(NotFound, LimitExceeded),
    ),
)

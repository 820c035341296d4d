"""Shelves and the people who have them."""

from typing import Literal

import msgspec

from tsuzuki.accounts.nouns import Shelf
from tsuzuki.model.ids import PublicId, UserId
from tsuzuki.model.times import Millis

ShelfRole = Literal["owner", "editor", "reader"]
"""`reader` sees all of a shelf, `editor` also changes what is on it, `owner` also shares, renames and deletes it."""


class MemberShelf(Shelf, frozen=True):
    """A shelf with what one person may do on it."""

    role: ShelfRole
    owner: str | None
    """Whose it is, where it is not theirs; the first by name of several."""


class Member(msgspec.Struct, frozen=True):
    """Somebody who has a shelf."""

    user_id: UserId
    public_id: PublicId
    username: str
    role: ShelfRole
    created_at: Millis


class ShelfContents(msgspec.Struct, frozen=True):
    """What goes with a shelf."""

    subscriptions: int
    follows: int
    bookmarks: int
    people: int
    """Everybody who has it, the owner among them."""


class OldShared(msgspec.Struct, frozen=True):
    """A shelf that people share since before there was a choice."""

    tenant: str
    name: str
    people: int

"""What is said of groups."""

import msgspec

from tsuzuki.model.ids import GroupId, PublicId
from tsuzuki.model.times import Millis


class Group(msgspec.Struct, frozen=True):
    """A group of a shelf."""

    id: GroupId
    public_id: PublicId
    name: str
    position: int
    is_default: bool
    created_at: Millis
    updated_at: Millis

"""What requests are made of. A handler's parameter that is a `Query` or a `Body` is decoded from there."""

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

LARGEST = 2**63 - 1


class Query(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters after the `?`. A list may repeat its name or put commas between; an unknown name is a problem.

    Declared as `class FeedQuery(Query, frozen=True)`; a list is a `tuple[X, ...] = ()`.
    """


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A JSON object; an unknown key is a problem. A key that may be left out is `X | UnsetType = UNSET`;
    an object within it is a `Body` too.

    Declared as `class NewFeed(Body, frozen=True)`. What no field says alone is a ValueError of `__post_init__`.
    """


Id = Annotated[int, Meta(ge=1, le=LARGEST)]
PageNumber = Annotated[int, Meta(ge=1, le=1_000_000)]
Moment = Annotated[datetime, Meta(tz=True)]

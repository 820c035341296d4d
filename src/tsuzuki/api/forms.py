"""What requests are made of. A handler's parameter that is a `QueryParameters` or a `Body` is decoded from there."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tsuzuki.model.errors import Problem

LARGEST = 2**63 - 1


class QueryParameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameters after the `?`. A list may repeat its name or put commas between; an unknown name is a problem.

    Declared as `class FeedQuery(Query, frozen=True)`; a list is a `tuple[X, ...] = ()`.
    """


class Body(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A JSON object; an unknown key is a problem. A key that may be left out is `X | UnsetType = UNSET`;
    an object within it is a `Body` too.

    Declared as `class NewFeed(Body, frozen=True)`. What no field says alone is a ValueError of `__post_init__`; what a
    field's type cannot say is a problem of `beyond_types`, reported together with those of the types.
    """

    @classmethod
    def beyond_types(cls, raw: Mapping[str, Any]) -> Iterator[Problem]:  # noqa: ARG003  most forms have none
        """What is wrong with what was sent though its types may be right."""
        yield from ()


Id = Annotated[int, Meta(ge=1, le=LARGEST)]
PageNumber = Annotated[int, Meta(ge=1, le=1_000_000)]
Moment = Annotated[datetime, Meta(tz=True)]

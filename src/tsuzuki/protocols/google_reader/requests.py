"""What an app asks for, the feeds and groups that it names, and answers as apps read them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.devices import AppUser
from tsuzuki.http.errors import failure_of
from tsuzuki.inbox.fetches import Fetches
from tsuzuki.inbox.sync import LARGEST, SyncEntry, SyncFeed, SyncInbox
from tsuzuki.model.errors import Conflict, NotFound, SourceError, TsuzukiError, Unauthorized
from tsuzuki.model.ids import ShelfId
from tsuzuki.protocols.access import ProtocolDeps
from tsuzuki.protocols.content import AppAnswer, AppEntry
from tsuzuki.protocols.google_reader.names import name_of_label, shown_label
from tsuzuki.protocols.params import Params, whole_number
from tsuzuki.protocols.subscriptions import AppSubscriptions
from tsuzuki.shelves.groups import Group
from tsuzuki.shelves.tags import ShelfTag, Tags, fold_tag_name

Json = dict[str, Any]

Refusal = tuple[str, Mapping[str, str]]
"""The answer to somebody unknown: a body and headers."""

_BAD_TOKEN = {"x-reader-google-bad-token": "true", "google-bad-token": "true"}
_PLAIN = 400
_SAID_PLAINLY = frozenset({400, 403, 429})
"""With other statuses, apps look for the sentence in JSON."""


def text_answer(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A text."""
    return Response(text, status, dict(headers or {}), "text/plain; charset=utf-8")


def json_answer(body: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON."""
    said = msgspec.json.encode(body)
    return Response(said, status, dict(headers or {}), "application/json; charset=utf-8")


def done() -> Response:
    """What was asked for is so; some apps compare these two letters."""
    return text_answer("OK")


REFUSAL: Refusal = ("Unauthorized", _BAD_TOKEN)
WRONG_PAIR: Refusal = ("Error=BadAuthentication\nUnauthorized\n", {})


async def shaped(answering: Awaitable[Response], refusal: Refusal) -> Response:
    """The answer, or what went wrong as apps read it. A failure of ours is answered like everywhere."""
    try:
        return await answering
    except Unauthorized:
        return text_answer(refusal[0], 401, refusal[1])
    except TsuzukiError as error:
        failure = failure_of(error, "")
        # A 404 is a wrong address to apps, and a 503 a server that is down.
        status = _PLAIN if isinstance(error, NotFound | Conflict | SourceError) else failure.status
        if status >= 500:
            raise
        if status in _SAID_PLAINLY:
            return text_answer(failure.body.error, status, failure.headers)
        return json_answer({"errors": [failure.body.error]}, status, failure.headers)


class ReaderRequest(msgspec.Struct, frozen=True):
    """Who asks for what."""

    deps: ProtocolDeps
    user: AppUser
    params: Params
    base: str
    """The address of this server."""
    request: Request
    fetches: Fetches = msgspec.field(default_factory=Fetches)

    async def shown(self, found: Sequence[SyncEntry]) -> list[AppEntry]:
        """These entries as the app shows them."""
        return await AppAnswer(self.deps, self.user, self.base, self.fetches).entries(found)

    @property
    def sync(self) -> SyncInbox:
        """The entries of the shelf."""
        return self.deps.services.sync

    @property
    def shelf_id(self) -> ShelfId:
        """The shelf that the app reads."""
        return self.user.shelf.id

    @property
    def tags(self) -> Tags:
        """Its tags."""
        return self.deps.services.reading.tags

    @property
    def subscriptions(self) -> AppSubscriptions:
        """Its feeds and groups."""
        return AppSubscriptions(self.deps.services, self.user, self.base)


Call = Callable[[ReaderRequest], Awaitable[Response]]


async def find_feed(asked: ReaderRequest, said: str) -> int | None:
    """The number of a feed that is named by its number or its address."""
    number = whole_number(said)
    if number is not None:
        return number if 0 < number < LARGEST else None
    found = await asked.subscriptions.find(said)
    return None if found is None else found.number


async def find_group(asked: ReaderRequest, label: str) -> Group | None:
    """The group that has this label; a name may itself contain the character that stands for a slash."""
    groups = await asked.subscriptions.groups()
    shown = (group for group in groups if shown_label(group.name) == shown_label(label))
    return next(shown, None) or await asked.subscriptions.find_group(name_of_label(label))


async def own_feed(asked: ReaderRequest, said: str) -> SyncFeed:
    """The feed that is named so; NotFound where there is none."""
    number = await find_feed(asked, said)
    if number is None:
        raise NotFound("There is no such feed.")
    return await asked.subscriptions.get(number)


class ReaderLabel(msgspec.Struct, frozen=True):
    """What a label names: a group, a tag, or one of each, which are then one stream."""

    group: Group | None
    tag: ShelfTag | None


async def find_label(asked: ReaderRequest, label: str) -> ReaderLabel | None:
    """What has this label; None for nothing."""
    group = await find_group(asked, label)
    named = fold_tag_name(name_of_label(label))
    tag = next((tag for tag in await asked.tags.list(asked.shelf_id) if fold_tag_name(tag.name) == named), None)
    return None if group is None and tag is None else ReaderLabel(group, tag)


async def own_label(asked: ReaderRequest, label: str) -> ReaderLabel:
    """What has this label; NotFound where there is nothing."""
    found = await find_label(asked, label)
    if found is None:
        raise NotFound("There is no such label.")
    return found


async def made_group(asked: ReaderRequest, label: str) -> Group:
    """The group that has this label, added where there is none."""
    return await find_group(asked, label) or await asked.subscriptions.make_group(name_of_label(label))

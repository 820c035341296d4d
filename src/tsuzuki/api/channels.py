"""Notification channels of a shelf."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import Shelf
from tsuzuki.api.endpoints import Access, Body, declaring
from tsuzuki.api.ids import ChannelPath
from tsuzuki.api.views import Time, view_of
from tsuzuki.model.errors import Conflict, LimitExceeded, NotFound, TooManyRequests
from tsuzuki.notifications.channels import ChannelChange, Channels, ShownChannel
from tsuzuki.notifications.kinds import KINDS
from tsuzuki.notifications.kinds.base import ChannelKind

Name = Annotated[str, Meta(min_length=1, max_length=100)]


class ChannelView(msgspec.Struct, frozen=True, kw_only=True):
    """A channel. Secrets are shown as `***`, and an address only as its origin: its path is often a key."""  # R47

    id: str
    kind: str
    name: str
    config: dict[str, Any]
    is_enabled: bool
    rests_until: Time | None
    consecutive_failures: int
    last_sent_at: Time | None
    last_failed_at: Time | None
    last_error: str | None
    created_at: Time
    updated_at: Time


_channel_view = view_of(ChannelView, ShownChannel)


class NewChannelView(msgspec.Struct, frozen=True):
    """A new channel; `made` has what was generated for it (a webhook's `secret`), shown only once."""

    channel: ChannelView
    made: dict[str, Any]


class ChannelTrialView(msgspec.Struct, frozen=True):
    """The task that sends the test message."""

    task_id: str


def _takes(kind: ChannelKind[Any]) -> str:
    """Which fields its config has."""
    made = kind.complete({}, bytes(32))
    fields = msgspec.structs.fields(kind.config)
    needed = [field.name for field in fields if field.required and field.name not in made]
    others = [field.name for field in fields if field.name not in needed]
    return f"`{kind.name}` takes {_listed(needed)}" + (f" and optionally {_listed(others)}" if others else "")


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


Config = Annotated[dict[str, Any], Meta(description="; ".join(map(_takes, KINDS.values())) + ".")]


class NewChannelBody(Body, frozen=True, kw_only=True):
    """A channel of one of the available kinds."""

    kind: Annotated[str, Meta(max_length=40)]
    name: Name
    config: Config = msgspec.field(default_factory=dict)


class ChannelBody(Body, frozen=True, kw_only=True):
    """What to change. `config` is replaced as a whole; values sent back as they were shown stay the same."""  # R47

    name: Name | UnsetType = UNSET
    config: dict[str, Any] | UnsetType = UNSET
    is_enabled: bool | UnsetType = UNSET


async def list_channels(shelf: Shelf, caller: Caller, channels: Channels) -> list[ChannelView]:
    """Your own channels on this shelf and the channels of the shelf itself, by name."""
    return [_channel_view(channel) for channel in await channels.list(shelf.id, caller.user_id)]


async def create_channel(shelf: Shelf, body: NewChannelBody, caller: Caller, channels: Channels) -> NewChannelView:
    """The address is checked before it is saved."""
    added = await channels.add(shelf.id, body.kind, name=body.name, config=body.config, user_id=caller.user_id)
    return NewChannelView(_channel_view(added.channel), added.made)


async def change_channel(
    *, channel_id: ChannelPath, shelf: Shelf, body: ChannelBody, caller: Caller, channels: Channels
) -> ChannelView:
    """Resets its failures, so that it is tried again at once."""
    said = {name: value for name, value in msgspec.structs.asdict(body).items() if value is not UNSET}
    return _channel_view(await channels.change(shelf.id, channel_id, ChannelChange(**said), caller.user_id))


async def delete_channel(channel_id: ChannelPath, shelf: Shelf, caller: Caller, channels: Channels) -> None:
    """Messages that still wait to be sent through it are not sent."""
    await channels.remove(shelf.id, channel_id, caller.user_id)


async def try_channel(channel_id: ChannelPath, shelf: Shelf, caller: Caller, channels: Channels) -> ChannelTrialView:
    """Sends a test message: at most 10 a minute for a shelf, and only while the channel is on."""
    return ChannelTrialView(str(await channels.try_out(shelf.id, channel_id, caller.user_id)))


_read = declaring("channels", Access.READ)
_write = declaring("channels", Access.WRITE)
_NEW_ERRORS = (NotFound, Conflict, LimitExceeded)
_TRIAL_ERRORS = (NotFound, Conflict, TooManyRequests)

ENDPOINTS = (
    _read("GET", "/channels", list_channels, "List channels", errors=(NotFound,)),
    _write("POST", "/channels", create_channel, "Add a channel", status=201, errors=_NEW_ERRORS),
    _write("PATCH", "/channels/{channel_id}", change_channel, "Change a channel", errors=(NotFound, Conflict)),
    _write("DELETE", "/channels/{channel_id}", delete_channel, "Delete a channel", errors=(NotFound,)),
    _write("POST", "/channels/{channel_id}/test", try_channel, "Test a channel", status=202, errors=_TRIAL_ERRORS),
)

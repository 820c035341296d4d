"""Where a shelf's notices go besides its pages."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.current_user import CurrentUser
from tsuzuki.api.declaring import declaring
from tsuzuki.api.endpoints import Access
from tsuzuki.api.forms import Body
from tsuzuki.api.ids import IdText, id_in_path
from tsuzuki.api.shelf import ShelfQuery
from tsuzuki.api.views import Time, shown
from tsuzuki.delivery.notices.service import ChannelChange, Channels, ShownChannel
from tsuzuki.model.errors import Conflict, LimitExceeded, NotFound, TooManyRequests
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import iso

Name = Annotated[str, Meta(min_length=1, max_length=100)]


class ChannelView(msgspec.Struct, frozen=True, kw_only=True):
    """A channel. Its secrets are shown as `***`, and of an address only the origin: its path is often a key (R47)."""

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


class NewChannelView(msgspec.Struct, frozen=True):
    """A new channel; `made` holds what we made for it (a webhook's `secret`), shown this once."""

    channel: ChannelView
    made: dict[str, Any]


class ChannelTrialView(msgspec.Struct, frozen=True):
    """The task that sends the trial."""

    task_id: str


class NewChannelBody(Body, frozen=True, kw_only=True):
    """A `webhook` takes `url` and perhaps `secret`; `ntfy` takes `topic` and perhaps `url`, `token`, `priority`."""

    kind: Annotated[str, Meta(max_length=40)]
    name: Name
    config: dict[str, Any] = msgspec.field(default_factory=dict)


class ChannelBody(Body, frozen=True, kw_only=True):
    """What to change. The config is replaced whole; what is sent as it was shown stays as it is (R47)."""

    name: Name | UnsetType = UNSET
    config: dict[str, Any] | UnsetType = UNSET
    is_enabled: bool | UnsetType = UNSET


async def list_channels(
    query: ShelfQuery, caller: Caller, current_user: CurrentUser, channels: Channels
) -> list[ChannelView]:
    """The caller's on this shelf, and those that are the shelf's own, by name."""
    shelf = await query.pick(caller, current_user)
    return [_view(channel) for channel in await channels.list(shelf.id, caller.user_id)]


async def create_channel(
    *, query: ShelfQuery, body: NewChannelBody, caller: Caller, current_user: CurrentUser, channels: Channels
) -> NewChannelView:
    """The address is vetted before it is saved."""
    shelf = await query.pick(caller, current_user)
    added = await channels.add(shelf.id, body.kind, name=body.name, config=body.config, user_id=caller.user_id)
    return NewChannelView(_view(added.channel), added.made)


async def change_channel(
    channel_id: IdText,
    *,
    query: ShelfQuery,
    body: ChannelBody,
    caller: Caller,
    current_user: CurrentUser,
    channels: Channels,
) -> ChannelView:
    """Its failures are forgotten, so that it is tried again at once."""
    shelf = await query.pick(caller, current_user)
    said = {name: value for name, value in msgspec.structs.asdict(body).items() if value is not UNSET}
    return _view(
        await channels.change(shelf.id, id_in_path(channel_id, "channel"), ChannelChange(**said), caller.user_id)
    )


async def delete_channel(
    channel_id: IdText, *, query: ShelfQuery, caller: Caller, current_user: CurrentUser, channels: Channels
) -> None:
    """What still waits to be sent through it is not sent."""
    shelf = await query.pick(caller, current_user)
    await channels.remove(shelf.id, id_in_path(channel_id, "channel"), caller.user_id)


async def try_channel(
    channel_id: IdText, *, query: ShelfQuery, caller: Caller, current_user: CurrentUser, channels: Channels
) -> ChannelTrialView:
    """Sends a message that says that the channel works: at most 10 a minute for a shelf, and only while it is on."""
    shelf = await query.pick(caller, current_user)
    return ChannelTrialView(str(await channels.try_out(shelf.id, id_in_path(channel_id, "channel"), caller.user_id)))


def _view(channel: ShownChannel) -> ChannelView:
    return ChannelView(
        id=show_id(channel.id),
        kind=channel.kind,
        name=channel.name,
        config=channel.config,
        is_enabled=channel.is_enabled,
        rests_until=shown(channel.rests_until),
        consecutive_failures=channel.consecutive_failures,
        last_sent_at=shown(channel.last_sent_at),
        last_failed_at=shown(channel.last_failed_at),
        last_error=channel.last_error,
        created_at=iso(channel.created_at),
        updated_at=iso(channel.updated_at),
    )


_read = declaring("channels", Access.READ)
_write = declaring("channels", Access.WRITE)
_NEW_ERRORS = (NotFound, Conflict, LimitExceeded)
_TRIAL_ERRORS = (NotFound, Conflict, TooManyRequests)

ENDPOINTS = (
    _read("GET", "/channels", list_channels, "Where notices go", errors=(NotFound,)),
    _write("POST", "/channels", create_channel, "Add a channel", status=201, errors=_NEW_ERRORS),
    _write("PATCH", "/channels/{channel_id}", change_channel, "Change a channel", errors=(NotFound, Conflict)),
    _write("DELETE", "/channels/{channel_id}", delete_channel, "Remove a channel", errors=(NotFound,)),
    _write("POST", "/channels/{channel_id}/test", try_channel, "Try a channel", status=202, errors=_TRIAL_ERRORS),
)

"""The interface of a channel kind. Kinds are pure: they say what to send, and `net` sends it (I6)."""

from collections.abc import Mapping
from typing import Annotated, Any, NewType, Protocol, TypeVar

import msgspec

from tsuzuki.model.errors import Invalid, Problem, RefusedAddress
from tsuzuki.model.ids import PublicId, ShelfId
from tsuzuki.model.requests import Ask
from tsuzuki.model.secrets import CHANNEL, MASKED, UNREADABLE, Sealed, Unreadable, unreadable_places
from tsuzuki.model.times import Millis
from tsuzuki.net.redirects import REDIRECTS
from tsuzuki.net.urls import parse
from tsuzuki.notifications.tasks import Send

_ANSWER_CAP = 64 * 1024


class ChannelConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every channel has: an address."""

    url: str


C = TypeVar("C", bound=ChannelConfig)


class ChannelKind(Protocol[C]):
    """One way to tell a reader something."""

    @property
    def name(self) -> str:
        """As it is stored."""
        ...

    @property
    def config(self) -> type[C]:
        """What it needs to know."""
        ...

    @property
    def secrets(self) -> frozenset[str]:
        """The fields of its config that are never shown."""
        ...

    def complete(self, config: Mapping[str, Any], random_bytes: bytes) -> dict[str, Any]:
        """The config of a new channel with what we make ourselves; `random_bytes` are 32."""
        ...

    def compose(self, config: C, send: Send, *, now: Millis) -> Ask:
        """The request that tells it."""
        ...


def post(config: ChannelConfig, document: Any, **headers: str) -> Ask:
    """A JSON document to the channel's address; header names have `_` for `-`. Redirects are not followed."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Ask(
        url=config.url,
        method="POST",
        headers={"content-type": "application/json", **named},
        body=document if isinstance(document, bytes) else msgspec.json.encode(document),
        max_bytes=_ANSWER_CAP,
        accept_statuses=REDIRECTS,
    )


def read_config(kind: ChannelKind[C], raw: Mapping[str, Any]) -> C:
    """The config; Invalid names what is wrong with it."""
    if unreadable := tuple(Problem(place, UNREADABLE) for place in unreadable_places(raw)):
        raise Invalid(f"{unreadable[0].field}: {UNREADABLE}", unreadable)
    try:
        return msgspec.convert(dict(raw), kind.config)
    except msgspec.ValidationError as error:
        message, _, place = str(error).partition(" - at `$")
        field = f"config{place.rstrip('`')}"
        raise Invalid(f"{field}: {message}.", (Problem(field, f"{message}."),)) from error


# -- R47: what is shown, and what is kept when it comes back


def hidden(kind: ChannelKind[Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """The config as any answer, log or page may show it; of an address only the origin, its path is often a key."""
    return {name: _hidden(kind, name, value) for name, value in config.items()}


def _hidden(kind: ChannelKind[Any], name: str, value: Any) -> Any:
    if isinstance(value, Unreadable) or (name in kind.secrets and value):
        return MASKED
    return _origin_only(value) if name == "url" else value


def restored(kind: ChannelKind[Any], sent: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """What to store when a client sends a config back: what is sent as it was shown stays as it is.

    A secret is not carried over to another origin: whoever may change the address may not know it.
    """
    shown = hidden(kind, stored)
    whole = {name: stored[name] if shown.get(name) == value else value for name, value in sent.items()}
    is_elsewhere = _origin_only(str(whole.get("url", ""))) != shown.get("url")
    for name in kind.secrets:
        if whole.get(name) == MASKED or (is_elsewhere and sent.get(name) == MASKED):
            message = f"{MASKED} keeps what is stored, and nothing is stored for this address."
            raise Invalid(f"config.{name}: {message}", (Problem(f"config.{name}", message),))
    return whole


def _origin_only(url: str) -> str:
    """Of what is no address, all: it will not be stored."""
    try:
        address = parse(url)
    except RefusedAddress:
        return url
    return f"{address.origin}/{MASKED if address.path != '/' else ''}"


ChannelId = NewType("ChannelId", int)


class StoredChannel(msgspec.Struct, frozen=True):
    """A channel as it is stored, its secrets in it: never to be shown like this."""

    id: ChannelId
    public_id: PublicId
    shelf_id: ShelfId
    kind: str
    name: str
    config: Annotated[dict[str, Any], Sealed(CHANNEL)]
    is_enabled: bool
    consecutive_failures: int
    rests_until: Millis | None
    last_sent_at: Millis | None
    last_failed_at: Millis | None
    last_error: str | None
    created_at: Millis
    updated_at: Millis

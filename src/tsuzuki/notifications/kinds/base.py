"""What a kind of channel is, its config as it is stored and shown, and the requests that kinds make. Pure (I6)."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, Generic, NewType, TypeVar

import msgspec
from msgspec import Meta

from tsuzuki.model.errors import Invalid, Problem, RefusedAddress
from tsuzuki.model.ids import PublicId, ShelfId
from tsuzuki.model.requests import Ask
from tsuzuki.model.secrets import CHANNEL, MASKED, UNREADABLE, Sealed, Unreadable, is_secret, unreadable_places
from tsuzuki.model.times import Millis
from tsuzuki.net.redirects import REDIRECTS
from tsuzuki.net.urls import parse
from tsuzuki.notifications.tasks import Message, Send

ANSWER_CAP = 64 * 1024


Token = Annotated[str, Meta(pattern=r"^[!-~]{1,200}\Z")]
"""What services hand out as keys: no spaces, and nothing that ends a header."""


class ChannelConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every channel has: an address. Titles and descriptions of fields are texts of the form, in English."""

    url: Annotated[str, Meta(title="Address")]


C = TypeVar("C", bound=ChannelConfig)


class ChannelKind(ABC, Generic[C]):
    """A way to notify a reader. A new one is a module that declares these attributes, and is listed in `KINDS`."""

    name: str
    """The name under which its channels are stored."""
    title: str
    """Its name on pages."""
    about: str = ""
    """The text above its form: what it does, or where to find what the form asks for."""
    config: type[C]
    """What it needs to know; the form for readers is made of it."""
    is_browser: bool = False
    """Whether it is a browser that shows our pages: it adds itself instead of by a form, opens paths of ours, and is
    removed when its address is gone."""
    secrets: frozenset[str] = frozenset()
    """Fields of its config that are not shown once they are stored, beside those whose names say so (`token`, ...)."""

    def hides(self, field: str) -> bool:
        """Whether this field is never shown."""
        return field in self.secrets or is_secret(field)

    def complete(self, config: Mapping[str, Any], random_bytes: bytes) -> dict[str, Any]:  # noqa: ARG002  # for those who make something
        """The config of a new channel with what we make ourselves; `random_bytes` are 32."""
        return dict(config)

    @abstractmethod
    def compose(self, config: C, send: Send, *, now: Millis) -> Ask:
        """The request that sends the message; most are a `post`."""


def post(url: str, document: Any, **headers: str) -> Ask:
    """A JSON document to this address; header names have `_` for `-`. Redirects are not followed."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Ask(
        url=url,
        method="POST",
        headers={"content-type": "application/json", **named},
        body=document if isinstance(document, bytes) else msgspec.json.encode(document),
        max_bytes=ANSWER_CAP,
        accept_statuses=REDIRECTS,
    )


def below(url: str, path: str) -> str:
    """An address below that of a server, however many slashes end it."""
    return f"{url.rstrip('/')}/{path}"


def link_of(message: Message) -> str | None:
    """Where a tap leads: the page here, else the one at the source."""
    return message.page or message.url


def cut(text: str, most: int) -> str:
    """The text, or as much of it as a service takes; what is left out is an ellipsis."""
    return text if len(text) <= most else text[: most - 1] + "…"


def is_warning(message: Message) -> bool:
    """Whether somebody should look after something."""
    return message.type in {"source.broken", "invoice.disputed", "account.asleep", "account.closed"}


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
    if isinstance(value, Unreadable) or (kind.hides(name) and value):
        return MASKED
    return _origin_only(value) if name == "url" else value


def restored(kind: ChannelKind[Any], sent: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """What to store when a client sends a config back: what is sent as it was shown stays as it is.

    A secret is not carried over to another origin: whoever may change the address may not know it.
    """
    shown = hidden(kind, stored)
    whole = {name: stored[name] if shown.get(name) == value else value for name, value in sent.items()}
    is_elsewhere = _origin_only(str(whole.get("url", ""))) != shown.get("url")
    for name in filter(kind.hides, whole):
        if whole[name] == MASKED or (is_elsewhere and sent[name] == MASKED):
            message = f"{MASKED} keeps the stored value, but nothing is stored for this address. Enter the value."
            raise Invalid(f"config.{name}: {message}", (Problem(f"config.{name}", message),))
    return whole


def _origin_only(url: str) -> str:
    """The address without its path; text that is no address stays whole, as it will not be stored."""
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

"""The kinds of channels. They are pure: they say what to send, and `net` sends it (I6)."""

import base64
import binascii
import hashlib
import hmac
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, Final, Generic, NewType, TypeVar

import msgspec
from msgspec import Meta

from tsuzuki.model.errors import Invalid, Problem, RefusedAddress
from tsuzuki.model.ids import PublicId, ShelfId
from tsuzuki.model.requests import Ask
from tsuzuki.model.secrets import CHANNEL, MASKED, UNREADABLE, Sealed, Unreadable, is_secret, unreadable_places
from tsuzuki.model.times import SECOND, Millis, iso
from tsuzuki.net.redirects import REDIRECTS
from tsuzuki.net.urls import parse
from tsuzuki.notifications.tasks import MessageType, Send

_ANSWER_CAP = 64 * 1024


class ChannelConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every channel has: an address."""

    url: str


C = TypeVar("C", bound=ChannelConfig)


class ChannelKind(ABC, Generic[C]):
    """One way to tell a reader something. A new one declares `name`, `config` and `compose`, and is among `KINDS`."""

    name: str
    """As it is stored."""
    config: type[C]
    """What it needs to know; the form for readers is made of it."""
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
        """The request that tells it; most are a `post`."""


def post(url: str, document: Any, **headers: str) -> Ask:
    """A JSON document to this address; header names have `_` for `-`. Redirects are not followed."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Ask(
        url=url,
        method="POST",
        headers={"content-type": "application/json", **named},
        body=document if isinstance(document, bytes) else msgspec.json.encode(document),
        max_bytes=_ANSWER_CAP,
        accept_statuses=REDIRECTS,
    )


# -- Webhooks as Standard Webhooks has them (standardwebhooks.com), so that every language has a verifier already

PREFIX = "whsec_"


class WebhookConfig(ChannelConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where to post, and the key of the signature: `whsec_` and 24 to 64 bytes in base64."""

    secret: str

    def __post_init__(self) -> None:
        if not 24 <= len(_key(self.secret)) <= 64:
            raise ValueError(f"A secret is {PREFIX} followed by 24 to 64 bytes in base64")


class Webhook(ChannelKind[WebhookConfig]):
    """POST of a JSON document with `webhook-id`, `webhook-timestamp` and `webhook-signature`."""

    name = "webhook"
    config = WebhookConfig

    def complete(self, config: Mapping[str, Any], random_bytes: bytes) -> dict[str, Any]:
        """A secret where the owner brought none."""
        made = {"secret": PREFIX + base64.b64encode(random_bytes).decode()}
        return made | {name: value for name, value in config.items() if name != "secret" or value}

    def compose(self, config: WebhookConfig, send: Send, *, now: Millis) -> Ask:
        """The timestamp is of this try, the id of the delivery."""
        body = msgspec.json.encode(_document(send))
        timestamp = str(now // SECOND)
        signature = sign(config.secret, send.delivery_id, timestamp, body=body)
        return post(
            config.url,
            body,
            webhook_id=send.delivery_id,
            webhook_timestamp=timestamp,
            webhook_signature=f"v1,{signature}",
        )


def sign(secret: str, message_id: str, timestamp: str, *, body: bytes) -> str:
    """HMAC-SHA256 over `id.timestamp.body`, in base64."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return base64.b64encode(hmac.digest(_key(secret), signed, hashlib.sha256)).decode()


def _key(secret: str) -> bytes:
    try:
        return base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _document(send: Send) -> dict[str, Any]:
    message = send.message
    data = {name: getattr(message, name) for name in ("title", "text", "url", "page", "number", "count")}
    return {"type": message.type, "timestamp": iso(message.at), "data": data}


# -- ntfy: a message to a topic of ntfy.sh or of a server of one's own

_TAGS: dict[MessageType, str] = {
    "source.broken": "warning",
    "source.healed": "white_check_mark",
    "invoice.due": "receipt",
    "invoice.disputed": "warning",
    "account.asleep": "warning",
    "account.closed": "warning",
}


class NtfyConfig(ChannelConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The server, the topic (whoever knows it can read it) and, for a protected one, an access token."""

    url: str = "https://ntfy.sh/"
    topic: Annotated[str, Meta(pattern=r"^[-_A-Za-z0-9]{1,64}\Z")]
    token: Annotated[str, Meta(pattern=r"^[!-~]{1,200}\Z")] | None = None
    priority: Annotated[int, Meta(ge=1, le=5)] = 3


class Ntfy(ChannelKind[NtfyConfig]):
    """POST of a JSON document to the server's root."""

    name = "ntfy"
    config = NtfyConfig
    secrets = frozenset({"topic"})

    def compose(self, config: NtfyConfig, send: Send, *, now: Millis) -> Ask:  # noqa: ARG002  # it has no signature
        """`sequence_id` lets a server that knows it replace what it was told before, instead of telling it twice."""
        message = send.message
        click = message.page or message.url
        document = {
            "topic": config.topic,
            "title": message.title,
            "message": message.text,
            "priority": config.priority,
            "tags": [_TAGS.get(message.type, "books")],
            "sequence_id": send.delivery_id,
        } | ({"click": click} if click else {})
        authorization = {"authorization": f"Bearer {config.token}"} if config.token else {}
        return post(config.url, document, **authorization)


KINDS: Final[Mapping[str, ChannelKind[Any]]] = {kind.name: kind for kind in (Webhook(), Ntfy())}
"""Every kind there is, by its name."""


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

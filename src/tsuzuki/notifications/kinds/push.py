"""Web Push: a message to a browser, also while no page is open, through the push service of its maker."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tsuzuki.model.requests import Ask
from tsuzuki.model.times import DAY, SECOND, Millis
from tsuzuki.net.redirects import REDIRECTS
from tsuzuki.notifications.kinds.base import ANSWER_CAP, ChannelConfig, ChannelKind, cut
from tsuzuki.notifications.push_encryption import (
    AUTH_SIZE,
    KEY_SIZE,
    LONGEST,
    PushKeys,
    encrypted,
    from_base64url,
    is_public_key,
    vapid,
)
from tsuzuki.notifications.tasks import Message, MessageType, Send

_TTL_S = DAY // SECOND
_LONGEST_TITLE, _LONGEST_TEXT, _LONGEST_PATH = 100, 400, 500
_TOPIC = 32  # RFC 8030, 5.4: characters of a topic
_IN_GENERAL: dict[MessageType, str] = {
    "chapter.new": "A new chapter",
    "chapters.new": "New chapters",
    "item.new": "A new article",
    "items.new": "New articles",
    "source.broken": "A source needs attention",
    "source.healed": "A source works again",
    "channel.test": "This channel works.",
    "invoice.due": "An invoice is due",
    "invoice.disputed": "A payment is disputed",
    "account.asleep": "Your account needs attention",
    "account.closed": "Your account was closed",
}

Key = Annotated[str, Meta(pattern=r"^[-_A-Za-z0-9]{10,100}\Z")]


class PushConfig(ChannelConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a browser said of itself when it was asked, and by which key and address of ours it knows who sends."""

    url: Annotated[str, Meta(pattern="^https://", max_length=2000)]
    p256dh: Key
    auth: Key
    key: Key
    contact: Annotated[str, Meta(pattern="^(https|mailto):", max_length=500)]
    titles: bool = False
    """Whether what is new is named: it may be read on a locked screen (R112)."""

    def __post_init__(self) -> None:
        if not is_public_key(from_base64url(self.p256dh)) or len(from_base64url(self.auth)) != AUTH_SIZE:
            raise ValueError("These are not the keys of a browser")
        if len(from_base64url(self.key)) != KEY_SIZE:
            raise ValueError("This is not a key of this server")


class Push(ChannelKind[PushConfig]):
    """An encrypted message; the push service cannot read it."""

    name = "push"
    title = "Browser"
    config = PushConfig
    secrets = frozenset({"p256dh", "auth", "key"})
    is_browser = True

    def compose(self, config: PushConfig, send: Send, *, now: Millis) -> Ask:
        """The topic lets the push service replace a repeated message that still waits there."""
        private = from_base64url(config.key)
        keys = PushKeys(from_base64url(config.p256dh), from_base64url(config.auth))
        document = msgspec.json.encode(_document(config, send))
        if len(document) > LONGEST:  # texts of four bytes a character
            document = msgspec.json.encode({"id": send.delivery_id, "title": "Tsuzuki", "body": "", "path": "/"})
        return Ask(
            url=config.url,
            method="POST",
            headers={
                "authorization": vapid(config.url, private, config.contact, now),
                "content-encoding": "aes128gcm",
                "content-type": "application/octet-stream",
                "ttl": str(_TTL_S),
                "urgency": "normal",
                "topic": send.delivery_id[-_TOPIC:],
            },
            body=encrypted(document, keys, private + f"{send.delivery_id} {now}".encode()),
            max_bytes=ANSWER_CAP,
            accept_statuses=REDIRECTS,
        )


def _document(config: PushConfig, send: Send) -> dict[str, Any]:
    message, path = send.message, send.message.page or "/"
    return {
        "id": send.delivery_id,
        **(
            {"title": cut(message.title, _LONGEST_TITLE), "body": cut(message.text, _LONGEST_TEXT)}
            if config.titles
            else _in_general(message)
        ),
        "path": path if len(path) <= _LONGEST_PATH else "/",
    }


def _in_general(message: Message) -> dict[str, str]:
    return {"title": "Tsuzuki", "body": _IN_GENERAL[message.type]}

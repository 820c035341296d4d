"""Webhooks as Standard Webhooks has them (standardwebhooks.com), so that every language has a verifier already."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

import msgspec

from tsuzuki.model.requests import Ask
from tsuzuki.model.times import SECOND, Millis, iso
from tsuzuki.notifications.kinds.base import ChannelConfig, ChannelKind, post
from tsuzuki.notifications.tasks import Send

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
    title = "Webhook"
    about = "Sends a signed JSON document to your own program for each new chapter or article."
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

"""ntfy: a message to a topic of ntfy.sh or of a server of one's own."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from tsuzuki.model.requests import Ask
from tsuzuki.model.times import Millis
from tsuzuki.notifications.kinds import ChannelConfig, post
from tsuzuki.notifications.tasks import MessageType, Send

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


class Ntfy:
    """POST of a JSON document to the server's root."""

    name = "ntfy"
    config = NtfyConfig
    secrets = frozenset({"topic", "token"})

    def complete(self, config: Mapping[str, Any], random_bytes: bytes) -> dict[str, Any]:
        """There is nothing that we could make."""
        del random_bytes
        return dict(config)

    def compose(self, config: NtfyConfig, send: Send, *, now: Millis) -> Ask:
        """`sequence_id` lets a server that knows it replace what it was told before, instead of telling it twice."""
        del now
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
        return post(config, document, **authorization)

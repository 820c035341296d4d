"""ntfy: a message to a topic of ntfy.sh or of a server of one's own."""

from typing import Annotated

from msgspec import Meta

from tsuzuki.model.requests import Ask
from tsuzuki.model.times import Millis
from tsuzuki.notifications.kinds.base import ChannelConfig, ChannelKind, Token, link_of, post
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

    url: Annotated[str, Meta(title="Server")] = "https://ntfy.sh/"
    topic: Annotated[
        str,
        Meta(pattern=r"^[-_A-Za-z0-9]{1,64}\Z", title="Topic", description="Anyone who knows the topic can read it."),
    ]
    token: Annotated[Token | None, Meta(title="Access token", description="Only for a protected topic.")] = None
    priority: Annotated[int, Meta(ge=1, le=5, title="Priority", description="From 1 (lowest) to 5 (highest).")] = 3


class Ntfy(ChannelKind[NtfyConfig]):
    """POST of a JSON document to the server's root."""

    name = "ntfy"
    title = "ntfy"
    config = NtfyConfig
    secrets = frozenset({"topic"})

    def compose(self, config: NtfyConfig, send: Send, *, now: Millis) -> Ask:  # noqa: ARG002  # it has no signature
        """`sequence_id` lets newer servers replace a repeated message instead of showing it twice."""
        message = send.message
        click = link_of(message)
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

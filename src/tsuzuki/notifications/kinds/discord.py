"""Discord: a message of a channel's webhook."""

from typing import Annotated

from msgspec import Meta

from tsuzuki.model.requests import Ask
from tsuzuki.model.times import Millis, iso
from tsuzuki.notifications.kinds.base import ChannelConfig, ChannelKind, cut, is_warning, link_of, post
from tsuzuki.notifications.tasks import Send

_LONGEST_TITLE, _LONGEST_TEXT, _LONGEST_LINK = 256, 4096, 2048  # what Discord takes of an embed
_CALM, _WARNING = 0x5865F2, 0xED4245


class DiscordConfig(ChannelConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The address of the webhook; its path is the key."""

    url: Annotated[
        str,
        Meta(title="Webhook URL", description="In Discord: Edit channel, Integrations, Webhooks, Copy webhook URL."),
    ]


class Discord(ChannelKind[DiscordConfig]):
    """An embed; nobody is mentioned by what a source wrote."""

    name = "discord"
    title = "Discord"
    config = DiscordConfig

    def compose(self, config: DiscordConfig, send: Send, *, now: Millis) -> Ask:  # noqa: ARG002  # it has no signature
        """An embed whose title is the link."""
        message, link = send.message, link_of(send.message)
        embed = {
            "title": cut(message.title, _LONGEST_TITLE),
            "description": cut(message.text, _LONGEST_TEXT),
            "timestamp": iso(message.at),
            "color": _WARNING if is_warning(message) else _CALM,
        } | ({"url": link} if link and len(link) <= _LONGEST_LINK else {})
        return post(config.url, {"embeds": [embed], "allowed_mentions": {"parse": []}})

"""Gotify: a message to an application of a server of one's own."""

from typing import Annotated

from msgspec import Meta

from tsuzuki.model.requests import Ask
from tsuzuki.model.times import Millis
from tsuzuki.notifications.kinds.base import ChannelConfig, ChannelKind, Token, below, link_of, post
from tsuzuki.notifications.tasks import Send


class GotifyConfig(ChannelConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The server, the token of the application, and how loud it is."""

    url: Annotated[str, Meta(title="Server")]
    token: Annotated[Token, Meta(title="Application token", description="Gotify shows it under Apps.")]
    priority: Annotated[int, Meta(ge=0, le=10, title="Priority", description="From 0 (silent) to 10 (highest).")] = 5


class Gotify(ChannelKind[GotifyConfig]):
    """POST of a JSON document to `/message`."""

    name = "gotify"
    title = "Gotify"
    config = GotifyConfig

    def compose(self, config: GotifyConfig, send: Send, *, now: Millis) -> Ask:  # noqa: ARG002  # it has no signature
        """The message; a tap opens its page."""
        message, link = send.message, link_of(send.message)
        document = {"title": message.title, "message": message.text, "priority": config.priority} | (
            {"extras": {"client::notification": {"click": {"url": link}}}} if link else {}
        )
        return post(below(config.url, "message"), document, X_Gotify_Key=config.token)

"""Pushover: a message to the devices of a user or a group."""

from typing import Annotated

from msgspec import Meta

from tsuzuki.model.requests import Ask
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.notifications.kinds.base import ChannelConfig, ChannelKind, below, cut, link_of, post
from tsuzuki.notifications.tasks import Send

_LONGEST_TITLE, _LONGEST_TEXT, _LONGEST_LINK = 250, 1024, 512  # what Pushover takes
_KEY = r"^[A-Za-z0-9]{30}\Z"


class PushoverConfig(ChannelConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The recipient, the application that sends, and the priority."""

    url: Annotated[str, Meta(title="Server")] = "https://api.pushover.net/"
    token: Annotated[
        str,
        Meta(pattern=_KEY, title="Application token", description="Make an application on pushover.net to get one."),
    ]
    user: Annotated[str, Meta(pattern=_KEY, title="User key", description="Of you, or of a group.")]
    priority: Annotated[
        int, Meta(ge=-2, le=1, title="Priority", description="From -2 (no alert) to 1 (also in quiet hours).")
    ] = 0


class Pushover(ChannelKind[PushoverConfig]):
    """POST of a JSON document to `/1/messages.json`."""

    name = "pushover"
    title = "Pushover"
    config = PushoverConfig
    secrets = frozenset({"user"})

    def compose(self, config: PushoverConfig, send: Send, *, now: Millis) -> Ask:  # noqa: ARG002  # it has no signature
        """Dated when it was found."""
        message, link = send.message, link_of(send.message)
        document = {
            "token": config.token,
            "user": config.user,
            "title": cut(message.title, _LONGEST_TITLE),
            "message": cut(message.text, _LONGEST_TEXT),
            "priority": config.priority,
            "timestamp": message.at // SECOND,
        } | ({"url": link} if link and len(link) <= _LONGEST_LINK else {})
        return post(below(config.url, "1/messages.json"), document)

"""Slack, and what takes messages in its form, such as Mattermost: an incoming webhook."""

from typing import Annotated

from msgspec import Meta

from tsuzuki.model.requests import Ask
from tsuzuki.model.times import Millis
from tsuzuki.notifications.kinds.base import ChannelConfig, ChannelKind, cut, link_of, post
from tsuzuki.notifications.tasks import Send

_LONGEST = 3000


class SlackConfig(ChannelConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The address of the webhook; its path is the key."""

    url: Annotated[
        str,
        Meta(title="Webhook URL", description="In Slack: your app, Incoming Webhooks. Mattermost takes the same."),
    ]


class Slack(ChannelKind[SlackConfig]):
    """A text in Slack's markup, whose three special characters are escaped: nobody is called by what a source wrote."""

    name = "slack"
    title = "Slack"
    config = SlackConfig

    def compose(self, config: SlackConfig, send: Send, *, now: Millis) -> Ask:  # noqa: ARG002  # it has no signature
        """The title is the link where there is one."""
        message, link = send.message, link_of(send.message)
        title, text = _escaped(cut(message.title, _LONGEST)), _escaped(cut(message.text, _LONGEST))
        shown = f"<{_address(link)}|{title.replace('|', '¦')}>" if link else title
        return post(config.url, {"text": f"{shown}\n{text}", "unfurl_links": False})


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _address(link: str) -> str:
    """A link within `<...|...>` ends at either of these."""
    return _escaped(link).replace("|", "%7C")

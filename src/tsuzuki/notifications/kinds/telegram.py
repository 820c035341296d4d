"""Telegram: a message of a bot to a chat."""

from typing import Annotated

from msgspec import Meta

from tsuzuki.model.requests import Ask
from tsuzuki.model.times import Millis
from tsuzuki.notifications.kinds.base import ChannelConfig, ChannelKind, below, cut, link_of, post
from tsuzuki.notifications.tasks import Send

_LONGEST = 4096  # of a message; the Bot API refuses longer ones
_LINK = 2000


class TelegramConfig(ChannelConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The bot, and the chat that it writes to."""

    url: Annotated[str, Meta(title="Server", description="Change it only if you run a Bot API server yourself.")] = (
        "https://api.telegram.org/"
    )
    token: Annotated[
        str,
        Meta(
            pattern=r"^[0-9]{1,20}:[-_A-Za-z0-9]{10,100}\Z",
            title="Bot token",
            description="@BotFather gives you one when you make a bot.",
        ),
    ]
    chat: Annotated[
        str,
        Meta(
            pattern=r"^(-?[0-9]{1,20}|@[A-Za-z0-9_]{1,64})\Z",
            title="Chat",
            description="The number of the chat, or the @name of a channel. Write to your bot first.",
        ),
    ]
    silent: Annotated[bool, Meta(title="Without sound")] = False


class Telegram(ChannelKind[TelegramConfig]):
    """`sendMessage` as plain text: nothing that a source wrote is markup."""

    name = "telegram"
    title = "Telegram"
    config = TelegramConfig

    def compose(self, config: TelegramConfig, send: Send, *, now: Millis) -> Ask:  # noqa: ARG002  # it has no signature
        """The link stands below the text."""
        message, link = send.message, link_of(send.message)
        below_it = f"\n{link}" if link and len(link) <= _LINK else ""
        document = {
            "chat_id": config.chat,
            "text": cut(f"{message.title}\n{message.text}", _LONGEST - len(below_it)) + below_it,
            "disable_notification": config.silent,
        }
        return post(below(config.url, f"bot{config.token}/sendMessage"), document)

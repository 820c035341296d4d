"""The kinds of channels, one in each module. They are pure: they say what to send, and `net` sends it (I6)."""

from collections.abc import Mapping
from typing import Any, Final

from tsuzuki.notifications.kinds.base import ChannelKind
from tsuzuki.notifications.kinds.discord import Discord
from tsuzuki.notifications.kinds.gotify import Gotify
from tsuzuki.notifications.kinds.matrix import Matrix
from tsuzuki.notifications.kinds.ntfy import Ntfy
from tsuzuki.notifications.kinds.push import Push
from tsuzuki.notifications.kinds.pushover import Pushover
from tsuzuki.notifications.kinds.slack import Slack
from tsuzuki.notifications.kinds.telegram import Telegram
from tsuzuki.notifications.kinds.webhook import Webhook

_ALL: tuple[ChannelKind[Any], ...] = (
    Webhook(),
    Ntfy(),
    Gotify(),
    Telegram(),
    Discord(),
    Slack(),
    Matrix(),
    Pushover(),
    Push(),
)

KINDS: Final[Mapping[str, ChannelKind[Any]]] = {kind.name: kind for kind in _ALL}
"""Every kind there is, by its name, in the order of the page."""

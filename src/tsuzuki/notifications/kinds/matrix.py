"""Matrix: a message to a room, by an access token."""

from typing import Annotated
from urllib.parse import quote

import msgspec
from msgspec import Meta

from tsuzuki.model.requests import Ask
from tsuzuki.model.times import Millis
from tsuzuki.notifications.kinds.base import ChannelConfig, ChannelKind, below, cut, link_of, post
from tsuzuki.notifications.tasks import Send

_LONGEST = 16_000
"""An event has at most 64 KB, and a character at most four bytes."""


class MatrixConfig(ChannelConfig, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The homeserver, the account that writes, and the room."""

    url: Annotated[str, Meta(title="Homeserver", description="For example https://matrix.org/.")]
    token: Annotated[
        str,
        Meta(
            pattern=r"^[!-~]{1,500}\Z",
            title="Access token",
            description="Of the account that writes. In Element: Settings, Help & About.",
        ),
    ]
    room: Annotated[
        str,
        Meta(
            pattern=r"^![!-~]{1,250}\Z",
            title="Room",
            description="Its internal id, such as !abc:example.org; the account has joined it.",
        ),
    ]


class Matrix(ChannelKind[MatrixConfig]):
    """A notice under the id of the delivery: the server posts it once, however often it is sent."""

    name = "matrix"
    title = "Matrix"
    config = MatrixConfig

    def compose(self, config: MatrixConfig, send: Send, *, now: Millis) -> Ask:  # noqa: ARG002  # it has no signature
        """Plain text; `m.mentions` is empty, so text of a source mentions nobody."""
        message, link = send.message, link_of(send.message)
        text = cut(f"{message.title}\n{message.text}", _LONGEST) + (f"\n{cut(link, _LONGEST)}" if link else "")
        path = f"_matrix/client/v3/rooms/{quote(config.room, safe='')}/send/m.room.message/{send.delivery_id}"
        document = {"msgtype": "m.notice", "body": text, "m.mentions": {}}
        asked = post(below(config.url, path), document, authorization=f"Bearer {config.token}")
        return msgspec.structs.replace(asked, method="PUT")

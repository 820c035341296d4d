"""A page that asks before something goes, and says what goes along."""

from collections.abc import Mapping

import msgspec
from starlette.responses import Response

from tsuzuki.web.frame import Frame, Framing


class Asks(msgspec.Struct, frozen=True, kw_only=True):
    """What it asks, what goes along, where yes is posted to (with which fields), and where no leads."""

    title: str
    text: str
    yes: str
    no: str
    path: str
    back: str
    fields: Mapping[str, str] = {}


def ask_first(framing: Framing, frame: Frame, asks: Asks) -> Response:
    """The page."""
    return framing.show(frame, "confirm.html", asks=asks)

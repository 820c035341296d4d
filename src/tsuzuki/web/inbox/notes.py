"""What was just done to the list, told above it, with the way back."""

import msgspec
from starlette.datastructures import QueryParams

from tsuzuki.web.frame import Frame
from tsuzuki.web.ids import number_of
from tsuzuki.web.inbox.view import read_view
from tsuzuki.web.texts import ngettext


class Undo(msgspec.Struct, frozen=True):
    """A form that takes something back."""

    path: str
    fields: list[tuple[str, str]]


class InboxNotes(msgspec.Struct, frozen=True):
    """A sentence, and its undo."""

    text: str | None = None
    undo: Undo | None = None


def read_notes(query: QueryParams, frame: Frame) -> InboxNotes:
    """From the address that a mark led to; numbers only, so nothing of an address is ever shown."""
    count = number_of(query.get("marked"))
    if count is not None:
        moment = number_of(query.get("undo"))
        fields = [("undo", str(moment)), ("back", read_view(query).path())]
        undo = None if moment is None or count == 0 else Undo("/inbox/undo", fields)
        return InboxNotes(
            ngettext(
                "%(count)s entry marked read.",
                "%(count)s entries marked read.",
                count,
                count=frame.locale.number(count),
            ),
            undo,
        )
    count = number_of(query.get("undone"))
    return (
        InboxNotes()
        if count is None
        else InboxNotes(
            ngettext(
                "%(count)s entry marked unread again.",
                "%(count)s entries marked unread again.",
                count,
                count=frame.locale.number(count),
            )
        )
    )

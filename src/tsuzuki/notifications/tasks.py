"""The two steps of a notice as tasks: `notifications` finds the recipients, `channel-sends` sends to one channel."""

import hashlib
from typing import Final, Literal

import msgspec

from tsuzuki.model.harvest import Kind
from tsuzuki.model.ids import PublicId, show_id
from tsuzuki.model.times import Millis
from tsuzuki.queue.policy import NOTIFICATIONS
from tsuzuki.queue.tasks import NewTask, Queue

MessageType = Literal[
    "chapter.new",
    "chapters.new",
    "item.new",
    "items.new",
    "source.broken",
    "source.healed",
    "channel.test",
    "invoice.due",
    "invoice.disputed",
    "account.asleep",
    "account.closed",
]


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """Something new of which readers want notices."""

    kind: Kind
    of_id: int
    """The feed or the series."""
    installment_id: int | None
    """The item or chapter; None for a flood, which has one notice (REL-29)."""
    count: int = 1
    at: Millis
    """When it was delivered: only entries of that moment, or of a flood since then, are announced."""
    run_at: Millis | None = None
    """Not before: a flood is left to come in."""

    @property
    def key(self) -> str:
        """I2: `notify-chapter-{series}-{chapter}`; a flood by when it began."""
        if self.installment_id is None:
            return f"notify-{self.kind}-{self.of_id}-flood-{self.at}"
        return f"notify-{self.kind}-{self.of_id}-{self.installment_id}"

    def task(self) -> NewTask["Notice"]:
        """The task, to be enqueued in the transaction of what it announces."""
        return NewTask(self.key, self, run_at=self.run_at)


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """The message to a reader, for every kind of channel."""

    type: MessageType
    title: str
    """The feed, series or source, as the reader calls it."""
    text: str
    url: str | None = None
    """Where a person would read it at its source."""
    page: str | None = None
    """The page here that shows it: a path, which is sent as an address where this server knows its own."""
    number: str | None = None
    count: int = 1
    at: Millis


class Send(msgspec.Struct, frozen=True, kw_only=True):
    """One message for one channel."""

    channel_id: int
    delivery_id: str
    """Identical at every attempt, so that a receiver can recognise a repeat."""
    message: Message
    channel: str | None = None
    """Its public id: SQLite gives the number of a channel that is gone to the next one, maybe somebody else's."""

    def is_for(self, public_id: PublicId) -> bool:
        """Whether the channel of this number is still the one that was meant."""
        return self.channel is None or self.channel == show_id(public_id)

    def task(self) -> NewTask["Send"]:
        """The task to enqueue."""
        return NewTask(f"send-{self.delivery_id}", self)


NOTICES: Final = Queue("notifications", Notice, NOTIFICATIONS)
SENDS: Final = Queue("channel-sends", Send, NOTIFICATIONS)


def delivery_id(channel: PublicId, about: str) -> str:
    """A stable id for a channel and what is announced to it."""
    return f"msg_{hashlib.sha256(channel + about.encode()).hexdigest()[:32]}"

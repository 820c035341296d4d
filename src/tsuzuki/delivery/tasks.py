"""What is left of a delivery to many shelves, as a task: each portion enqueues the next (decision 0091)."""

from typing import Final

import msgspec

from tsuzuki.model.harvest import Kind
from tsuzuki.model.ids import ShelfId
from tsuzuki.model.times import Millis
from tsuzuki.notifications.tasks import Notice
from tsuzuki.queue.policy import DELIVERY
from tsuzuki.queue.tasks import NewTask, Queue

PORTION: Final = 5_000
"""Entries of one task, and of one transaction of ingest; then other deliveries have a turn."""

NO_LIMIT: Final = 2**62


class Reach(msgspec.Struct, frozen=True):
    """Whose turn it is: shelves after one and up to another, that followed before whoever is newer than `newest`."""

    after: int = 0
    upto: int = NO_LIMIT
    newest: int = NO_LIMIT
    """The highest id of a subscription or follow when it was stored: who came later got it with what was known."""


EVERYONE: Final = Reach()


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """New installments of one feed or series, and how far their delivery has come."""

    kind: Kind
    of_id: int
    installments: tuple[int, ...]
    is_quiet: bool
    at: Millis
    """When they were stored: who suspended later gets them."""
    arrived_at: Millis
    """What their entries say (R92)."""
    newest: int
    """See `Reach`."""
    available: int = 0
    """Chapters of a back-catalogue: shelves get an event and no entries (R8)."""
    notices: tuple[Notice, ...] = ()
    """For the end, when everyone has their entries; decided when they were stored."""
    is_notified: bool = False
    """Whether somebody who got something wants to be notified."""
    after: ShelfId = ShelfId(0)
    """The shelf that got it last."""

    @property
    def is_catalogue(self) -> bool:
        """Whether shelves only get an event."""
        return self.kind == "chapter" and self.is_quiet

    @property
    def key(self) -> str:
        """Its own, though SQLite gives the id of an item that is gone to the next one."""
        return f"{prefix_of(self.kind, self.of_id)}{self.installments[0]}-{self.at}"

    def task(self) -> NewTask["Delivery"]:
        """To be enqueued with what it delivers."""
        return NewTask(self.key, self)

    def places(self, most: int) -> int:
        """How many shelves can get theirs with at most so many entries, or events."""
        return most if self.is_catalogue else max(1, most // len(self.installments))


DELIVERIES: Final = Queue("delivery", Delivery, DELIVERY)


def prefix_of(kind: Kind, of_id: int) -> str:
    """How the keys of all deliveries of a feed or series begin."""
    return f"deliver-{kind}-{of_id}-"

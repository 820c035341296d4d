"""The two steps of a notice as tasks: `notifications` finds whom to tell, `channel-sends` tells one channel."""

from typing import Final, Literal

import msgspec

from tsuzuki.model.times import Millis
from tsuzuki.queue.policy import NOTIFICATIONS
from tsuzuki.queue.tasks import NewTask, Queue


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """Something new that readers want to hear of."""

    kind: Literal["item", "chapter"]
    of_id: int
    """The feed or the series."""
    installment_id: int | None
    """The item or chapter; None for a flood, which is told once (REL-29)."""
    count: int = 1
    at: Millis
    """When it was delivered: only entries of that moment are told of."""

    @property
    def key(self) -> str:
        """I2: `notify-chapter-{series}-{chapter}`; a flood by its moment."""
        if self.installment_id is None:
            return f"notify-{self.kind}-{self.of_id}-flood-{self.at}"
        return f"notify-{self.kind}-{self.of_id}-{self.installment_id}"

    def task(self) -> NewTask["Notice"]:
        """To be enqueued with what it tells of."""
        return NewTask(self.key, self)


NOTICES: Final = Queue("notifications", Notice, NOTIFICATIONS)

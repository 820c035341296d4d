"""The hub's work as tasks: `hub-checks` asks subscribers whether they meant it, `hub-pushes` sends them what is new."""

from typing import Final

import msgspec

from tsuzuki.inbox.feeds_out.types import HubSubscriptionId
from tsuzuki.model.ids import EntryId
from tsuzuki.model.times import MINUTE, SECOND, Millis
from tsuzuki.queue.policy import QueueSettings
from tsuzuki.queue.tasks import NewTask, Queue


class HubCheck(msgspec.Struct, frozen=True):
    """Asks a subscriber to confirm. Its addresses and secrets stay in its row: operators can see payloads of tasks."""

    subscription_id: HubSubscriptionId
    asked_at: Millis

    def task(self) -> NewTask["HubCheck"]:
        """The task, to be enqueued in the request's transaction."""
        return NewTask(f"check-{self.subscription_id}-{self.asked_at}", self)


class HubPush(msgspec.Struct, frozen=True, kw_only=True):
    """New entries for one subscriber."""

    subscription_id: HubSubscriptionId
    change: str
    """Names these entries as they are now."""
    entries: tuple[EntryId, ...]

    def task(self) -> NewTask["HubPush"]:
        """The task, to be enqueued when the entries are found."""
        return NewTask(f"push-{self.subscription_id}-{self.change}", self)


CHECKS: Final = Queue("hub-checks", HubCheck, QueueSettings(attempts=3))
PUSHES: Final = Queue(
    "hub-pushes",
    HubPush,
    QueueSettings(
        attempts=6, delays=(Millis(5 * SECOND), Millis(30 * SECOND), Millis(2 * MINUTE), Millis(10 * MINUTE))
    ),
)

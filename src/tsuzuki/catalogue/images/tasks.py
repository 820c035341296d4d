"""The queue of chapters to be kept."""

from typing import Final

import msgspec

from tsuzuki.model.times import MINUTE, SECOND, Millis
from tsuzuki.queue.policy import QueueSettings
from tsuzuki.queue.tasks import Queue


class CopyTask(msgspec.Struct, frozen=True):
    """Which copy is to be made whole."""

    copy_id: int


COPIES: Final[Queue[CopyTask]] = Queue(
    "keep-chapters",
    CopyTask,
    QueueSettings(
        attempts=6,
        delays=(Millis(10 * SECOND), Millis(30 * SECOND), Millis(2 * MINUTE), Millis(5 * MINUTE), Millis(15 * MINUTE)),
        concurrency=2,
    ),
)


def copy_key(copy_id: int) -> str:
    """One task for a copy, however many shelves want it."""
    return f"copy-{copy_id}"

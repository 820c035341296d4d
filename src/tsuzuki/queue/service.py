"""The service of queues: their state, dead letters, replay, pruning. Areas enqueue with `queue/tasks.py`."""

from tsuzuki.coord.wakeup import Wakeup
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.model.errors import Conflict
from tsuzuki.model.times import Millis
from tsuzuki.queue.leases import Clock
from tsuzuki.queue.policy import KEPT
from tsuzuki.queue.store import discard_tx, lock_letter_tx, prune_tx, queue_names_tx, replay_tx, stats_tx
from tsuzuki.queue.tasks import DeadLetter, DeadLetterId, Enqueued, LetterFilter, QueueStats, TaskId

q = load_queries("tsuzuki.queue")

ANY = LetterFilter()
_CHUNK = 500
_NEWEST = 2**62


class Tasks:
    """The queues of one database."""

    def __init__(self, db: Database, wakeup: Wakeup, clock: Clock) -> None:
        self._db = db
        self._wakeup = wakeup
        self._clock = clock

    async def stats(self) -> list[QueueStats]:
        """The state of every queue."""
        now = self._clock()
        return await self._db.read(lambda tx: stats_tx(tx, now=now))

    # -- dead letters

    async def letters(
        self, which: LetterFilter = ANY, *, most: int = 50, before: DeadLetterId | None = None
    ) -> list[DeadLetter]:
        """A page of those that nobody has dealt with, the newest first."""
        return await self._db.read(
            lambda tx: tx.many(DeadLetter, q.list_letters, **which.parameters(), most=most, before=before or _NEWEST)
        )

    async def letter(self, letter_id: DeadLetterId) -> DeadLetter:
        """The dead letter, open or not; NotFound if there is none."""
        return await self._db.read(lambda tx: tx.one(DeadLetter, q.find_letter, id=letter_id))

    async def replay(self, letter_id: DeadLetterId, *, run_at: Millis | None = None) -> TaskId:
        """The task that this letter became, now or when it was first replayed (R55); it is not tried before `run_at`.

        Conflict when it was discarded, or when another task with its key is queued or running.
        """
        now = self._clock()

        async def once(tx: Tx) -> tuple[TaskId, str]:
            letter = await lock_letter_tx(tx, letter_id)
            if letter.replayed_as is not None:
                return letter.replayed_as, letter.queue
            if letter.discarded_at is not None:
                raise Conflict(f"The dead letter {letter_id} was discarded.")
            [task] = await replay_tx(tx, [letter], now=now, run_at=run_at)
            if not task.is_new:
                raise Conflict(f"The task {task.id} with the same key is queued or running.")
            return task.id, letter.queue

        task_id, queue = await self._db.with_tx(once)
        self._wakeup.wake(queue)
        return task_id

    async def replay_all(self, which: LetterFilter = ANY) -> int:
        """Replay every open letter of this kind whose key is free; how many."""
        now, after, count = self._clock(), 0, 0

        async def some(tx: Tx) -> tuple[list[DeadLetter], list[Enqueued]]:
            # The next open letters by id, held until the end of the transaction.
            letters = await tx.many(DeadLetter, q.letters_to_replay, **which.parameters(), after=after, most=_CHUNK)
            return letters, await replay_tx(tx, letters, now=now)

        while True:
            letters, answers = await self._db.with_tx(some)
            if not letters:
                return count
            after = letters[-1].id
            count += sum(task.is_new for task in answers)
            self._wakeup.wake(*{letter.queue for letter in letters})

    async def discard(self, letter_id: DeadLetterId) -> bool:
        """Discard a dead letter; False when it was dealt with before."""
        now = self._clock()
        return await self._db.with_tx(lambda tx: discard_tx(tx, letter_id, now=now))

    async def discard_all(self, which: LetterFilter = ANY) -> int:
        """Discard every open letter of this kind; how many."""
        now = self._clock()
        return await self._db.with_tx(lambda tx: tx.run(q.discard_letters, **which.parameters(), now=now))

    # -- housekeeping

    async def prune(self) -> int:
        """Forget what R58 does not keep, in small transactions; how many rows."""
        now, count = self._clock(), 0
        for queue in await self._db.read(queue_names_tx):
            for status in KEPT:
                count += await self._prune(queue, status, now)
        while done := await self._db.with_tx(
            lambda tx: tx.run(q.prune_letters, before=now - KEPT["failed"].age, most=_CHUNK)
        ):
            count += done
        return count

    async def _prune(self, queue: str, status: str, now: Millis) -> int:
        count = 0
        while done := await self._db.with_tx(lambda tx: prune_tx(tx, queue, status, now=now, most=_CHUNK)):
            count += done
        return count

"""Dead letters and queues, as the operator manages them; every action is in the audit log."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from tsuzuki.accounts.audit import AuditEvent, masked, record_tx
from tsuzuki.accounts.types import Actor
from tsuzuki.db import Database
from tsuzuki.model.errors import NotFound
from tsuzuki.model.times import Millis
from tsuzuki.notifications.sender import paused_until_tx
from tsuzuki.notifications.tasks import SENDS
from tsuzuki.queue.service import Tasks
from tsuzuki.queue.tasks import DeadLetter, DeadLetterId, LetterFilter, QueueStats, TaskId

ENTITY = "deadletter"
_LOOKED_AT = 100


class DeadLetters:
    """The dead letters of every queue."""

    def __init__(self, db: Database, tasks: Tasks, clock: Callable[[], Millis]) -> None:
        self._db = db
        self._tasks = tasks
        self._clock = clock

    async def list(self, which: LetterFilter, *, most: int, before: DeadLetterId | None) -> Sequence[DeadLetter]:
        """Open ones, the newest first."""
        return await self._tasks.letters(which, most=most, before=before)

    async def get(self, letter_id: DeadLetterId) -> tuple[DeadLetter, Any]:
        """One, and what it carried, with its secrets masked."""
        letter = await self._letter(letter_id)
        return letter, _shown(letter.payload)

    async def not_before(self, letter: DeadLetter) -> Millis | None:
        """Until when the channel of a message is paused; None where nothing is waited for."""
        now = self._clock()
        return await self._db.read(lambda tx: paused_until_tx(tx, letter.queue, letter.payload, now))

    async def replay(self, actor: Actor, letter_id: DeadLetterId) -> tuple[TaskId, Millis | None]:
        """The task that it became (R55), and when it is tried, if not at once."""
        not_before = await self.not_before(await self._letter(letter_id))
        task = await self._tasks.replay(letter_id, run_at=not_before)
        await self._record(actor, "replay", str(letter_id), {"taskid": task})
        return task, not_before

    async def discard(self, actor: Actor, letter_id: DeadLetterId) -> None:
        """Discard it; a second time does nothing."""
        await self._letter(letter_id)
        if await self._tasks.discard(letter_id):
            await self._record(actor, "discard", str(letter_id), {})

    async def replay_all(self, actor: Actor, which: LetterFilter) -> tuple[int, Millis | None]:
        """How many were queued again, and when the last of them is tried, if not at once."""
        not_before = await self._paused_until(which)
        count = await self._tasks.replay_all(which)
        await self._record(actor, "replay", "*", {**which.parameters(), "count": count})
        return count, not_before

    async def discard_all(self, actor: Actor, which: LetterFilter) -> int:
        """How many were discarded."""
        count = await self._tasks.discard_all(which)
        await self._record(actor, "discard", "*", {**which.parameters(), "count": count})
        return count

    async def queues(self) -> Sequence[QueueStats]:
        """The state of every queue, by name."""
        return await self._tasks.stats()

    async def _paused_until(self, which: LetterFilter) -> Millis | None:
        """Until when the channels of letters of this kind rest, as the newest letters say."""
        if which.queue not in (None, SENDS.name):
            return None
        sends = await self._tasks.letters(msgspec.structs.replace(which, queue=SENDS.name), most=_LOOKED_AT)
        rests = [await self.not_before(letter) for letter in sends]
        return max((until for until in rests if until is not None), default=None)

    async def _letter(self, letter_id: DeadLetterId) -> DeadLetter:
        try:
            return await self._tasks.letter(letter_id)
        except NotFound:
            raise NotFound("Dead letter not found") from None

    async def _record(self, actor: Actor, verb: str, entity_id: str, after: Mapping[str, Any]) -> None:
        now = self._clock()
        audit_event = AuditEvent(f"{ENTITY}.{verb}", ENTITY, entity_id, after=after)
        await self._db.with_tx(lambda tx: record_tx(tx, actor, audit_event, now=now))


def _shown(payload: str) -> Any:
    """R58: what does not decode is shown as the text that it is."""
    try:
        decoded = msgspec.json.decode(payload)
    except msgspec.DecodeError:
        return payload
    return masked(decoded) if isinstance(decoded, dict) else decoded

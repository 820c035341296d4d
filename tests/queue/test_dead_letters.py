"""R55: dead letters are listed, replayed and discarded, each at most once."""

import asyncio

import pytest

from tests.queue.builders import NOTES, Effects, Note, QueueHarness, a_queue
from tsuzuki.model.errors import Conflict, NotFound
from tsuzuki.queue.errors import NotRetryable
from tsuzuki.queue.tasks import DeadLetter, DeadLetterId, LetterFilter, NewTask, Task


class Refusing:
    async def handle(self, task: Task[Note]) -> None:
        if task.payload.manner == "badly":
            raise NotRetryable("never")
        raise LookupError("perhaps")


async def given_up(
    harness: QueueHarness, *numbers: int, queue_name: str = "notes", manner: str = "badly"
) -> list[DeadLetter]:
    """Dead letters, the oldest first."""
    queue = a_queue(queue_name, attempts=1, concurrency=1)
    await harness.enqueue(*numbers, queue=queue, manner=manner)
    async with harness.working(Refusing(), queue):
        await harness.until_all_are("failed")
    return (await harness.tasks.letters(LetterFilter(queue=queue_name)))[::-1]


async def test_a_replayed_letter_uses_its_own_payload(harness):
    [letter] = await given_up(harness, 1)
    task_id = await harness.tasks.replay(letter.id)
    row = await harness.tasks.find(task_id)
    assert (row.queue, row.key, row.status, row.attempts, row.losses) == ("notes", "1", "queued", 0, 0)
    async with harness.working(Effects(harness.db)):
        await harness.until(lambda: _has_effects(harness, ["1"]))
    assert await harness.tasks.letters() == []


async def _has_effects(harness: QueueHarness, keys: list[str]) -> bool:
    return await harness.effects() == keys


async def test_replaying_is_idempotent(harness):
    [letter] = await given_up(harness, 1)
    ids = set(await asyncio.gather(*(harness.tasks.replay(letter.id) for _ in range(10))))
    async with harness.working(Effects(harness.db)):
        await harness.until(lambda: _has_effects(harness, ["1"]))
    ids.add(await harness.tasks.replay(letter.id))
    assert ids == {(await harness.tasks.letter(letter.id)).replayed_as}
    assert await harness.tasks.replay_all() == 0
    assert await harness.effects() == ["1"]


async def test_all_are_replayed_once_however_many_people_ask_at_once(harness):
    await given_up(harness, *range(30))
    counts = await asyncio.gather(*(harness.tasks.replay_all() for _ in range(4)))
    assert sum(counts) == 30
    async with harness.working(Effects(harness.db)):
        await harness.until(lambda: _has_effects(harness, sorted(str(number) for number in range(30))))


async def test_letters_are_filtered_replayed_and_discarded(harness):
    await given_up(harness, 1, 2)
    await given_up(harness, 3, manner="oddly")
    await given_up(harness, 4, queue_name="others")
    assert [letter.key for letter in await harness.tasks.letters()] == ["4", "3", "2", "1"]
    assert [letter.key for letter in await harness.tasks.letters(LetterFilter(error_code="LookupError"))] == ["3"]
    assert await harness.tasks.replay_all(LetterFilter(queue="notes", error_code="not_retryable")) == 2
    assert await harness.tasks.discard_all(LetterFilter(key="4")) == 1
    assert [letter.key for letter in await harness.tasks.letters()] == ["3"]


async def test_a_page_of_letters_ends_where_the_next_begins(harness):
    await given_up(harness, *range(5))
    first = await harness.tasks.letters(most=2)
    second = await harness.tasks.letters(most=2, before=first[-1].id)
    third = await harness.tasks.letters(most=2, before=second[-1].id)
    assert [letter.key for letter in first + second + third] == ["4", "3", "2", "1", "0"]


async def test_a_letter_with_a_busy_key_stays_open(harness):
    [letter] = await given_up(harness, 1)
    [busy] = await harness.tasks.enqueue_many(NOTES, [NewTask("1", Note(2))])
    with pytest.raises(Conflict, match=str(busy.id)):
        await harness.tasks.replay(letter.id)
    assert await harness.tasks.replay_all() == 0
    assert [open_letter.id for open_letter in await harness.tasks.letters()] == [letter.id]


async def test_a_discarded_letter_is_kept_but_neither_listed_nor_replayed(harness):
    [letter] = await given_up(harness, 1)
    assert await harness.tasks.discard(letter.id)
    assert not await harness.tasks.discard(letter.id)
    assert await harness.tasks.letters() == []
    assert (await harness.tasks.letter(letter.id)).discarded_at is not None
    with pytest.raises(Conflict, match="discarded"):
        await harness.tasks.replay(letter.id)


async def test_a_letter_that_never_was_is_not_found(harness):
    with pytest.raises(NotFound):
        await harness.tasks.replay(DeadLetterId(99))


async def test_a_letter_that_fails_again_is_another_letter(harness):
    [letter] = await given_up(harness, 1)
    await harness.tasks.replay(letter.id)
    async with harness.working(Refusing(), a_queue(attempts=1)):
        await harness.until_all_are("failed")
    [again] = await harness.tasks.letters()
    assert again.id != letter.id
    assert again.key == "1"

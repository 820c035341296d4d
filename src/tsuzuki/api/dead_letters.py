"""Dead letters and queues, for the operator. Field names as in the crawler's domain."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from tsuzuki.accounts.caller import Caller
from tsuzuki.api.endpoints import Access, Body, Id, QueryParameters, declaring
from tsuzuki.api.ids import number_id
from tsuzuki.api.views import ListAnswer, Time, shown, view_of
from tsuzuki.crawler.dead_letters import DeadLetters
from tsuzuki.crawler.figures import Figures
from tsuzuki.model.errors import Conflict, NotFound
from tsuzuki.queue.tasks import DeadLetter, DeadLetterId, LetterFilter, QueueStats

Word = Annotated[str, Meta(max_length=500)]
LetterPath = Annotated[DeadLetterId, number_id("Dead letter not found")]


class LetterQuery(QueryParameters, frozen=True, kw_only=True):
    """Which open dead letters; `before` is the `nextcursor` of the page before."""

    queue: Word | None = None
    code: Word | None = None
    key: Word | None = None
    before: Id | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class LetterFilterBody(Body, frozen=True, kw_only=True):
    """Which open dead letters; what is left out matches all."""

    queue: Word | None = None
    code: Word | None = None
    key: Word | None = None


class LetterView(msgspec.Struct, frozen=True, kw_only=True):
    """A task that was given up."""

    id: int
    taskid: int
    queue: str
    key: str
    error: str
    code: str
    attempts: int
    firstfailedat: Time
    lastfailedat: Time
    replayedat: Time | None
    replayedas: int | None
    discardedat: Time | None


class FullLetterView(LetterView, frozen=True, kw_only=True):
    """A dead letter with its payload, secrets masked, and where it failed."""

    payload: Any
    stack: str


_letter_view = view_of(LetterView, DeadLetter, code="error_code")
_full_letter_view = view_of(FullLetterView, DeadLetter, "payload", code="error_code")


class LetterMeta(msgspec.Struct, frozen=True):
    """The cursor of the next page; null at the end."""

    nextcursor: int | None


class ReplayView(msgspec.Struct, frozen=True):
    """The new task of a dead letter; `notbefore` is when it is tried, if its channel is paused."""

    taskid: int
    notbefore: Time | None


class CountView(msgspec.Struct, frozen=True):
    """How many dead letters there were."""

    count: int


class ReplayedView(msgspec.Struct, frozen=True, omit_defaults=True):
    """How many dead letters were replayed; `notbefore` is when those for a paused channel are sent."""

    count: int
    notbefore: Time | None = None


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a queue. `rate` is what was finished in the last minute, `failures` is of the last hour."""

    queue: str
    depth: int
    due: int
    scheduled: int
    running: int
    oldestdueat: Time | None
    rate: int
    failures: int
    deadletters: int


_queue_view = view_of(QueueView, QueueStats, rate="finished_last_minute", failures="failed_last_hour")


async def list_dead_letters(query: LetterQuery, letters: DeadLetters) -> ListAnswer[LetterView, LetterMeta]:
    """Open dead letters, newest first."""
    which = LetterFilter(query.queue, query.code, query.key)
    before = None if query.before is None else DeadLetterId(query.before)
    rows = await letters.list(which, most=query.limit, before=before)
    place = rows[-1].id if len(rows) == query.limit else None
    return ListAnswer([_letter_view(row) for row in rows], LetterMeta(place))


async def show_dead_letter(letter_id: LetterPath, letters: DeadLetters) -> FullLetterView:
    """One dead letter, open or not."""
    letter, payload = await letters.get(letter_id)
    return _full_letter_view(letter, payload=payload)


async def replay_dead_letter(letter_id: LetterPath, caller: Caller, letters: DeadLetters) -> ReplayView:
    """Queues its task again. If it was replayed before, returns the same task."""  # R55
    task, not_before = await letters.replay(caller.actor, letter_id)
    return ReplayView(task, shown(not_before))


async def discard_dead_letter(letter_id: LetterPath, caller: Caller, letters: DeadLetters) -> None:
    """Closes a dead letter without replaying it."""
    await letters.discard(caller.actor, letter_id)


async def replay_dead_letters(caller: Caller, body: LetterFilterBody, letters: DeadLetters) -> ReplayedView:
    """Queues the task of every open dead letter that matches."""
    count, not_before = await letters.replay_all(caller.actor, _which(body))
    return ReplayedView(count, shown(not_before))


async def discard_dead_letters(caller: Caller, body: LetterFilterBody, letters: DeadLetters) -> CountView:
    """Discards every open dead letter that matches."""
    return CountView(await letters.discard_all(caller.actor, _which(body)))


async def list_queues(figures: Figures) -> list[QueueView]:
    """Polling first (`poll-source`), then the task queues by name."""
    return [_queue_view(stats) for stats in await figures.queues()]


def _which(body: LetterFilterBody) -> LetterFilter:
    return LetterFilter(body.queue, body.code, body.key)


_admin = declaring("queues", Access.ADMIN)
_ALL = "/admin/deadletters"
_ONE = "/admin/deadletters/{letter_id}"

ENDPOINTS = (
    _admin("GET", _ALL, list_dead_letters, "List dead letters"),
    _admin("POST", f"{_ALL}/replay", replay_dead_letters, "Replay many dead letters"),
    _admin("POST", f"{_ALL}/discard", discard_dead_letters, "Discard many dead letters"),
    _admin("GET", _ONE, show_dead_letter, "Show a dead letter", errors=(NotFound,)),
    _admin("POST", f"{_ONE}/replay", replay_dead_letter, "Replay a dead letter", errors=(NotFound, Conflict)),
    _admin("POST", f"{_ONE}/discard", discard_dead_letter, "Discard a dead letter", errors=(NotFound,)),
    _admin("GET", "/admin/queues", list_queues, "List queues"),
)

"""`Tx`, the verbs inside a transaction, and the rule that its functions await nothing else.

A `*_tx` function is a coroutine whose awaits all end in a verb of its `Tx`. Where the engine can answer at once
(SQLite) the verb never suspends; where it cannot (PostgreSQL, or a read that a thread does) the verb gives a
`Statement` to the driver and gets the answer back. So the same function runs on SQLite's writer thread and on the event
loop, and an await of anything but the transaction is seen, and refused, at the moment it happens.
"""

import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Mapping
from typing import Any, TypeVar

from tsuzuki.db.errors import MisuseError
from tsuzuki.db.queries import Engine, EngineSql, Query
from tsuzuki.db.rows import PLAIN, bindable, json_batch, reader
from tsuzuki.db.vault import NO_KEY, Vault
from tsuzuki.model.errors import NotFound

T = TypeVar("T")
Work = Callable[["Tx"], Coroutine[Any, Any, T]]
Params = Mapping[str, Any]

CLOSING_ATTEMPTS = 10

Answer = tuple[list[Any], int]
"""What a statement brought: its rows, and how many it touched."""

Execute = Callable[[Query, Params], Answer | None]
"""Answers at once, or None: then the driver is asked."""


class Statement:
    """One query with its parameters, on its way to the driver."""

    __slots__ = ("params", "query")

    def __init__(self, query: Query, params: Params) -> None:
        self.query = query
        self.params = params

    def __await__(self) -> Generator["Statement", Answer, Answer]:
        return (yield self)


def arguments(query: Query, text: EngineSql, params: Params) -> tuple[Any, ...]:
    """The values in the order of the text's parameters; MisuseError names those that are missing or not taken."""
    try:
        values = text.pick(params)
    except KeyError:
        raise _mismatch(query, text.params, params) from None
    if len(values) != len(params):
        raise _mismatch(query, text.params, params)
    for value in values:
        if type(value) not in PLAIN:
            return tuple(map(bindable, values))
    return values


def _mismatch(query: Query, names: tuple[str, ...], params: Params) -> MisuseError:
    missing = ", ".join(name for name in names if name not in params)
    extra = ", ".join(name for name in params if name not in names)
    parts = [f"misses {missing}"] if missing else []
    parts += [f"does not take {extra}"] if extra else []
    return MisuseError(f"{query.name} {' and '.join(parts)}")


def _nothing(query: Query) -> NotFound:
    """In words for people, who may have lost a race with whoever removed it; which query it was is in the trace."""
    error = NotFound("It no longer exists.")
    error.add_note(f"{query.name} found nothing.")
    return error


class Tx:
    """The verbs inside a transaction. It is handed to a function by `with_tx` and is of no use elsewhere."""

    __slots__ = ("_at_end", "_execute", "_failure", "engine", "is_awaited", "locks", "vault")

    engine: Engine
    vault: Vault
    """What seals secrets before they are written; rows are opened as they are read."""
    locks: dict[tuple[int, int | str], tuple[Any, bool]]
    """What `db.locks` took of its kind and key, and whether together with others."""
    is_awaited: Callable[[], bool]
    """Whether others wait for the end of this transaction; where that cannot be known they may."""
    _at_end: dict[Callable[["Tx", Any], Awaitable[None]], list[Any]]
    _execute: Execute
    _failure: BaseException | None

    def at_end(self, work: Callable[["Tx", list[T]], Awaitable[None]], values: Iterable[T]) -> None:
        """Have this done right before the commit, once, with all that it was asked to do in this transaction."""
        self._at_end.setdefault(work, []).extend(values)

    async def one(self, row: type[T], query: Query, /, **params: Any) -> T:
        """The first row, else NotFound."""
        rows, _ = self._answer(query, params) or await self._ask(query, params)
        if not rows:
            raise _nothing(query)
        return reader(row, self.vault)(rows[0])

    async def maybe(self, row: type[T], query: Query, /, **params: Any) -> T | None:
        """The first row, or None."""
        rows, _ = self._answer(query, params) or await self._ask(query, params)
        return reader(row, self.vault)(rows[0]) if rows else None

    async def many(self, row: type[T], query: Query, /, **params: Any) -> list[T]:
        """All rows."""
        rows, _ = self._answer(query, params) or await self._ask(query, params)
        return list(map(reader(row, self.vault), rows))

    async def run(self, query: Query, /, **params: Any) -> int:
        """How many rows it touched."""
        _, touched = self._answer(query, params) or await self._ask(query, params)
        return touched

    async def bulk(self, row: type[T], query: Query, rows: Iterable[Any], /, **params: Any) -> list[T]:
        """One statement for a whole batch: `:rows` is a JSON array, read by `json_each(:rows)`; bytes go as hex.

        A key that stands twice in a batch is the caller's to resolve: PostgreSQL refuses to update a row twice.
        """
        return await self.many(row, query, rows=json_batch(rows), **params)

    def _answer(self, query: Query, params: Params) -> Answer | None:
        """What the engine says at once; None when the driver is to be asked."""
        if _standing.drive is not self:
            raise MisuseError(f"{query.name} was called outside the function that its transaction was given to")
        if self._failure is not None:
            raise MisuseError(f"{query.name} was called after an error had ended its transaction") from self._failure
        try:
            return self._execute(query, params)
        except BaseException as error:
            self._failure = error
            raise

    async def _ask(self, query: Query, params: Params) -> Answer:
        try:
            return await Statement(query, params)
        except BaseException as error:
            self._failure = error
            raise


def _ask_the_driver(_query: Query, _params: Params) -> None:
    return None


def _maybe() -> bool:
    return True


class _Ended(BaseException):
    """Raised in a function whose transaction ended before it did."""


class TxDriver(Tx):
    """The same transaction as its engine sees it: steps the function through its statements.

    `start`, `answer` and `fail` give the next statement, or None once the function has returned; then `result` holds
    what it returned. A function that got a failure may do what it likes: nothing will be committed.
    """

    __slots__ = ("_coroutine", "result")

    def __init__(
        self, work: Work[T], engine: Engine, execute: Execute = _ask_the_driver, *, vault: Vault = NO_KEY
    ) -> None:
        if _standing.drive is not None:
            refuse_nesting()
        self.engine = engine
        self.vault = vault
        self.locks = {}
        self.is_awaited = _maybe
        self._at_end = {}
        self._execute = execute
        self._failure = None
        self.result: Any = None
        self._coroutine = self._to_the_end(work)

    async def _to_the_end(self, work: Work[T]) -> T:
        result = await work(self)
        if self._failure is None:
            for last, values in self._at_end.items():
                await last(self, values)
        return result

    def start(self) -> Statement | None:
        """Run the function up to its first statement."""
        return self._step(self._coroutine.send, None)

    def answer(self, answer: Answer) -> Statement | None:
        """Give it the answer, and run it up to its next statement."""
        return self._step(self._coroutine.send, answer)

    def fail(self, error: Exception) -> Statement | None:
        """The next statement of a function that does not let this error rise."""
        return self._step(self._coroutine.throw, error)

    def answer_by(self, execute: Execute) -> None:
        """Run the statements by `execute` from now on."""
        self._execute = execute

    def refuse(self, message: str) -> MisuseError:
        """The error for what may not be done in here; swallowing it does not save the transaction."""
        self._failure = MisuseError(message)
        return self._failure

    def close(self) -> None:
        """End the function where it stands; verbs in its `finally` are not run, and its errors are dropped.

        Not by its own `close`: that leaves an asynchronous generator (a context manager) where it awaits, for the event
        loop to find "already running", and never runs its `finally`.
        """
        self._execute = _ask_the_driver  # which may hold whoever holds us
        for _ in range(CLOSING_ATTEMPTS):
            try:
                self._coroutine.throw(_Ended)
            except (_Ended, Exception):  # noqa: BLE001  also where it had ended already
                return

    def _step(self, resume: Callable[[Any], Any], value: Any) -> Statement | None:
        _standing.drive = self
        try:
            wanted = resume(value)
            while type(wanted) is not Statement:
                wanted = self._refuse_await(wanted)
        except StopIteration as stop:
            if self._failure is not None:
                # REL-41: a function that swallows an error would commit half of its work.
                message = f"an error inside a transaction was swallowed, so it was rolled back: {self._failure}"
                raise MisuseError(message) from self._failure
            self.result = stop.value
            return None
        finally:
            _standing.drive = None
        return wanted

    def _refuse_await(self, wanted: object) -> Any:
        if hasattr(wanted, "_asyncio_future_blocking"):
            wanted._asyncio_future_blocking = False  # noqa: SLF001  how a future is told that nobody waits for it
        error = self.refuse(f"a transaction awaits only its own verbs, not {type(wanted).__name__}")
        return self._coroutine.throw(error)


class _Standing(threading.local):
    """The function that this thread is running at the moment."""

    drive: TxDriver | None = None


_standing = _Standing()


def refuse_inside(message: str) -> None:
    """MisuseError while a transaction's function runs on this thread."""
    if _standing.drive is not None:
        raise _standing.drive.refuse(message)


def refuse_nesting() -> None:
    """MisuseError when a transaction or a read is begun inside a transaction's function."""
    refuse_inside("a transaction was begun inside a transaction: join it by calling the *_tx function")

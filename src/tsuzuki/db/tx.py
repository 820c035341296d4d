"""A transaction as its functions see it, and the rule that they await nothing else.

A `*_tx` function is a coroutine whose awaits end in a `Statement`. The engine's driver receives each statement, runs
it, and sends the answer back in. The functions therefore run unchanged on SQLite's writer thread and on the event
loop with PostgreSQL, and an await of anything but the transaction is seen, and refused, at the moment it happens.
"""

import threading
from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping
from typing import Any, TypeVar

import msgspec

from tsuzuki.db.errors import MisuseError
from tsuzuki.db.queries import Engine, Query
from tsuzuki.db.rows import Raw, bindable, reader
from tsuzuki.model.errors import NotFound

T = TypeVar("T")
Work = Callable[["Tx"], Coroutine[Any, Any, T]]


class Answer(msgspec.Struct, frozen=True):
    """What a statement brought: its rows, and how many it touched."""

    rows: list[Raw]
    touched: int


class Statement:
    """One query with its parameters, on its way to the driver."""

    __slots__ = ("params", "query")

    def __init__(self, query: Query, params: Mapping[str, Any]) -> None:
        self.query = query
        self.params = params

    def __await__(self) -> Generator["Statement", Answer, Answer]:
        return (yield self)

    def arguments(self, names: tuple[str, ...]) -> tuple[Any, ...]:
        """The values in the order of `names`; MisuseError when they are not exactly those."""
        if len(names) != len(self.params):
            raise self._mismatch(names)
        try:
            return tuple([bindable(self.params[name]) for name in names])
        except KeyError:
            raise self._mismatch(names) from None

    def _mismatch(self, names: tuple[str, ...]) -> MisuseError:
        return MisuseError(f"{self.query.name} takes {', '.join(names) or 'nothing'}; got {', '.join(self.params)}")


class Tx:
    """The verbs inside a transaction. It is handed to a function by `with_tx` and is of no use after it."""

    __slots__ = ("engine",)

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    async def one(self, row: type[T], query: Query, /, **params: Any) -> T:
        """Exactly one row, else NotFound."""
        found = await self.maybe(row, query, **params)
        if found is None:
            raise NotFound(f"{query.name} found nothing.")
        return found

    async def maybe(self, row: type[T], query: Query, /, **params: Any) -> T | None:
        """The first row, or None."""
        rows = (await Statement(query, params)).rows
        return reader(row)(rows[0]) if rows else None

    async def many(self, row: type[T], query: Query, /, **params: Any) -> list[T]:
        """All rows."""
        rows = (await Statement(query, params)).rows
        return [build(raw) for build in (reader(row),) for raw in rows]

    async def run(self, query: Query, /, **params: Any) -> int:
        """How many rows it touched."""
        return (await Statement(query, params)).touched

    async def bulk(self, row: type[T], query: Query, rows: Iterable[Any], /, **params: Any) -> list[T]:
        """One statement for a whole batch: `:rows` is a JSON array, read by `json_each(:rows)`. Bytes go as hex."""
        batch = msgspec.json.encode(list(rows), enc_hook=_as_json).decode()
        return await self.many(row, query, rows=batch, **params)


def _as_json(value: object) -> Any:
    raise NotImplementedError(f"a batch cannot carry {type(value).__name__}")


class Drive:
    """Steps a function through its statements and remembers whether one of them failed.

    `next_statement` gives the next one, or None once the function has returned; then `result` holds what it returned.
    """

    def __init__(self, work: Work[T], engine: Engine) -> None:
        if inside():
            raise MisuseError("with_tx inside with_tx: join the transaction by calling the *_tx function")
        self._coroutine = work(Tx(engine))
        self._failure: BaseException | None = None
        self.result: Any = None

    def start(self) -> Statement | None:
        """The first statement."""
        return self._step(lambda: self._coroutine.send(None))

    def answer(self, answer: Answer) -> Statement | None:
        """The next statement, after this answer."""
        return self._step(lambda: self._coroutine.send(answer))

    def fail(self, error: Exception) -> Statement | None:
        """The next statement of a function that was told of a failure: whatever it does, nothing will be committed."""
        self._failure = error
        return self._step(lambda: self._coroutine.throw(error))

    def close(self) -> None:
        """End the function where it stands."""
        self._coroutine.close()

    def _step(self, resume: Callable[[], Any]) -> Statement | None:
        _standing.inside = True
        try:
            wanted = resume()
            while not isinstance(wanted, Statement):
                wanted = self._refuse_await(wanted)
        except StopIteration as stop:
            if self._failure is not None:
                # REL-41: a function that swallows an error would commit half of its work.
                raise MisuseError("an error inside a transaction was swallowed; it was rolled back") from self._failure
            self.result = stop.value
            return None
        finally:
            _standing.inside = False
        return wanted

    def _refuse_await(self, wanted: object) -> Any:
        self._failure = MisuseError(f"a transaction awaits only its own verbs, not {type(wanted).__name__}")
        if hasattr(wanted, "_asyncio_future_blocking"):
            wanted._asyncio_future_blocking = False
        return self._coroutine.throw(self._failure)


class _Standing(threading.local):
    """Whether this thread is running a transaction's function at this very moment."""

    inside = False


_standing = _Standing()


def inside() -> bool:
    """True while a transaction's function runs on this thread."""
    return _standing.inside

"""Reads on the event loop itself: what is quick is not worth a thread, nor two hand-overs of the interpreter's lock.

Each has `PATIENCE_S`, looked at every `STEPS` of SQLite's machine: whatever the plan, the rows or the disk do, the loop
waits no longer. What is not ready by then is left to a thread, and goes there at once for a while.
"""

import time

import apsw

from tsuzuki.db.errors import MisuseError
from tsuzuki.db.queries import Query
from tsuzuki.db.sqlite_file import UNBINDABLE
from tsuzuki.db.tx import Answer, Params, arguments

PATIENCE_S = 0.002
"""About what it takes to render a page, which holds the loop as well."""
STEPS = 1000
"""Some ten microseconds."""
REMEMBERED_S = 1.0
"""Short: to try a slow one each second costs little."""
EXCUSED_S = 0.1
"""How long a statement goes to a thread after its first late answer: it may only have met a busy machine."""


class InlineReader:
    """Answers what takes no longer than `PATIENCE_S`. For one event loop."""

    def __init__(self, connection: apsw.Connection) -> None:
        connection.set_busy_timeout(0)
        connection.set_progress_handler(self._is_late, STEPS)
        self._connection = connection
        self._cursor = connection.cursor()
        self.has_worked = False
        """Set by what is more than a lookup by key: whoever reads on and on gives way to others in between."""
        self._end = 0.0
        self._slow: dict[str, float] = {}
        """Until when these texts are not tried."""

    def read(self, query: Query, params: Params) -> Answer | None:
        """The rows; None when a thread is to do it: it takes long, or the file is busy and the loop may not wait."""
        if query.writes:
            raise writes(query)
        text = query.sqlite
        now = time.monotonic()
        until = self._slow.get(text.sql)
        if until is not None and until > now and not query.inline:
            return None
        values = arguments(query, text, params)
        self._end = now + PATIENCE_S
        self.has_worked |= not query.inline
        try:  # as `fetch` does: in a read of five microseconds every call is felt
            rows = self._cursor.execute(text.sql, values).fetchall()
        except apsw.InterruptError:
            self._slow[text.sql] = now + (EXCUSED_S if until is None else REMEMBERED_S)
            return None
        except (apsw.Error, *UNBINDABLE):
            return None  # a thread may wait for the file, and says what is wrong if it is not that
        if until is not None:
            del self._slow[text.sql]
        return rows, 0

    def release_memory(self) -> None:
        """Let go of the pages that were read."""
        self._connection.release_memory()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _is_late(self) -> bool:
        return time.monotonic() > self._end


def writes(query: Query) -> MisuseError:
    """What is said of a query that has no place in a read."""
    return MisuseError(f"{query.name} writes; call it in with_tx")

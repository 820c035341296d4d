"""The loop that looks for what is new on shelves, soon after something happened on one."""

from collections.abc import Awaitable, Callable

import structlog

from tsuzuki.coord.wakeup import Listener, Wakeup
from tsuzuki.model.errors import Unavailable
from tsuzuki.shelves.events import EVENTS_WAKEUP
from tsuzuki.worker.loops import Loop

GATHER_S = 1.0
"""Seconds in which wake-ups are gathered into one look."""
FLOOR_S = 60.0
"""How long it sleeps at most: wake-ups of other processes may be lost."""

_log = structlog.stdlib.get_logger("tsuzuki.worker")


class NewsLoop(Loop):
    """Calls `look` when something happened on some shelf, at most once a second, and every minute."""

    def __init__(self, look: Callable[[], Awaitable[int]], wakeup: Wakeup) -> None:
        self._look = look
        self._wakeup = wakeup
        self._is_stopping = False
        self._listener = self._pause = Listener()

    def stop(self) -> None:
        """Look no more."""
        self._is_stopping = True
        self._listener.wake()
        self._pause.wake()

    async def run(self, *, patience: float = 0.0) -> None:
        """Look until `stop`."""
        del patience
        with self._wakeup.listen(EVENTS_WAKEUP) as self._listener:
            while not self._is_stopping:
                await self._try()
                if await self._listener.wait(FLOOR_S) and not self._is_stopping:
                    await self._pause.wait(GATHER_S)

    async def _try(self) -> None:
        try:
            await self._look()
        except Unavailable as error:
            _log.warning("news_unavailable", reason=str(error))
        except Exception:  # noqa: BLE001  the top of a worker's loop, which must go on
            _log.exception("news_failed")

"""Activities told to whoever listens in this process, after their commit.

Nothing depends on being told: what a listener misses it finds by the markers of the rows (R89).
"""

from collections.abc import Awaitable, Callable, Iterable

import structlog

from tsuzuki.accounts.activity.nouns import Activity

Listener = Callable[[Activity], Awaitable[object]]

_log = structlog.stdlib.get_logger("tsuzuki.activity")


class ActivityPublisher:
    """Knows who listens."""

    def __init__(self) -> None:
        self._listeners: list[Listener] = []

    def listen(self, listener: Listener) -> None:
        """Tell this one of every activity from now on."""
        self._listeners.append(listener)

    async def publish(self, *activities: Activity | None) -> None:
        """Tell everyone of what is committed. A listener that fails is no failure of what happened."""
        for activity in _present(activities):
            for listener in self._listeners:
                try:
                    await listener(activity)
                except Exception:  # noqa: BLE001  what it missed, its markers tell it within a minute
                    _log.exception("activity_not_heard", activity=activity.id, type=activity.activity_type)


def _present(activities: Iterable[Activity | None]) -> list[Activity]:
    return [activity for activity in activities if activity is not None]

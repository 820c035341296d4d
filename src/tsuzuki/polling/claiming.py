"""Which due watches are taken: urgent ones first, none starved, no host and no shelf above its share. Pure."""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol, TypeVar

from tsuzuki.model.ids import ShelfId
from tsuzuki.model.priorities import COLD, HOT, WARM, Priority
from tsuzuki.sources.store import Busy

ORDER: tuple[Priority, ...] = (HOT, WARM, COLD)
WEIGHT: Mapping[Priority, int] = {HOT: 6, WARM: 3, COLD: 1}
SLOWEST_START = 1.0
CATCHING_UP = 1.5
OF_THE_FREE = 2
"""A shelf may hold twice as many places as it leaves free: of ten seven, and the next one two of the other three."""


class ClaimCandidate(Protocol):
    """A watch, as far as its turn goes."""

    @property
    def host(self) -> str: ...

    @property
    def shelf_id(self) -> ShelfId | None:
        """Whose alone it is."""
        ...


W = TypeVar("W", bound=ClaimCandidate)


def shares(slots: int) -> dict[int, int]:
    """How many slots each class may take at first: by weight, but at least one each while there are enough.

    What a class leaves, the others may have afterwards.
    """
    total = sum(WEIGHT.values())
    given: dict[int, int] = {priority: max(1, slots * WEIGHT[priority] // total) for priority in reversed(ORDER)}
    left = slots
    for priority in reversed(ORDER) if slots >= len(ORDER) else ORDER:
        given[priority] = min(given[priority], left)
        left -= given[priority]
    return given


class StartPace:
    """How quickly polls may begin of what was looked at before: after days away they are spread, not fired at once.

    `rate` is in polls a second. Moments are seconds of a clock that never goes back.
    """

    def __init__(self, burst: int) -> None:
        self._burst = burst
        self._left = float(burst)
        self._rate = SLOWEST_START
        self._since: float | None = None
        self._begun: deque[str] = deque(maxlen=burst)

    def set_demand(self, per_second: float) -> None:
        """By how many fall due in the ordinary way; a little more, so that what has piled up becomes less."""
        self._rate = max(SLOWEST_START, CATCHING_UP * per_second)

    def left(self, now: float) -> int:
        """How many may begin now."""
        passed = 0.0 if self._since is None else max(0.0, now - self._since)
        self._left = min(self._left + passed * self._rate, max(self._burst, self._rate))
        self._since = now
        return max(0, int(self._left))

    def spend(self, hosts: Collection[str]) -> None:
        """One began at each of these hosts."""
        self._left -= len(hosts)
        self._begun.extend(hosts)

    @property
    def served(self) -> frozenset[str]:
        """The host that had more than half of the last starts, if any did: the next is for others, if any wait."""
        counts = Counter(self._begun)
        return frozenset(host for host, count in counts.items() if count * 2 > len(self._begun))


class PollSlots:
    """The places that are free, and who has enough of them.

    `hosts` and `shelves` count polls that are under way; where there is one shelf alone, all places are its own.
    """

    def __init__(
        self,
        free: int,
        *,
        hosts: Mapping[str, int],
        shelves: Mapping[ShelfId, int],
        per_host: int,
        is_shared: bool,
        held: Collection[str] = (),
    ) -> None:
        """`held` are hosts that let us wait."""
        self.left = free
        self._hosts = Counter(hosts)
        self._shelves = Counter(shelves)
        self._per_host = per_host
        self._held = frozenset(held)
        self._is_shared = is_shared

    def take(self, wanted: Iterable[W]) -> tuple[list[W], list[W]]:
        """Those that have a place now, and those that have to wait for one."""
        kept, surplus = list[W](), list[W]()
        for watch in wanted:
            (kept if self._is_taken(watch) else surplus).append(watch)
        return kept, surplus

    def _is_taken(self, watch: ClaimCandidate) -> bool:
        shelf = watch.shelf_id
        has_enough = self._has_enough(watch.host) or (shelf is not None and self._holds_enough(shelf))
        if self.left <= 0 or has_enough:
            return False
        self.left -= 1
        self._hosts[watch.host] += 1
        if shelf is not None:
            self._shelves[shelf] += 1
        return True

    def busy_and(self, others: Collection[str]) -> Busy:
        """Who is not to be asked for more, and these hosts."""
        hosts = {host for host in self._hosts if self._has_enough(host)}.union(self._held, others)
        return Busy(sorted(hosts), [shelf for shelf in self._shelves if self._holds_enough(shelf)])

    def _has_enough(self, host: str) -> bool:
        return host in self._held or self._hosts[host] >= self._per_host

    def _holds_enough(self, shelf: ShelfId) -> bool:
        return self._is_shared and self._shelves[shelf] >= OF_THE_FREE * self.left

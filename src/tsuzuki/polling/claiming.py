"""Which due watches are taken: urgent ones first, none starved, no host above its share. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from tsuzuki.model.ids import WatchId
from tsuzuki.model.times import SECOND
from tsuzuki.polling.policy import COLD, HOT, WARM, Priority

ORDER: tuple[Priority, ...] = (HOT, WARM, COLD)
WEIGHT: Mapping[Priority, int] = {HOT: 6, WARM: 3, COLD: 1}
DEFERRED_FOR = SECOND
"""About what a poll takes: so a host with many watches is called as fast as its pace allows, and no faster."""


class Hosted(Protocol):
    """A watch, as far as its turn goes."""

    @property
    def id(self) -> WatchId: ...

    @property
    def host(self) -> str: ...


H = TypeVar("H", bound=Hosted)


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


def over_their_share(
    claimed: Iterable[H], in_flight: Mapping[str, int], per_host: int
) -> tuple[list[H], list[WatchId]]:
    """Those to be polled now, and those that are not because their host has enough."""
    taken, kept, surplus = Counter(in_flight), list[H](), list[WatchId]()
    for watch in claimed:
        if taken[watch.host] < per_host:
            taken[watch.host] += 1
            kept.append(watch)
        else:
            surplus.append(watch.id)
    return kept, surplus

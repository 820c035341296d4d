"""What is stored together. Pure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

T = TypeVar("T")

MOST_AT_ONCE: Final = 200
"""Installments in one transaction, as in the largest batch: tens of milliseconds."""


def in_rounds(batches: Iterable[T], *, of: Callable[[T], int], size: Callable[[T], int]) -> list[list[T]]:
    """Groups that may share a transaction: never two of the same feed or series, and not too many installments.

    Those of one feed or series keep their order: the second is in a later group than the first.
    """
    seen: Counter[int] = Counter()
    rounds: dict[int, list[T]] = defaultdict(list)
    for batch in batches:
        rounds[seen[of(batch)]].append(batch)
        seen[of(batch)] += 1
    return [group for number in sorted(rounds) for group in _cut(rounds[number], size)]


def _cut(batches: Iterable[T], size: Callable[[T], int]) -> Iterable[list[T]]:
    group: list[T] = []
    total = 0
    for batch in batches:
        if group and total + size(batch) > MOST_AT_ONCE:
            yield group
            group, total = [], 0
        group.append(batch)
        total += size(batch)
    if group:
        yield group

"""Sanitises imported rows in the parser processes, a few at a time: they are as untrusted as fetched ones."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tsuzuki.model.errors import NotAFeed, SourceError, TooLarge
from tsuzuki.model.requests import Parsers

L = TypeVar("L")
T = TypeVar("T")

_AT_ONCE = 50


async def clean_rows(
    parsers: Parsers, clean: Callable[..., list[T]], rows: Sequence[L], *more: Any
) -> list[tuple[L, T | SourceError]]:
    """Each row with its cleaned value, or with the error if that row alone was too much for a parser process."""
    done: list[tuple[L, T | SourceError]] = []
    waiting = [rows[start : start + _AT_ONCE] for start in range(0, len(rows), _AT_ONCE)][::-1]
    while waiting:
        part = waiting.pop()
        try:
            done += zip(part, await parsers.run(clean, (list(part), *more)), strict=True)
        except (NotAFeed, TooLarge) as error:
            if len(part) == 1:
                done.append((part[0], error))
            else:
                waiting += [part[len(part) // 2 :], part[: len(part) // 2]]
    return done

"""Figures, remembered."""

import msgspec

from tsuzuki.accounts.nouns import Slice
from tsuzuki.crawler.figures.rows import Amount, FailingFeed, Figure, Minute, Pulse, WatchFigures
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.times import HOUR, MINUTE, Millis

q = load_queries("tsuzuki.crawler.figures")


async def look_at_minute_tx(tx: Tx, since: Millis) -> Minute:
    """What happened since then."""
    return await tx.one(Minute, q.look_at_minute, since=since)


async def look_at_watches_tx(tx: Tx, now: Millis) -> list[WatchFigures]:
    """How far calling is behind, and how it went, by class."""
    return await tx.many(WatchFigures, q.look_at_watches, now=now, minute_ago=now - MINUTE, hour_ago=now - HOUR)


async def list_failing_feeds_tx(tx: Tx, part: Slice) -> tuple[list[FailingFeed], int]:
    """Those that failed most often in a row first, and how many there are in all."""
    rows = await tx.many(FailingFeed, q.list_failing_feeds, most=part.most, skip=part.skip)
    return rows, await tx.one(int, q.count_failing_feeds)


async def add_figure_tx(tx: Tx, figure: Figure) -> int:
    """1, or 0 when that minute is there."""
    return await tx.run(q.add_figure, **msgspec.structs.asdict(figure))


async def forget_figures_tx(tx: Tx, before: Millis) -> int:
    """How many were forgotten."""
    return await tx.run(q.forget_figures, before=before)


async def list_figures_tx(tx: Tx, since: Millis, width: Millis) -> list[Figure]:
    """Figures of so many milliseconds each, the oldest first; where nothing was taken there is none."""
    return await tx.many(Figure, q.list_figures, since=since, width=width)


async def list_pulses_tx(tx: Tx, since: Millis) -> list[Pulse]:
    """Every source's hours, the oldest first."""
    return await tx.many(Pulse, q.list_pulses, since=since)


async def list_amounts_tx(tx: Tx) -> list[Amount]:
    """What is stored."""
    return await tx.many(Amount, q.list_amounts)

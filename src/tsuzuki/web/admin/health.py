"""How a source looks from the desk."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from tsuzuki.crawler.figures.rows import Pulse
from tsuzuki.model.times import Millis
from tsuzuki.sources.sites.rows import Source
from tsuzuki.web.admin.sparks import Spark, spark_of

State = Literal["ok", "failing", "disabled", "new"]


class SourceHealthRow(msgspec.Struct, frozen=True):
    """A source in a list."""

    source: Source
    state: State
    spark: Spark


def source_rows(sources: Sequence[Source], pulses: Mapping[int, list[Pulse]], now: Millis) -> list[SourceHealthRow]:
    """In the order that they come in."""
    return [SourceHealthRow(one, state_of(one), spark_of(pulses.get(one.id, []), now)) for one in sources]


def state_of(source: Source) -> State:
    """What was last heard of it counts."""
    if not source.is_enabled:
        return "disabled"
    if source.consecutive_fails or (source.last_failed_at or 0) > (source.last_succeeded_at or 0):
        return "failing"
    return "new" if source.last_succeeded_at is None else "ok"

"""The rows of sources."""

import msgspec

from tsuzuki.accounts.nouns import Slice
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.like import like
from tsuzuki.db.locks import SOURCE, check_order
from tsuzuki.model.ids import SourceId
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.sources.sites.rows import JobOutcome, NewSource, Pause, Source, SourceFilter

q = load_queries("tsuzuki.sources.sites")


async def list_sources_tx(tx: Tx, wanted: SourceFilter, part: Slice) -> tuple[list[Source], int]:
    """By id, and how many there are in all."""
    filters = {"is_enabled": wanted.is_enabled, "pattern": None if wanted.text is None else like(wanted.text)}
    rows = await tx.many(Source, q.list_sources, most=part.most, skip=part.skip, **filters)
    return rows, await tx.one(int, q.count_sources, **filters)


async def find_source_tx(tx: Tx, source_id: int) -> Source | None:
    """One source."""
    return await tx.maybe(Source, q.find_source, id=source_id)


async def find_namesake_tx(tx: Tx, *, name: str, uid: int) -> str | None:
    """The name of the source with this name, else with this uid."""
    return await tx.maybe(str, q.find_namesake, name=name, uid=uid)


async def lock_source_tx(tx: Tx, source_id: int) -> Source | None:
    """One source, held to the end of the transaction."""
    check_order(tx, SOURCE, source_id)
    return await tx.maybe(Source, q.lock_source, id=source_id)


async def register_source_tx(tx: Tx, new: NewSource, *, is_enabled: bool, now: Millis) -> Source:
    """A new source; UniqueViolation on `source.name`, `source.slug` or `source.uid`."""
    sealed = msgspec.structs.replace(new, config=tx.vault.seal_source(new.config))
    return await tx.one(Source, q.register_source, **msgspec.structs.asdict(sealed), is_enabled=is_enabled, now=now)


async def change_source_tx(tx: Tx, changed: Source, now: Millis) -> Source:
    """Write what a person may change; UniqueViolation on `source.name` or `source.slug`."""
    return await tx.one(
        Source,
        q.change_source,
        id=changed.id,
        name=changed.name,
        slug=changed.slug,
        base_url=changed.base_url,
        connector=changed.connector,
        config=tx.vault.seal_source(changed.config),
        lang=changed.lang,
        is_nsfw=changed.is_nsfw,
        supports_latest=changed.supports_latest,
        is_enabled=changed.is_enabled,
        now=now,
    )


async def delete_source_tx(tx: Tx, source_id: SourceId) -> None:
    """With its mappings."""
    await tx.run(q.delete_source, id=source_id)


async def wake_source_tx(tx: Tx, source_id: SourceId, now: Millis) -> int:
    """Make its watches due; how many were not."""
    return await tx.run(q.wake_source, id=source_id, now=now)


async def source_failed_tx(
    tx: Tx, source_id: SourceId, *, job_id: int, threshold: int, now: Millis
) -> JobOutcome | None:
    """Count a failed job, and disable the source at the threshold; None when it is gone."""
    return await tx.maybe(JobOutcome, q.source_failed, id=source_id, job_id=job_id, threshold=threshold, now=now)


async def source_succeeded_tx(tx: Tx, source_id: SourceId, now: Millis) -> None:
    """A job went well: the count begins anew."""
    await tx.run(q.source_succeeded, id=source_id, now=now)


async def source_polled_tx(tx: Tx, source_id: SourceId, *, is_well: bool, now: Millis) -> None:
    """Remember, to the minute, that a scheduled poll went well or did not."""
    await tx.run(q.source_polled, id=source_id, is_well=is_well, now=now, before=now - MINUTE)


async def paused_since_tx(tx: Tx) -> Millis | None:
    """Since when the operator has let no source be called; None while all is as usual."""
    return await tx.maybe(Millis, q.find_pause)


async def show_pause_tx(tx: Tx) -> Pause | None:
    """The same, with its reason."""
    return await tx.maybe(Pause, q.show_pause)


async def pause_tx(tx: Tx, reason: str, now: Millis) -> bool:
    """Let no source be called; False when that was so already."""
    return bool(await tx.run(q.pause, reason=reason, now=now))


async def resume_tx(tx: Tx) -> bool:
    """Let sources be called again; False when they were."""
    return bool(await tx.run(q.resume))

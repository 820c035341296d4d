"""Imports as rows."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from tsuzuki.accounts.types import User
from tsuzuki.db import Tx, load_queries
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import PublicId, SeriesId, ShelfId, UserId
from tsuzuki.model.times import Millis
from tsuzuki.sources.policy import title_part
from tsuzuki.transfer.archive.undo_log import ImportId
from tsuzuki.transfer.imports.types import (
    ImportAccount,
    ImportDirection,
    ImportPreview,
    ImportStatus,
    ShelfImportRow,
    plain,
)

q = load_queries("tsuzuki.transfer.imports")


async def add_import_tx(
    tx: Tx,
    shelf_id: ShelfId,
    user_id: UserId,
    public_id: PublicId,
    *,
    name: str,
    preview: ImportPreview,
    now: Millis,
) -> ShelfImportRow:
    """A file that was looked at."""
    said: dict[str, Any] = {"name": name, "kind": preview.kind, "preview": plain(preview), "now": now}
    return await tx.one(ShelfImportRow, q.add_import, shelf_id=shelf_id, user_id=user_id, public_id=public_id, **said)


async def find_import_tx(tx: Tx, shelf_id: ShelfId, public_id: PublicId) -> ShelfImportRow:
    """The shelf's import; NotFound."""
    found = await tx.maybe(ShelfImportRow, q.find_import, shelf_id=shelf_id, public_id=public_id)
    if found is None:
        raise NotFound("There is no such import.")
    return found


async def get_import_tx(tx: Tx, import_id: ImportId) -> ShelfImportRow | None:
    """An import, whoever's it is."""
    return await tx.maybe(ShelfImportRow, q.get_import, id=import_id)


async def set_status_tx(
    tx: Tx, import_id: ImportId, status: ImportStatus, *, before: ImportStatus, now: Millis
) -> bool:
    """Change its status; False when it has another one than expected by now."""
    return bool(await tx.run(q.set_status, id=import_id, status=status, before=before, now=now))


async def finish_import_tx(
    tx: Tx,
    import_id: ImportId,
    status: ImportStatus,
    *,
    what: ImportDirection,
    report: ImportAccount | None = None,
    error: str | None = None,
    now: Millis,
) -> bool:
    """Nothing more happens to it by itself; False when this is not what is under way by now."""
    said = None if report is None else plain(report)
    return bool(
        await tx.run(q.finish_import, id=import_id, what=what, status=status, report=said, error=error, now=now)
    )


async def person_tx(tx: Tx, user_id: UserId) -> User:
    """Whose import it is."""
    return await tx.one(User, q.person, id=user_id)


async def known_tx(
    tx: Tx,
    shelf_id: ShelfId,
    *,
    links: Sequence[str],
    series: Sequence[Sequence[Any]],
    titles: AbstractSet[str],
) -> dict[str, int]:
    """How many of these feeds, and of these series by slug and key, source and address, or title, are followed."""
    feeds = await tx.one(int, q.known_feeds, shelf_id=shelf_id, rows=[[link] for link in links])
    known = await tx.one(int, q.known_series, shelf_id=shelf_id, rows=series)
    keys = await tx.many(str, q.followed_keys, shelf_id=shelf_id) if titles else []
    return {"feeds": feeds, "series": known + len(titles & {title_part(key) for key in keys})}


class MadeFollow(msgspec.Struct, frozen=True):
    """A follow that an import made and nobody changed since."""

    public_id: PublicId
    series_id: SeriesId


async def undo_state_tx(tx: Tx, found: ShelfImportRow) -> None:
    """What was read, saved and bookmarked by it, before its feeds and series go; with the shelf's reading locked.

    What others have written over it since goes with the last of them.
    """
    said: dict[str, Any] = {"shelf_id": found.shelf_id, "id": found.id}
    await tx.run(q.pass_follows_on, id=found.id, shelf_id=found.shelf_id)
    await tx.run(q.pass_subscriptions_on, id=found.id, shelf_id=found.shelf_id)
    await tx.run(q.pass_formers_on, **said)
    await tx.run(q.pass_progress_on, **said)
    await tx.run(q.restore_progress, **said)
    await tx.run(q.remove_progress, **said)
    await tx.run(q.remove_bookmarks, **said)
    await tx.run(q.pass_entries_on, id=found.id)
    await tx.run(q.remove_entries, **said)
    await tx.run(q.restore_entries, **said)
    await tx.run(q.forget_progress, id=found.id)
    await tx.run(q.forget_entries, id=found.id)


async def undo_follow_tx(tx: Tx, found: ShelfImportRow, series_id: SeriesId) -> None:
    """What the shelf had when it left this series before, instead of what the import made it follow."""
    await tx.run(q.drop_former, shelf_id=found.shelf_id, series_id=series_id)
    await tx.run(q.restore_former, shelf_id=found.shelf_id, series_id=series_id, id=found.id)


async def undo_rest_tx(tx: Tx, found: ShelfImportRow) -> None:
    """All else that it made."""
    said: dict[str, Any] = {"shelf_id": found.shelf_id, "id": found.id}
    await tx.run(q.pass_backups_on, id=found.id)
    await tx.run(q.restore_backups, **said)
    await tx.run(q.remove_backups, **said)
    await tx.run(q.pass_rest_on, id=found.id)
    await tx.run(q.restore_rest, **said)
    await tx.run(q.remove_rest, **said)
    await tx.run(q.remove_formers, **said)
    await tx.run(q.forget_made_formers, **said)
    await tx.run(q.remove_groups, **said)
    await tx.run(q.pass_groups_on, **said)
    series = await tx.many(SeriesId, q.chapters_series, id=found.id)
    await tx.run(q.remove_chapters, **said)
    await tx.run(q.pass_chapters_on, **said)
    await tx.run(q.lower_latest, series=series)
    await tx.run(q.remove_series, **said)
    await tx.run(q.pass_series_on, **said)
    await tx.run(q.forget_made, id=found.id)
    await tx.run(q.forget_formers, id=found.id)
    await tx.run(q.forget_chapters, id=found.id)
    await tx.run(q.forget_backups, id=found.id)
    await tx.run(q.forget_rest, id=found.id)

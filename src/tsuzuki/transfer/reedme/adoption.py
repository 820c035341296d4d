"""Converts a ReedMe or Fusion database that lies at our path: backed up, imported, and swapped in one step.

Killed at any moment, the file at the path is the old one whole or the new one whole; what was begun is begun again.
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import structlog

from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.policy import FailureLimits
from tsuzuki.accounts.services import build_accounts
from tsuzuki.accounts.shelves import unclaimed_shelf_tx
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.db.legacy import back_up, is_legacy, swap
from tsuzuki.db.migrate import migrate
from tsuzuki.db.sqlite_file import path_of, refuse_read_only
from tsuzuki.model.times import Millis, iso
from tsuzuki.parsing.pool import ParsePool, PoolOptions
from tsuzuki.transfer.reedme.service import Reedme, ReedmeReport

_log = structlog.stdlib.get_logger("tsuzuki.start")


async def adopt(options: DatabaseOptions, clock: Callable[[], Millis]) -> ReedmeReport | None:
    """Turn a database of ReedMe or Fusion at the configured path into one of ours; None when there is none."""
    if not options.url.startswith("sqlite:"):
        return None
    path = path_of(options.url)
    refuse_read_only(path)
    if not await asyncio.to_thread(is_legacy, path):
        return None
    stamp = iso(clock()).replace(":", "").replace("-", "")
    kept = path.with_name(f"{path.name}.{stamp}.bak")
    fresh = path.with_name(f"{path.name}.new")
    _log.info("importing_older_database", path=str(path), backup=str(kept))
    await asyncio.to_thread(back_up, path, kept)
    for leftover in (fresh, *(fresh.with_name(fresh.name + end) for end in ("-wal", "-shm", "-journal"))):
        leftover.unlink(missing_ok=True)
    brought = await _fill(msgspec.structs.replace(options, url=f"sqlite://{fresh}"), kept, clock)
    await asyncio.to_thread(swap, fresh, path)
    _log.info(
        "imported_older_database",
        feeds=brought.feeds,
        items=brought.items,
        refused=list(brought.refused),
        skipped=brought.skipped,
        notes=list(brought.notes),
    )
    return brought


async def _fill(options: DatabaseOptions, kept: Path, clock: Callable[[], Millis]) -> ReedmeReport:
    """A database of ours with one tenant, whose shelf has all that the old one had."""
    await migrate(options, now=clock())
    db = await open_database(options)
    parsers = ParsePool(PoolOptions())
    try:
        deps = AccountDeps(db, clock, os.urandom)
        tenant = await build_accounts(deps, FailureLimits()).setup.prepare_tenant()
        shelf = await db.read(lambda tx: unclaimed_shelf_tx(tx, tenant.id))
        assert shelf is not None  # the tenant is as new as the database; its first person will have this shelf
        reedme = Reedme(db, clock, lambda: deps.new_id(clock()), parsers=parsers)
        return await reedme.run(kept, shelf.id)
    finally:
        await parsers.close()
        await db.close()

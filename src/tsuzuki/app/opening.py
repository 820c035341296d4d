"""Opens the database, and no more than commands about people and retention need: they import nothing else."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
import structlog

from tsuzuki.accounts.credentials import USUAL_COST, HashCost, Passwords
from tsuzuki.accounts.deps import AccountDeps
from tsuzuki.accounts.policy import FailureLimits
from tsuzuki.accounts.services import Accounts, build_accounts
from tsuzuki.accounts.types import Protocol
from tsuzuki.db import Database, DatabaseOptions, open_database
from tsuzuki.db.deadlines import long_deadline
from tsuzuki.db.legacy import is_legacy
from tsuzuki.db.migrate import migrate
from tsuzuki.db.sealed_columns import seal_stored
from tsuzuki.db.sqlite_file import path_of, refuse_read_only
from tsuzuki.db.vault import load_vault
from tsuzuki.model.errors import Unavailable
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis
from tsuzuki.retention.policy import RetentionRules
from tsuzuki.retention.preview import Preview
from tsuzuki.retention.service import Pruner
from tsuzuki.settings import Settings

Clock = Callable[[], Millis]

_log = structlog.stdlib.get_logger("tsuzuki.start")


def wall_clock() -> Millis:
    """The real time; everyone else is given a clock."""
    return Millis(time.time_ns() // 1_000_000)


def database_options(settings: Settings) -> DatabaseOptions:
    """The options of the database from the settings."""
    return DatabaseOptions(settings.database_url, settings.database_min_conns, settings.database_max_conns)


def make_data_dir(settings: Settings) -> None:
    """Make the data folder, readable by its owner only."""
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"The data folder {settings.data_dir} cannot be created: {error.strerror}.") from error


def sealed_options(settings: Settings) -> DatabaseOptions:
    """The options of the database, with the key of its secrets."""
    if settings.database_url.startswith("sqlite:"):
        refuse_read_only(path_of(settings.database_url))  # before the key is missed there, which says less
    vault = load_vault(settings.secret_key, settings.data_dir)
    return msgspec.structs.replace(database_options(settings), vault=vault)


async def open_sealed(options: DatabaseOptions, clock: Clock) -> Database:
    """Open the database and seal every secret in it (R123); those that cannot be read are logged."""
    db = await open_database(options)
    try:
        with long_deadline():
            unreadable = await seal_stored(db, options.vault, clock())
    except BaseException:
        await db.close()
        raise
    if unreadable:
        why = (
            "They were stored with another secret key. Start with that one (TSUZUKI_SECRET_KEY, or secret.key in the "
            "data folder), or enter these secrets again."
        )
        _log.error("secrets_unreadable", why=why, **unreadable)
    return db


async def prepare(options: DatabaseOptions, clock: Clock) -> int:
    """Apply every migration, to a database of ReedMe or Fusion after it was made ours; the version of the schema."""
    if options.url.startswith("sqlite:") and await asyncio.to_thread(is_legacy, path_of(options.url)):
        from tsuzuki.transfer.reedme.adoption import adopt

        with long_deadline():
            await adopt(options, clock)
    outcome = await migrate(options, now=clock())
    if 0 < outcome.before < outcome.after:
        _log.info("schema_migrated", version=outcome.after, before=outcome.before)
    return outcome.after


@asynccontextmanager
async def open_accounts(settings: Settings, *, clock: Clock = wall_clock) -> AsyncIterator[Accounts]:
    """Migrate and open no more than the commands about people need."""
    async with _open_migrated(settings, clock) as db:
        yield accounts_of(settings, db, clock)


@asynccontextmanager
async def open_retention(settings: Settings, *, clock: Clock = wall_clock) -> AsyncIterator[tuple[Pruner, Preview]]:
    """Migrate and open no more than removing what is old needs, and showing it before."""
    async with _open_migrated(settings, clock) as db:
        yield Pruner(db, clock, rules_of(settings)), Preview(db, clock, rules_of(settings))


@asynccontextmanager
async def _open_migrated(settings: Settings, clock: Clock) -> AsyncIterator[Database]:
    make_data_dir(settings)
    options = sealed_options(settings)
    await prepare(options, clock)
    db = await open_sealed(options, clock)
    try:
        yield db
    finally:
        await db.close()


def accounts_of(settings: Settings, db: Database, clock: Clock, hash_cost: HashCost = USUAL_COST) -> Accounts:
    """The services of accounts, as the settings want them."""
    limits = FailureLimits(settings.login_limit, settings.login_window, settings.login_block)
    return build_accounts(
        AccountDeps(db, clock, os.urandom, protocols=_spoken),
        limits,
        is_open=settings.allow_empty_password,
        passwords=Passwords(hash_cost),
    )


def _spoken() -> tuple[Protocol, ...]:
    from tsuzuki.protocols.build import PROTOCOLS  # what answers apps is imported by who needs it first

    return PROTOCOLS


def rules_of(settings: Settings) -> RetentionRules:
    """The rules of retention from the settings."""
    return copied(RetentionRules, settings, hours=settings.prune_hours)

"""The choice between the two engines."""

from tsuzuki.db.database import Database, DatabaseOptions


async def open_database(options: DatabaseOptions) -> Database:
    """Connect and check the engine; migrating is `migrate`'s."""
    if options.url.startswith("sqlite:"):
        from tsuzuki.db.sqlite import SqliteDatabase, path_of

        return SqliteDatabase(path_of(options.url), readers=options.min_connections, vault=options.vault)
    from tsuzuki.db.postgres import PostgresDatabase

    return await PostgresDatabase.connect(options)

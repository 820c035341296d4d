"""Opens a database by its URL: SQLite or PostgreSQL."""

from tsuzuki.db.database import Database, DatabaseOptions


async def open_database(options: DatabaseOptions) -> Database:
    """Connect and check the engine; `migrate` brings the schema up to date."""
    if options.url.startswith("sqlite:"):
        from tsuzuki.db.sqlite import SqliteDatabase, path_of

        return SqliteDatabase(path_of(options.url), readers=options.min_connections, vault=options.vault)
    from tsuzuki.db.postgres import PostgresDatabase

    return await PostgresDatabase.connect(options)

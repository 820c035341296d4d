"""`tsuzuki backup`"""

from pathlib import Path

import click

from tsuzuki.cli.start import start


@click.command()
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
def backup(target: Path) -> None:
    """Write the SQLite database into the new file TARGET, as it is at one moment. Tsuzuki may go on meanwhile.

    The copy is checked before it gets its name, and nothing is overwritten. To restore it, stop Tsuzuki and put it
    where TSUZUKI_DATABASE_URL points. A PostgreSQL database is backed up by pg_dump.
    """
    settings = start()
    if not settings.database_url.startswith("sqlite:"):
        raise click.ClickException("The database is on a PostgreSQL server: back it up by pg_dump.")
    from tsuzuki.db.backup import back_up
    from tsuzuki.db.sqlite_file import path_of

    size = back_up(path_of(settings.database_url), target)
    click.echo(f"{target}: {size:,} bytes, checked.")

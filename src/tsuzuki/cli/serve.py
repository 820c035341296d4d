"""`tsuzuki serve`"""

import sys

import click

from tsuzuki.cli.start import log_start, start
from tsuzuki.settings import Settings


@click.command()
@click.option("--host", help="The address to listen on.  [TSUZUKI_HOST, 127.0.0.1]")
@click.option("--port", help="The port to listen on.  [TSUZUKI_PORT, 8080]")
@click.option("--no-workers", is_flag=True, help="Serve pages and API only; the work is done by other processes.")
def serve(host: str | None, port: str | None, *, no_workers: bool) -> None:
    """Migrate the database, then serve the pages and the API until SIGTERM or Ctrl+C.

    Open requests are finished first, for at most 10 seconds. A second signal ends at once.
    """
    settings = start(host=host, port=port)
    from tsuzuki.app.server import run_with_uvloop

    run_with_uvloop(_serve(settings, workers=not no_workers))


async def _serve(settings: Settings, *, workers: bool) -> None:
    from tsuzuki.app.bootstrap import open_tsuzuki
    from tsuzuki.app.server import Server, listen, url_of

    with listen(settings.host, settings.port) as bound:
        async with open_tsuzuki(settings) as opened:
            log_start(opened.schema_version)
            facts = _where(settings) if workers else f"{_where(settings)}, no workers"
            lines = [f"Tsuzuki is at {url_of(bound)} ({facts}). Ctrl+C stops it."]
            if opened.setup_code is not None and sys.stdout.isatty():  # elsewhere the log has it, for programs
                lines.append(f"Nobody can sign in yet: open {url_of(bound)}/setup, the code is {opened.setup_code}")
            server = Server(
                opened.app,
                trusted_proxies=[str(network) for network in settings.trusted_proxies],
                on_started=lambda: click.echo("\n".join(lines)),
                on_stopping=opened.end_streams,
            )
            if workers:
                opened.worker_loops.start()
            try:
                await server.serve(sockets=[bound])
            finally:
                await opened.worker_loops.stop()


def _where(settings: Settings) -> str:
    return (
        settings.database_url.removeprefix("sqlite://") if settings.database_url.startswith("sqlite:") else "PostgreSQL"
    )

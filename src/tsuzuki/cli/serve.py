"""`tsuzuki serve`, `tsuzuki work`, `tsuzuki demo` and `tsuzuki settings`."""

import asyncio
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import click
import msgspec

from tsuzuki.cli.start import environment, load_settings, log_start, start_server
from tsuzuki.settings import Settings, effective, unknown_variables


@click.command()
@click.option("--host", help="The address to listen on.  [TSUZUKI_HOST, 127.0.0.1]")
@click.option("--port", help="The port to listen on.  [TSUZUKI_PORT, 8080]")
@click.option("--no-workers", is_flag=True, help="Serve pages and the API only; run `tsuzuki work` for the rest.")
@click.option(
    "--processes",
    type=click.IntRange(1, 64),
    default=1,
    help="How many processes serve this port; the first also does all other work. More than one needs PostgreSQL.",
)
@click.option("--socket", "inherited", type=int, hidden=True, help="The number of the socket, for one of --processes.")
def serve(host: str | None, port: str | None, *, no_workers: bool, processes: int, inherited: int | None) -> None:
    """Migrate the database, then serve the pages and the API until SIGTERM or Ctrl+C.

    On a signal, open requests get up to 10 seconds to finish. A second signal stops at once.
    """
    settings = start_server(host=host, port=port)
    from tsuzuki.app.server import run_with_uvloop

    if processes > 1 and settings.database_url.startswith("sqlite:"):
        raise click.UsageError("--processes needs PostgreSQL: on SQLite one process is the fastest.")
    if inherited is None:
        run_with_uvloop(_serve(settings, workers=not no_workers, processes=processes))
    else:
        run_with_uvloop(_serve_too(settings, inherited))


async def _serve(settings: Settings, *, workers: bool, processes: int) -> None:
    from tsuzuki.app.bootstrap import open_tsuzuki
    from tsuzuki.app.processes import WebProcesses
    from tsuzuki.app.server import Server, freeze_startup_objects, listen, url_of

    with listen(settings.host, settings.port) as bound:
        async with open_tsuzuki(settings) as opened:
            log_start(opened.schema_version)
            others = WebProcesses(bound)

            def end_streams() -> None:
                opened.end_streams()
                others.stop()

            facts = ", ".join(_facts(settings, workers=workers, processes=processes))
            lines = [f"Tsuzuki is at {url_of(bound)} ({facts}). Ctrl+C stops it."]
            if opened.setup_code is not None and sys.stdout.isatty():  # elsewhere the log has it, for programs
                lines.append(
                    f"Nobody can sign in yet. Open {url_of(bound)}/setup and enter the code {opened.setup_code}"
                )
            server = Server(
                opened.app,
                trusted_proxies=[str(network) for network in settings.trusted_proxies],
                on_started=lambda: click.echo("\n".join(lines)),
                on_stopping=end_streams,
            )
            freeze_startup_objects()
            if workers:
                opened.worker_loops.start()
            try:
                async with others.running(processes - 1):
                    await server.serve(sockets=[bound])
            finally:
                await opened.worker_loops.stop()


async def _serve_too(settings: Settings, inherited: int) -> None:
    """Serve on a socket that the first process listens on, as long as that one lives."""
    from tsuzuki.app.bootstrap import open_tsuzuki
    from tsuzuki.app.processes import at_end_of_input
    from tsuzuki.app.server import Server, freeze_startup_objects

    with socket.socket(fileno=inherited) as bound:
        async with open_tsuzuki(settings, is_first=False) as opened:
            server = Server(
                opened.app,
                trusted_proxies=[str(network) for network in settings.trusted_proxies],
                on_stopping=opened.end_streams,
            )
            freeze_startup_objects()
            with at_end_of_input(server.stop):
                await server.serve(sockets=[bound])


def _facts(settings: Settings, *, workers: bool, processes: int) -> Iterator[str]:
    is_sqlite = settings.database_url.startswith("sqlite:")
    yield settings.database_url.removeprefix("sqlite://") if is_sqlite else "PostgreSQL"
    if processes > 1:
        yield f"{processes} processes"
    if not workers:
        yield "no workers"


@click.command()
@click.option("--queues", help="Only these queues, separated by commas. Default: all.")
@click.option("--concurrency", type=click.IntRange(1, 1000), help="How many tasks of each queue run at the same time.")
@click.option(
    "--metrics-port", type=click.IntRange(0, 65535), help="Serve /metrics, /healthz and /readyz on this port."
)
def work(queues: str | None, concurrency: int | None, metrics_port: int | None) -> None:
    """Run the workers without the pages: poll, ingest and deliver until SIGTERM or Ctrl+C.

    Any number of them can share one PostgreSQL database, next to `tsuzuki serve --no-workers`. On a signal, running
    work is finished first.
    """
    settings = msgspec.structs.replace(start_server(), database_read_url=None)  # it reads no lists
    from tsuzuki.app.pipeline import QUEUES
    from tsuzuki.app.server import run_with_uvloop

    wanted = tuple(name.strip() for name in queues.split(",")) if queues else QUEUES
    if unknown := sorted(set(wanted) - set(QUEUES)):
        raise click.UsageError(f"Unknown queue: {', '.join(unknown)}. Choose from {', '.join(QUEUES)}.")
    run_with_uvloop(_work(settings, wanted, concurrency, metrics_port))


async def _work(settings: Settings, queues: tuple[str, ...], concurrency: int | None, metrics_port: int | None) -> None:
    from tsuzuki.app.bootstrap import open_tsuzuki
    from tsuzuki.app.server import freeze_startup_objects, serve_in_background

    stopped = asyncio.Event()
    for which in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(which, stopped.set)
    async with AsyncExitStack() as opening:
        opened = await opening.enter_async_context(open_tsuzuki(settings, queues=queues, concurrency=concurrency))
        asked_at = ""
        if metrics_port is not None:
            url = await opening.enter_async_context(serve_in_background(opened.probe_app, settings.host, metrics_port))
            asked_at = f" Metrics are at {url}/metrics."
        log_start(opened.schema_version)
        freeze_startup_objects()
        opened.worker_loops.start()
        click.echo(f"Working on {', '.join(queues)}.{asked_at} Ctrl+C stops it.")
        ended = asyncio.ensure_future(opened.worker_loops.wait())
        asked = asyncio.ensure_future(stopped.wait())
        await asyncio.wait({ended, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        await opened.worker_loops.stop()
        await ended


@click.command()
@click.option("--port", help="The port to listen on.  [TSUZUKI_PORT, 8080]")
def demo(port: str | None) -> None:
    """Serve a demo on this machine: two comics and two feeds with something new every few seconds.

    It makes no outside connections and stores everything in a temporary folder. You are signed in as a guest.
    """
    from tsuzuki.app.server import run_with_uvloop
    from tsuzuki.log import set_up_logging

    environ = environment(port=port)
    set_up_logging(level=environ.get("TSUZUKI_LOG_LEVEL", "warning"), style="auto", secrets=())
    with tempfile.TemporaryDirectory(prefix="tsuzuki-demo-", ignore_cleanup_errors=True) as folder:
        run_with_uvloop(_serve_demo(environ, Path(folder)))


async def _serve_demo(environ: dict[str, str], folder: Path) -> None:
    from tsuzuki.app.server import Server, listen, url_of
    from tsuzuki.demo.server import demo_settings, open_demo

    settings = demo_settings(environ, folder, "unused")  # for the port alone: it is taken before anything is made
    with listen(settings.host, settings.port) as bound:
        async with open_demo(environ, folder) as demo:
            said = (
                f"The demo is at {url_of(bound)}, and you are signed in as a guest. Something new every few seconds.\n"
                "To see the administration, sign out, then sign in as admin with the password "
                f"{demo.admin_password}\nCtrl+C stops it."
            )
            server = Server(demo.app, on_started=lambda: click.echo(said), on_stopping=demo.opened.end_streams)
            await server.serve(sockets=[bound])


@click.command()
def settings() -> None:
    """Show every setting, its current value and where that comes from. Secrets are masked."""
    environ = environment()
    for setting in effective(load_settings(environ), environ):
        click.echo(f"{setting.name}={setting.value}  # {setting.origin}: {setting.variable.says}")
    for sentence in unknown_variables(environ):
        click.echo(f"Warning: {sentence}", err=True)

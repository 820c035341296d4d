"""`tsuzuki work`"""

import asyncio
import signal
from contextlib import AsyncExitStack

import click

from tsuzuki.cli.start import log_start, start
from tsuzuki.settings import Settings


@click.command()
@click.option("--queues", help="Only these, with commas between them; all when left out.")
@click.option("--concurrency", type=click.IntRange(1, 1000), help="Tasks of a queue at the same time.")
@click.option(
    "--metrics-port", type=click.IntRange(0, 65535), help="Serve /metrics, /healthz and /readyz on this port."
)
def work(queues: str | None, concurrency: int | None, metrics_port: int | None) -> None:
    """Do the work without serving pages: poll, ingest, deliver, until SIGTERM or Ctrl+C.

    Any number of these share one PostgreSQL, beside `tsuzuki serve --no-workers`. What was begun is finished first.
    """
    settings = start()
    from tsuzuki.app.pipeline import QUEUES
    from tsuzuki.app.server import run_with_uvloop

    wanted = tuple(name.strip() for name in queues.split(",")) if queues else QUEUES
    if unknown := sorted(set(wanted) - set(QUEUES)):
        raise click.UsageError(f"There is no queue {', '.join(unknown)}. There are: {', '.join(QUEUES)}.")
    run_with_uvloop(_work(settings, wanted, concurrency, metrics_port))


async def _work(settings: Settings, queues: tuple[str, ...], concurrency: int | None, metrics_port: int | None) -> None:
    from tsuzuki.app.bootstrap import open_tsuzuki
    from tsuzuki.app.server import serving_aside

    stopped = asyncio.Event()
    for which in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(which, stopped.set)
    async with AsyncExitStack() as opening:
        opened = await opening.enter_async_context(open_tsuzuki(settings, queues=queues, concurrency=concurrency))
        asked_at = ""
        if metrics_port is not None:
            url = await opening.enter_async_context(serving_aside(opened.probe_app, settings.host, metrics_port))
            asked_at = f" {url}/metrics has the numbers."
        log_start(opened.schema_version)
        opened.worker_loops.start()
        click.echo(f"Working on {', '.join(queues)}.{asked_at} Ctrl+C stops it.")
        ended = asyncio.ensure_future(opened.worker_loops.wait())
        asked = asyncio.ensure_future(stopped.wait())
        await asyncio.wait({ended, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        await opened.worker_loops.stop()
        await ended

"""`tsuzuki demo`"""

import tempfile
from pathlib import Path

import click

from tsuzuki.cli.start import environment


@click.command()
@click.option("--port", help="The port to listen on.  [TSUZUKI_PORT, 8080]")
def demo(port: str | None) -> None:
    """Serve a sample on this machine: two comics and two feeds that bring something new every few seconds.

    Nothing is called outside, and nothing is kept: everything is in a temporary folder. You are signed in as a guest.
    """
    from tsuzuki.app.server import run_with_uvloop
    from tsuzuki.log import set_up_logging

    environ = environment(port=port)
    set_up_logging(level=environ.get("TSUZUKI_LOG_LEVEL", "warning"), style="auto", secrets=())
    with tempfile.TemporaryDirectory(prefix="tsuzuki-demo-", ignore_cleanup_errors=True) as folder:
        run_with_uvloop(_serve(environ, Path(folder)))


async def _serve(environ: dict[str, str], folder: Path) -> None:
    from tsuzuki.app.server import Server, listen, url_of
    from tsuzuki.demo.running import demo_settings, open_demo

    settings = demo_settings(environ, folder, "unused")  # for the port alone: it is taken before anything is made
    with listen(settings.host, settings.port) as bound:
        async with open_demo(environ, folder) as demo:
            said = (
                f"The demo is at {url_of(bound)}, and you are signed in as a guest. Something new every few seconds.\n"
                f"The operator's side: sign out, then sign in as admin with {demo.admin_password}\nCtrl+C ends it."
            )
            server = Server(demo.app, on_started=lambda: click.echo(said), on_stopping=demo.opened.end_streams)
            await server.serve(sockets=[bound])

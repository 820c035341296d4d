"""A server of its own process whose one path takes as long as it is asked to: `python slow_server.py GRACE_SECONDS`."""

import asyncio
import sys

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.app.server import Server, listen, run_with_uvloop, url_of
from tsuzuki.http.errors import json_failure
from tsuzuki.http.metrics import Metrics
from tsuzuki.http.middleware import build_app
from tsuzuki.http.routing import page
from tsuzuki.log import set_up_logging


async def take_time(request: Request) -> Response:
    sys.stdout.write("asked\n")
    sys.stdout.flush()
    await asyncio.sleep(float(request.path_params["seconds"]))
    return Response("done")


async def main(grace_s: int) -> None:
    set_up_logging(style="json")
    bound = listen("127.0.0.1", 0)
    app = build_app(
        [page("/{seconds}", take_time)], metrics=Metrics(version="0", engine="none"), error_page=json_failure
    )
    sys.stdout.write(url_of(bound) + "\n")
    sys.stdout.flush()
    await Server(app, grace_s=grace_s, on_stopping=stopping).serve(sockets=[bound])
    sys.stdout.write("closed\n")


def stopping() -> None:
    sys.stdout.write("stopping\n")
    sys.stdout.flush()


if __name__ == "__main__":
    run_with_uvloop(main(int(sys.argv[1])))

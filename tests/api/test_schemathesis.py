"""Whatever is sent to the API, it keeps to its own description: no 5xx, no answer outside the schema."""

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import msgspec
import pytest

from tests.app import settings_for
from tests.scale import scaled
from tests.servers import free_port
from tsuzuki.accounts.tokens import TokenRequest
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.app.opening import open_accounts

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)

EXAMPLES = scaled(5, 50)
PATIENCE_S = scaled(600, 1800)
"""Half a minute is enough where nothing else runs."""

FEW_VARIABLES = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG"}}
"""For each of its ten thousand requests it reads all variables several times."""

LEFT_OUT = {
    "/api/v1/events": "a stream does not end",
    "/api/v1/admin/crawler/jobs/{job_id}/events": "nor does this one",
    "/api/v1/feeds/validate": "it calls whatever address is made up",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path: Path = tmp_path_factory.mktemp("data")
    return path


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[str]:
    """The address of a server that runs as a process of its own."""
    port = free_port()
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TSUZUKI_")}
    environ |= {"TSUZUKI_DATA_DIR": str(folder), "TSUZUKI_PASSWORD": "correct horse", "TSUZUKI_PORT": str(port)}
    with (folder / "log").open("wb") as log:
        command = [sys.executable, "-m", "tsuzuki", "serve", "--no-workers"]
        process = subprocess.Popen(command, env=environ, stdout=log, stderr=log)
    try:
        _wait_for(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(port: int) -> None:
    for _ in range(300):
        with (
            contextlib.suppress(OSError),
            contextlib.closing(HTTPConnection("127.0.0.1", port, timeout=5)) as connection,
        ):
            connection.request("GET", "/healthz")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.1)
    raise AssertionError("the server does not start")


async def _token(folder: Path) -> str:
    async with open_accounts(settings_for(folder)) as accounts:
        admin = await accounts.users.find("admin")
        return (
            await accounts.tokens.make_for(SYSTEM, admin, TokenRequest(name="x", scopes=("read", "write", "admin")))
        ).key


def _paths(server: str) -> list[str]:
    with contextlib.closing(HTTPConnection(server.removeprefix("http://"), timeout=30)) as connection:
        connection.request("GET", "/api/v1/openapi.json")
        described = msgspec.json.decode(connection.getresponse().read())["paths"]
    return [path for path in described if path not in LEFT_OUT]


@pytest.mark.soak
@pytest.mark.timeout(PATIENCE_S + 20)
@pytest.mark.parametrize("with_token", [False, True])
def test_every_answer_is_as_described(server, folder, with_token):
    command = [sys.executable, "-c", "from schemathesis.cli import schemathesis; schemathesis()", "run"]
    command += [f"{server}/api/v1/openapi.json", "--checks", ",".join(CHECKS), "--max-examples", str(EXAMPLES)]
    command += ["--phases", "coverage,fuzzing", "--no-color", "--suppress-health-check", "all"]
    for path in _paths(server):
        command += ["--include-path", path]
    if with_token:
        command += ["-H", f"Authorization: Bearer {asyncio.run(_token(folder))}"]
    done = subprocess.run(
        command, cwd=folder, env=FEW_VARIABLES, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert "Traceback" not in (folder / "log").read_text()

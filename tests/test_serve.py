"""The program as a process: how it starts, stops, and refuses to."""

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import pytest

from tests.app import in_settings
from tests.servers import free_port
from tests.waiting import eventually
from tsuzuki.app.processes import WebProcesses
from tsuzuki.app.server import listen
from tsuzuki.db.migration_steps import available

PATIENCE_S = 60
"""For what a busy machine takes its time for; how long things take is not what these tests are about."""
SLOW = str(Path(__file__).parent / "http" / "slow_server.py")


def environment(folder: Path, **variables: object) -> dict[str, str]:
    ours = {f"TSUZUKI_{name}": str(value) for name, value in {"DATA_DIR": folder, **variables}.items()}
    return {name: value for name, value in os.environ.items() if not name.startswith("TSUZUKI_")} | ours


@contextlib.asynccontextmanager
async def process(*arguments: str, env: dict[str, str] | None = None) -> AsyncIterator[Process]:
    """A child that is gone at the end of the block, whatever happens in it."""
    child = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=PIPE, stderr=PIPE, env=env)
    try:
        yield child
    finally:
        with contextlib.suppress(ProcessLookupError):
            child.kill()
        await child.communicate()


def serve(folder: Path, *options: str, **variables: object):
    return process("-m", "tsuzuki", "serve", *options, env=environment(folder, **variables))


async def line_of(child: Process, within: float = PATIENCE_S) -> str:
    assert child.stdout is not None
    return (await asyncio.wait_for(child.stdout.readline(), within)).decode().strip()


async def refusal(folder: Path, *options: str, **variables: object) -> tuple[int, str]:
    """The exit status and stderr of a start that fails."""
    async with serve(folder, *options, **variables) as child:
        out, err = await asyncio.wait_for(child.communicate(), PATIENCE_S)
        assert out == b""
        assert child.returncode is not None
        return child.returncode, err.decode()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_serve_prints_its_address_and_stops_with_status_0(tmp_path, number):
    async with serve(tmp_path, "--port", "0") as child:
        line = await line_of(child)
        found = re.fullmatch(r"Tsuzuki is at (http://127\.0\.0\.1:\d+) \((.+)\)\. Ctrl\+C stops it\.", line)
        assert found is not None
        assert found[2] == str(tmp_path / "tsuzuki.db")
        async with aiohttp.ClientSession() as session, session.get(found[1] + "/api/v1/about") as response:
            assert response.status == 200
            child.send_signal(number)
            out, err = await asyncio.wait_for(child.communicate(), PATIENCE_S)
    assert child.returncode == 0
    assert out == b""
    assert all(line.startswith(b"{") for line in err.splitlines())


STARTED = """
import asyncio, sys
from tsuzuki.cli import main
from tsuzuki.cli.start import start_server
settings = start_server()
from tsuzuki.app.bootstrap import open_tsuzuki
UNUSED = {"rich", "cryptography", "asyncpg", "authlib", "babel", "redis", "trafilatura", "aiohttp", "PIL", "jinja2"}
UNUSED |= {"lxml", "selectolax", "nh3"}
async def opened():
    async with open_tsuzuki(settings):
        print(*UNUSED & set(sys.modules))
asyncio.run(opened())
"""


async def test_a_server_without_secrets_imports_less(tmp_path):
    """Libraries that take time and memory are imported by whoever needs them first."""
    async with process("-c", STARTED, env=environment(tmp_path)) as child:
        out, err = await asyncio.wait_for(child.communicate(), PATIENCE_S)
    assert (out, child.returncode) == (b"\n", 0), err.decode()


async def test_without_workers_the_line_says_so(tmp_path):
    async with serve(tmp_path, "--no-workers", "--port", "0") as child:
        assert "no workers" in await line_of(child)


async def answered(url: str) -> bool:
    """Whether a new connection is answered."""
    try:
        async with aiohttp.ClientSession() as session, session.get(url + "/api/v1/about") as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False


def others_of(folder: Path) -> set[int]:
    """The processes that serve beside the first one of this data folder."""
    return {int(found.parent.name) for found in Path("/proc").glob("[0-9]*/cmdline") if is_other(found.parent, folder)}


def is_other(process: Path, folder: Path) -> bool:
    with contextlib.suppress(OSError):  # it may end while we look
        command, variables = (process / "cmdline").read_bytes(), (process / "environ").read_bytes()
        return b"--socket" in command and f"TSUZUKI_DATA_DIR={folder}\0".encode() in variables
    return False


async def until_others_are(folder: Path, are_so: Callable[[set[int]], bool]) -> None:
    async def look() -> bool:
        return are_so(others_of(folder))

    await eventually(look)


@contextlib.asynccontextmanager
async def three_processes(tmp_path: Path, url: str) -> AsyncIterator[tuple[Process, str]]:
    """Serving on one port, and where; all of them end with the first."""
    async with serve(tmp_path, "--processes", "3", DATABASE_URL=in_settings(url), PORT=0) as first:
        line = await line_of(first)
        assert "(PostgreSQL, 3 processes)" in line
        await until_others_are(tmp_path, lambda found: len(found) == 2)
        yield first, line.split()[3]
    await until_others_are(tmp_path, lambda found: not found)


@pytest.mark.parametrize("engine", ["postgres"])
async def test_others_answer_on_the_port_while_the_first_process_hangs(empty_database_url, tmp_path):
    async with three_processes(tmp_path, empty_database_url) as (first, url):
        first.send_signal(signal.SIGSTOP)
        assert await answered(url)
        first.send_signal(signal.SIGCONT)
        first.terminate()
        await asyncio.wait_for(first.communicate(), PATIENCE_S)
    assert first.returncode == 0


@pytest.mark.parametrize("engine", ["postgres"])
async def test_a_killed_process_is_replaced_and_all_end_together(empty_database_url, tmp_path):
    async with three_processes(tmp_path, empty_database_url) as (first, url):
        killed, other = others_of(tmp_path)
        os.kill(killed, signal.SIGKILL)
        await until_others_are(tmp_path, lambda found: len(found - {killed}) == 2)
        assert other in others_of(tmp_path)
        assert await answered(url)
        first.kill()


async def test_a_process_that_cannot_be_started_is_tried_again(tmp_path, monkeypatch):
    program, started = tmp_path / "python", tmp_path / "started"
    monkeypatch.setattr(sys, "executable", str(program))
    with listen("127.0.0.1", 0) as bound:
        async with WebProcesses(bound).running(1):
            await asyncio.sleep(0.1)  # there is no such program yet
            program.write_text(f"#!/bin/sh\ntouch {started}\nexec cat\n")
            program.chmod(0o700)
            await eventually(lambda: asyncio.to_thread(started.exists))


async def test_several_processes_on_sqlite_are_refused(tmp_path):
    status, said = await refusal(tmp_path, "--processes", "2", PORT=0)
    assert status == 2
    assert "--processes needs PostgreSQL" in said


async def test_a_port_in_use_is_one_line_and_status_1(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        status, said = await refusal(tmp_path, "--port", str(port))
    assert status == 1
    assert said == (
        f"Error: Port {port} on 127.0.0.1 is in use. Is Tsuzuki running already? Choose another with --port.\n"
    )


async def test_a_foreign_address_is_one_line_and_status_1(tmp_path):
    status, said = await refusal(tmp_path, "--host", "203.0.113.1", "--port", "0")
    assert (status, len(said.splitlines())) == (1, 1)
    assert "203.0.113.1" in said


async def test_an_unreachable_database_is_one_line_and_status_1(tmp_path):
    url = f"postgresql://ann:canary@127.0.0.1:{free_port()}/x"
    status, said = await refusal(tmp_path, PORT=0, DATABASE_URL=url)
    assert (status, len(said.splitlines())) == (1, 1)
    assert said.startswith("Error: Cannot connect to PostgreSQL")
    assert "canary" not in said


async def test_a_file_that_is_no_database_is_one_line(tmp_path):
    (tmp_path / "tsuzuki.db").write_bytes(b"not a database, but long enough to look like one" * 100)
    status, said = await refusal(tmp_path, PORT=0)
    assert (status, len(said.splitlines())) == (1, 1)
    assert "is not a SQLite database" in said


async def test_an_unknown_variable_is_a_warning_and_no_more(tmp_path):
    async with serve(tmp_path, PORT=0, PROT=1) as child:
        await line_of(child)
        child.terminate()
        _, err = await asyncio.wait_for(child.communicate(), PATIENCE_S)
    assert child.returncode == 0
    assert b"TSUZUKI_PROT is not a known setting; did you mean TSUZUKI_PORT?" in err


@pytest.mark.parametrize("command", ["serve", "work"])
async def test_a_flaresolverr_is_said_not_to_be_used(empty_database_url, tmp_path, command):
    url = in_settings(empty_database_url)
    env = environment(tmp_path, PORT=0, DATABASE_URL=url, FLARESOLVERR_URL="http://127.0.0.1:8191/v1")
    async with process("-m", "tsuzuki", command, env=env) as child:
        await line_of(child)
        child.terminate()
        _, err = await asyncio.wait_for(child.communicate(), PATIENCE_S)
    assert b"flaresolverr_is_not_used" in err


async def test_two_concurrent_starts_on_a_new_database_both_serve(tmp_path):
    async with serve(tmp_path, "--port", "0") as one, serve(tmp_path, "--port", "0") as two:
        assert (await line_of(one)).startswith("Tsuzuki is at ")
        assert (await line_of(two)).startswith("Tsuzuki is at ")


async def test_migrate_brings_either_engine_up_to_the_schema(empty_database_url, tmp_path):
    url = in_settings(empty_database_url)
    steps = available("sqlite")
    applied = ", ".join(f"{step.version:04d}_{step.name}" for step in steps)
    newest = steps[-1].version
    for said in (f"Schema 0 -> {newest}: applied {applied}.", f"Schema {newest}: nothing to do."):
        async with process("-m", "tsuzuki", "migrate", env=environment(tmp_path, DATABASE_URL=url)) as child:
            assert await line_of(child) == said
            assert await child.wait() == 0


async def test_sec_39_no_secret_of_settings_or_requests_is_in_the_log(tmp_path):
    async with serve(tmp_path, PORT=0, LOG_LEVEL="debug", PASSWORD="canary-1") as child:
        url = (await line_of(child)).split()[3]
        sent = {"authorization": "Bearer canary-2", "cookie": "session=canary-3"}
        async with aiohttp.ClientSession(headers=sent) as session:
            assert (await _get(session, f"{url}/api/v1/about?token=canary-4&x=1"))[0] == 200
            assert (await _get(session, f"{url}/nope?password=canary-5"))[0] == 404
        child.terminate()
        _, err = await asyncio.wait_for(child.communicate(), PATIENCE_S)
    assert err.count(b'"event":"request"') == 2
    assert b"canary" not in err


# -- stopping while requests are open


@contextlib.asynccontextmanager
async def asked_to_wait(
    *, grace_s: int, takes_s: float
) -> AsyncIterator[tuple[Process, asyncio.Task[tuple[int, str]]]]:
    """A server with one request open that it will take so long to answer."""
    async with process(SLOW, str(grace_s)) as child, aiohttp.ClientSession() as session:
        asked = asyncio.create_task(_get(session, f"{await line_of(child)}/{takes_s}"))
        assert await line_of(child) == "asked"
        yield child, asked


async def test_an_open_request_is_finished_before_the_server_stops():
    async with asked_to_wait(grace_s=10, takes_s=0.5) as (child, asked):
        child.terminate()
        assert await asked == (200, "done")
        out, _ = await asyncio.wait_for(child.communicate(), PATIENCE_S)
    assert (child.returncode, out) == (0, b"stopping\nclosed\n")


async def test_an_endless_request_is_cut_after_the_grace():
    async with asked_to_wait(grace_s=1, takes_s=60) as (child, asked):
        began = time.monotonic()
        child.terminate()
        status, said = await asked  # not the answer, which would take a minute
        out, err = await asyncio.wait_for(child.communicate(), PATIENCE_S)
    assert (status, "The server is stopping" in said) == (503, True)
    assert b"Traceback" not in err
    assert b"grace_exceeded" in err
    assert time.monotonic() - began > 0.9
    assert (child.returncode, out) == (0, b"stopping\nclosed\n")


async def test_a_second_signal_ends_at_once():
    async with asked_to_wait(grace_s=3600, takes_s=3600) as (child, asked):
        child.terminate()
        assert await line_of(child) == "stopping"  # two that came before anybody looked would be one
        child.terminate()
        with pytest.raises(aiohttp.ClientError):
            await asked
        await asyncio.wait_for(child.wait(), PATIENCE_S)
    assert child.returncode == 128 + signal.SIGTERM


async def _get(session: aiohttp.ClientSession, url: str) -> tuple[int, str]:
    async with session.get(url) as response:
        return response.status, await response.text()


async def test_an_open_event_stream_does_not_delay_the_stop(tmp_path):
    async with serve(tmp_path, "--port", "0", PASSWORD="correct horse") as child:
        found = re.search(r"http://127\.0\.0\.1:\d+", await line_of(child))
        assert found is not None
        api = f"{found[0]}/api/v1"
        async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
            async with session.post(f"{api}/sessions", json={"password": "correct horse"}) as response:
                assert response.status == 200
            async with session.get(f"{api}/events") as stream:
                assert (await stream.content.readline()).strip()
                child.send_signal(signal.SIGTERM)
                await asyncio.wait_for(stream.content.read(), PATIENCE_S)
            _, err = await asyncio.wait_for(child.communicate(), PATIENCE_S)
    assert child.returncode == 0
    # Whoever is still there when the grace is over is cancelled, which the log says, and the stream would be cut.
    assert b'"level":"error"' not in err
    assert b"grace_exceeded" not in err


async def test_a_new_server_prints_where_to_begin_and_its_code(tmp_path):
    ours, theirs = os.openpty()
    environ = environment(tmp_path)
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tsuzuki", "serve", "--port", "0", stdout=theirs, stderr=theirs, env=environ
    )
    os.close(theirs)
    try:
        said = await asyncio.wait_for(asyncio.to_thread(_until, ours, rb"enter the code (\w+)"), PATIENCE_S)
        assert re.search(rb"Open (http://127\.0\.0\.1:\d+)/setup and enter the code \w{20,}", said)
    finally:
        child.terminate()
        await asyncio.wait_for(child.wait(), PATIENCE_S)
        os.close(ours)


def _until(terminal: int, wanted: bytes) -> bytes:
    """What a terminal shows, up to this."""
    said = b""
    while re.search(wanted + rb"\s", said) is None:
        said += os.read(terminal, 4096)
    return said

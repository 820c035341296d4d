"""What every test may ask for: a database on each engine, the servers behind them, and no way out but loopback."""

import asyncio
import contextlib
import gc
import http.client
import ipaddress
import logging
import os
import secrets
import shutil
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

from tests import databases, engines, servers
from tests.scale import SEED, SOAK
from tests.stopwatch import stalls_counted
from tests.turns import in_turn
from tsuzuki.db import Database, DatabaseOptions, locks, open_database

POSTGRES = "TSUZUKI_TEST_POSTGRES_URL"
REDIS = "TSUZUKI_TEST_REDIS_URL"

_stack = pytest.StashKey[contextlib.ExitStack]()

locks.on_disorder = locks.refuse
gc.disable()  # until all is collected: nothing of it is garbage


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--no-servers", action="store_true", help="leave out every test that needs a server or a browser")
    parser.addoption("--soak", action="store_true", help="run the long tests with their full counts")
    parser.addoption("--all-engines", action="store_true", help="run every test on each engine that it can run on")
    parser.addoption("--seed", type=int, help="draw the same engines and cases as the run that named this number")


def pytest_configure(config: pytest.Config) -> None:
    """The first process starts the servers and draws the seed; xdist's workers inherit both."""
    if config.option.seed is None:
        config.option.seed = int(os.environ.get(SEED) or secrets.randbelow(10**6))
    os.environ[SEED] = str(config.option.seed)
    if config.getoption("--soak"):
        os.environ[SOAK] = "1"  # properties fix their counts when they are imported
    if (memory := servers.in_memory()) is not None:  # a commit waits for its disk, and tests make ten thousands of them
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(memory))
    if hasattr(config, "workerinput") or config.option.collectonly:
        return
    config.stash[_stack] = stack = contextlib.ExitStack()
    stack.enter_context(stalls_counted())
    if config.getoption("--no-servers"):
        return
    os.environ[POSTGRES], os.environ[REDIS] = stack.enter_context(servers.servers())
    asyncio.run(databases.make_template(os.environ[POSTGRES]))


def pytest_report_header(config: pytest.Config) -> str | None:
    if _is_on_all_engines(config):
        return None
    return f"engines are drawn; the same again with --seed={config.option.seed}"


def _is_on_all_engines(config: pytest.Config) -> bool:
    """`-k postgres` means what it says."""
    said = config.option
    return bool(said.all_engines or said.soak or said.no_servers or said.keyword)


def pytest_unconfigure(config: pytest.Config) -> None:
    if (stack := config.stash.get(_stack, None)) is not None:
        stack.close()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        asks = set(getattr(item, "fixturenames", ()))
        if asks & {"postgres_url", "redis_url"} or "[postgres" in item.name or "-postgres" in item.name:
            item.add_marker(pytest.mark.server)
    left: set[pytest.Item] = set()
    if config.getoption("--no-servers"):
        left = {item for item in items if item.get_closest_marker("server") or item.get_closest_marker("browser")}
    if "clients" not in config.option.markexpr:
        left |= {item for item in items if item.get_closest_marker("clients")}
    if not _is_on_all_engines(config):
        left |= _of_other_engines(config, items)
    if left:
        config.hook.pytest_deselected(items=list(left))
        items[:] = [item for item in items if item not in left]
    if (processes := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))) > 1:
        items[:] = [items[place] for place in in_turn([(item.nodeid, _longest(item)) for item in items], processes)]


def _longest(item: pytest.Item) -> float:
    """How long a test may take, by its own time-out; less than a long one has for one that is only marked as long."""
    timeout = item.get_closest_marker("timeout")
    return max(timeout.args[0] if timeout else 0.0, 60.0 if item.get_closest_marker("soak") else 0.0)


def _of_other_engines(config: pytest.Config, items: list[pytest.Item]) -> set[pytest.Item]:
    callspecs = {item: getattr(item, "callspec", None) for item in items if not item.get_closest_marker("both_engines")}
    engine_of = {
        item.nodeid: spec.params["engine"] for item, spec in callspecs.items() if spec and "engine" in spec.params
    }
    long = {item.nodeid for item in items if item.get_closest_marker("soak")}
    left = engines.left_out(engine_of, config.option.seed, long)
    return {item for item in items if item.nodeid in left}


def pytest_collection_finish() -> None:
    """What was collected stays to the end: without this, every full collection of garbage looks at all of it again."""
    gc.collect()
    gc.freeze()
    gc.enable()


# -- the network


def _only_loopback(event: str, arguments: tuple[Any, ...]) -> None:
    """Seen by the interpreter itself, so no library evades it. Raising here stops the call."""
    if event in {"socket.connect", "socket.sendto", "socket.sendmsg"} and isinstance(arguments[1], tuple):
        _must_be_loopback(arguments[1][0])


def _must_be_loopback(host: object) -> None:
    with contextlib.suppress(ValueError):
        if ipaddress.ip_address(str(host)).is_loopback:
            return
    if host not in {"localhost", ""}:
        raise RuntimeError(f"a test tried to reach {host}; tests talk to loopback only")


sys.addaudithook(_only_loopback)


# -- servers and databases


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """An administrator's URL of the PostgreSQL server."""
    return os.environ[POSTGRES]


@pytest.fixture(scope="session")
def redis_url() -> str:
    """A Redis database of this worker's own: a test may flush it."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    return urlunsplit(urlsplit(os.environ[REDIS])._replace(path=f"/{int(worker) % 16}"))


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    """A server that speaks S3, on loopback; obstore's connections are not seen by the hook above."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # it tells of every request
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def s3_url(s3_endpoint: str) -> str:
    """The address of a bucket of the test's own, with a key and a secret that must not be seen anywhere."""
    bucket = f"bucket-{secrets.token_hex(8)}"
    server = http.client.HTTPConnection(urlsplit(s3_endpoint).netloc)
    server.request("PUT", f"/{bucket}")
    assert server.getresponse().status == 200
    server.close()
    return f"s3://CANARYKEY:canary%2Fsecret@{bucket}/some/prefix?endpoint={s3_endpoint}&region=us-east-1"


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine in turn."""
    name: str = request.param
    return name


@pytest.fixture(scope="session")
def sqlite_template() -> Path:
    return databases.sqlite_template()


@pytest.fixture
async def database_url(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    """A migrated, empty database of the test's own."""
    if engine == "sqlite":
        path = tmp_path / "tsuzuki.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite://{path}"
        return
    async with databases.migrated(request.getfixturevalue("postgres_url")) as url:
        yield url


@pytest.fixture
async def empty_database_url(engine: str, request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[str]:
    """A database of the test's own with nothing in it."""
    if engine == "sqlite":
        yield f"sqlite://{tmp_path / 'empty.db'}"
        return
    async with databases.empty(request.getfixturevalue("postgres_url")) as url:
        yield url


@pytest.fixture
async def db(database_url: str) -> AsyncIterator[Database]:
    """A migrated, empty database, open."""
    few = 1 if database_url.startswith("postgresql:") else 2  # a pool opens more when they are needed
    database = await open_database(DatabaseOptions(database_url, min_connections=few))
    yield database
    await database.close()

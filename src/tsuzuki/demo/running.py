"""The demo from its start to its end."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from importlib.resources import files
from itertools import cycle
from pathlib import Path
from typing import Any

import msgspec
import structlog
from starlette.types import ASGIApp

from tsuzuki.app.bootstrap import Tsuzuki, open_tsuzuki, wall_clock
from tsuzuki.app.server import Server, listen, url_of
from tsuzuki.demo.guest import Welcome
from tsuzuki.demo.publisher import DemoPublisher
from tsuzuki.demo.seeding import DemoShelf, seed
from tsuzuki.demo.stories import COMICS, JOURNALS
from tsuzuki.model.errors import TsuzukiError
from tsuzuki.settings import Settings, read_settings

ADMIN_PASSWORD_BYTES = 9
EVERY_S = 4.0
"""How long the publisher waits between two installments."""

_LOOPBACK = "127.0.0.1"
_log = structlog.stdlib.get_logger("tsuzuki.demo")


class Demo(msgspec.Struct, frozen=True):
    """Everything that runs: the pages for a guest, and who else can sign in."""

    opened: Tsuzuki
    app: ASGIApp
    admin_password: str
    publisher: DemoPublisher
    followed: DemoShelf


def demo_settings(environ: Mapping[str, str], folder: Path, password: str) -> Settings:
    """Settings of a server that has nothing but this folder, and may call this machine."""
    return read_settings(demo_environ(environ, folder, password))


def demo_environ(environ: Mapping[str, str], folder: Path, password: str) -> dict[str, str]:
    """The variables that say so."""
    said = {
        "TSUZUKI_DATA_DIR": str(folder),
        "TSUZUKI_ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8",
        "TSUZUKI_PASSWORD": password,
        "TSUZUKI_HOST": _LOOPBACK,
        "TSUZUKI_PULL_INTERVAL": "1s",  # R96: so often may be asked
    }
    kept = ("TSUZUKI_PORT", "TSUZUKI_LOG_LEVEL", "TSUZUKI_LOG_FORMAT")
    return {name: environ[name] for name in kept if name in environ} | said


@asynccontextmanager
async def open_demo(environ: Mapping[str, str], folder: Path) -> AsyncIterator[Demo]:
    """A publisher, a server and a guest; something new comes out every few seconds until the end of the block."""
    admin, guest = (secrets.token_urlsafe(ADMIN_PASSWORD_BYTES) for _ in range(2))
    publisher = DemoPublisher(wall_clock)
    async with _published(publisher) as base:
        _write_definition(folder, base)
        said = demo_environ(environ, folder, admin)
        async with open_tsuzuki(read_settings(said), environ=said) as opened:
            opened.worker_loops.start()
            try:
                followed = await seed(opened, base, guest)
                app = Welcome(opened.app, opened.accounts, guest)
                async with _running(_publish(opened, publisher, followed)):
                    yield Demo(opened, app, admin, publisher, followed)
            finally:
                await opened.worker_loops.stop()


@asynccontextmanager
async def _published(publisher: DemoPublisher) -> AsyncIterator[str]:
    """The publisher's address while it is served."""
    with listen(_LOOPBACK, 0) as bound:
        server = Server(publisher.app, grace_s=1)
        async with _running(server.serve(sockets=[bound]), end=server.stop):
            yield url_of(bound)


@asynccontextmanager
async def _running(work: Coroutine[Any, Any, None], end: Callable[[], None] | None = None) -> AsyncIterator[None]:
    """Do this meanwhile; it is ended, or cancelled, with the block."""
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        if end is None:
            task.cancel()
        else:
            end()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def _write_definition(folder: Path, base: str) -> None:
    text = (files("tsuzuki.demo") / "definition.yaml").read_text("utf-8")
    target = folder / "sources"
    target.mkdir(parents=True, exist_ok=True)
    (target / "demo.yaml").write_text(text.replace("{base}", base), "utf-8")


async def _publish(opened: Tsuzuki, publisher: DemoPublisher, followed: DemoShelf) -> None:
    """Bring out one installment after the other, and tell the server that there is something: as a hub would."""
    stories = [story.slug for pair in zip(JOURNALS, COMICS, strict=True) for story in pair]
    for slug in cycle(stories):
        await asyncio.sleep(EVERY_S)
        publisher.release(slug)
        try:
            await _look(opened, followed, slug)
        except TsuzukiError as error:  # the next one will tell again
            _log.warning("demo_refresh_failed", story=slug, why=str(error))


async def _look(opened: Tsuzuki, followed: DemoShelf, slug: str) -> None:
    """A feed that the guest has left or suspended is left alone: a wish of theirs is no wish to have it checked."""
    if slug not in followed.feeds:
        await opened.catalogue.chapter_lists.list(followed.manga[slug], followed.shelf_id, refresh=True)
        return
    feeds = await opened.reading.subscriptions.list(followed.shelf_id)
    if any(feed.public_id == followed.feeds[slug] and not feed.is_suspended for feed in feeds):
        await opened.reading.subscriptions.refresh(followed.shelf_id, followed.feeds[slug])

"""The demo: a sample publisher, a server, and a guest who follows everything that is published."""

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
from starlette.requests import Request
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tsuzuki.accounts.services import Accounts
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.accounts.users import NewPerson
from tsuzuki.app.bootstrap import Tsuzuki, open_tsuzuki
from tsuzuki.app.opening import wall_clock
from tsuzuki.app.server import Server, listen, url_of
from tsuzuki.catalogue.browse import ListRequest
from tsuzuki.demo.publisher import DemoPublisher
from tsuzuki.demo.stories import COMICS, JOURNALS
from tsuzuki.http.auth import SESSION, Cookies, begin_session, device_of, is_addressed_locally
from tsuzuki.model.errors import TsuzukiError
from tsuzuki.model.ids import PublicId, ShelfId
from tsuzuki.settings import Settings, read_settings
from tsuzuki.shelves.types import FollowRequest, NewSubscription
from tsuzuki.sources.types import SourceRegistration

ADMIN_PASSWORD_BYTES = 9
EVERY_S = 4.0
"""How long the publisher waits between two installments."""

_LOOPBACK = "127.0.0.1"
_log = structlog.stdlib.get_logger("tsuzuki.demo")
GUEST = "guest"
FEEDS = {"harbour-log": "/journals/harbour-log/feed.xml", "small-machines": "/journals/small-machines/feed.json"}
CONNECTOR = "localhost.demo"


class DemoShelf(msgspec.Struct, frozen=True):
    """The guest's shelf, and what is on it by the name that the publisher gives it."""

    shelf_id: ShelfId
    feeds: dict[str, PublicId]
    manga: dict[str, int]


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
                followed = await _seed(opened, base, guest)
                app = GuestSignIn(opened.app, opened.accounts, guest)
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
    """Publish one installment after the other, and notify the server of each as a hub would."""
    stories = [story.slug for pair in zip(JOURNALS, COMICS, strict=True) for story in pair]
    for slug in cycle(stories):
        await asyncio.sleep(EVERY_S)
        publisher.release(slug)
        try:
            await _look(opened, followed, slug)
        except TsuzukiError as error:  # the next one notifies again
            _log.warning("demo_refresh_failed", story=slug, why=str(error))


async def _look(opened: Tsuzuki, followed: DemoShelf, slug: str) -> None:
    """A feed that the guest has left or suspended is left alone: they did not ask to have it checked."""
    if slug not in followed.feeds:
        await opened.catalogue.chapter_lists.list(followed.manga[slug], followed.shelf_id, refresh=True)
        return
    feeds = await opened.reading.subscriptions.list(followed.shelf_id)
    if any(feed.public_id == followed.feeds[slug] and not feed.is_suspended for feed in feeds):
        await opened.reading.subscriptions.refresh(followed.shelf_id, followed.feeds[slug])


async def _seed(opened: Tsuzuki, base: str, password: str) -> DemoShelf:
    """Add the guest and the source, and follow all four."""
    guest = await opened.accounts.users.add(
        SYSTEM, NewPerson(username=GUEST, role="reader", password=password), is_strict=False
    )
    shelf_id = (await opened.accounts.current_user.shelf_of(guest)).id
    comics = await opened.reading.groups.add(shelf_id, "Comics")
    journals = await opened.reading.groups.add(shelf_id, "Journals")
    feeds = {
        journal.slug: await _subscribe(opened, shelf_id, base + FEEDS[journal.slug], journals.public_id)
        for journal in JOURNALS
    }
    return DemoShelf(shelf_id, feeds, await _follow_comics(opened, shelf_id, base, comics.public_id))


async def _subscribe(opened: Tsuzuki, shelf_id: ShelfId, link: str, group: PublicId) -> PublicId:
    return (await opened.reading.subscriptions.add(shelf_id, NewSubscription(link=link, group=group))).public_id


async def _follow_comics(opened: Tsuzuki, shelf_id: ShelfId, base: str, group: PublicId) -> dict[str, int]:
    wanted = SourceRegistration(name="Sample publisher", slug="sample-publisher", base_url=base, connector=CONNECTOR)
    source = await opened.crawling.sources.register(SYSTEM, wanted)
    listed = await opened.catalogue.browsing.browse(source.id, ListRequest(kind="popular", shelf_id=shelf_id))
    found = {manga.url.rpartition("/")[2]: manga for manga in listed.value.manga}
    for comic in COMICS:
        manga = found[comic.slug]
        await opened.catalogue.details.show(manga.id, shelf_id)
        await opened.reading.follows.add(shelf_id, FollowRequest(series=manga.series_public_id, group=group))
    return {comic.slug: found[comic.slug].id for comic in COMICS}


class GuestSignIn:
    """The same pages; only the first one signs a stranger in. It is reached from this machine alone."""

    def __init__(self, app: ASGIApp, accounts: Accounts, password: str) -> None:
        self._app = app
        self._sign_in = accounts.sign_in
        self._sessions = accounts.sessions
        self._password = password
        self._let_in = Cookies(self._enter)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        is_first = scope["type"] == "http" and scope["method"] == "GET" and scope["path"] == "/"
        if is_first and await self._is_stranger(Request(scope)):
            await self._let_in(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _enter(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        signed_in = await self._sign_in.sign_in(GUEST, self._password, device_of(request))
        begin_session(request, signed_in)
        await RedirectResponse("/", 303)(scope, receive, send)

    async def _is_stranger(self, request: Request) -> bool:
        """A session of another server that was at this address, or of the last demo, is none here."""
        if not is_addressed_locally(request):
            return False
        key = SESSION.read(request)
        return key is None or await self._sessions.resume(key, device_of(request).address) is None

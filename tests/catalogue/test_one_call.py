"""R102: two servers that share a PostgreSQL, or a Redis beside their database, call a source once for a cold key."""

import asyncio
from contextlib import asynccontextmanager

import aiohttp
import pytest

from tests.api.people import Visitor
from tests.app import Client
from tests.catalogue.builders import SMALL, a_browsing_app, a_site, got
from tests.catalogue.sample import a_sample
from tests.crawler.builders import a_crawling_app
from tests.images.builders import a_gallery, a_picture
from tests.test_serve import line_of, serve
from tests.waiting import eventually
from tsuzuki.catalogue.calls import LEASE, CallLocks
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import HttpStatus
from tsuzuki.model.times import Millis

_q = parse_queries(
    "tests",
    """
-- name: locks
select count(*) from call_lock;
-- name: abandon
insert into call_lock (key, holder, until) values ('key', 'dead', :until);
""",
)


@pytest.fixture
def shared(engine, request):
    """What makes several processes know of each other, beside the database."""
    return {"redis_url": request.getfixturevalue("redis_url")} if engine == "sqlite" else {}


@asynccontextmanager
async def two_servers(tmp_path, database_url, sample, shared):
    """Two of them with one reader, who is signed in at both, and the site that both know."""
    async with (
        a_browsing_app(tmp_path, database_url, sample, **shared) as one,
        a_browsing_app(tmp_path, database_url, sample, **shared) as other,
    ):
        site = await a_site(one, sample)
        user = await one.add()
        cookie = await one.session(user)
        yield site, [Visitor(app.client, cookie=cookie) for app in (one, other)], one


@asynccontextmanager
async def two_processes(tmp_path, database_url, sample, shared):
    """The same, each in a process of its own."""
    env = {"DATABASE_URL": database_url, "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8"}
    env |= {name.upper(): value for name, value in shared.items()}
    options = ("--port", "0", "--no-workers")
    async with (
        a_browsing_app(tmp_path, database_url, sample, **shared) as app,
        serve(tmp_path, *options, **env) as one,
        serve(tmp_path, *options, **env) as other,
        aiohttp.ClientSession() as session,
    ):
        site, cookie = await a_site(app, sample), await app.session(await app.add())
        urls = [(await line_of(child, within=150)).split()[3] for child in (one, other)]
        yield site, [Visitor(Client(session, url), cookie=cookie) for url in urls]


async def ask_both(sample, readers, path):
    """Ask both at once, while the site keeps everybody waiting."""
    before, sample.gate = len(sample.asked), asyncio.Event()
    asking = [asyncio.create_task(reader.get(path)) for reader in readers for _ in range(2)]

    async def is_called():
        return len(sample.asked) > before

    await eventually(is_called)
    await asyncio.sleep(0.5)  # long enough for the other to call too, if it were to
    sample.gate.set()
    answers = await asyncio.gather(*asking)
    return answers, sample.asked[before:]


async def test_r102_two_servers_call_a_source_once_for_a_cold_list(tmp_path, database_url, shared):
    async with a_sample(SMALL) as sample, two_servers(tmp_path, database_url, sample, shared) as (site, readers, app):
        answers, calls = await ask_both(sample, readers, f"/sources/{site}/popular")
        assert [answer.status for answer in answers] == [200] * 4
        assert len({answer.json()["data"][0]["id"] for answer in answers}) == 1
        assert calls == ["/list.json?page=1"]
        manga = answers[0].json()["data"][0]["id"]
        for path in (f"/manga/{manga}", f"/manga/{manga}/chapters?refresh=true"):
            answers, calls = await ask_both(sample, readers, path)
            assert [answer.status for answer in answers] == [200] * 4
            assert len(calls) == len(set(calls)), calls
        assert await app.db.read(lambda tx: tx.one(int, _q.locks)) == 0


@pytest.mark.timeout(300)
async def test_r102_two_processes_call_a_source_once(tmp_path, database_url, shared):
    async with a_sample(SMALL) as sample, two_processes(tmp_path, database_url, sample, shared) as (site, readers):
        answers, calls = await ask_both(sample, readers, f"/sources/{site}/popular")
        assert [answer.status for answer in answers] == [200] * 4
        assert calls == ["/list.json?page=1"]
        sample.is_down = True
        answers, calls = await ask_both(sample, readers, f"/sources/{site}/latest")
        assert [answer.status for answer in answers] == [503] * 4
        assert len(calls) == 1


async def test_r102_what_fails_for_one_server_fails_for_both(tmp_path, database_url, shared):
    async with a_sample(SMALL) as sample, two_servers(tmp_path, database_url, sample, shared) as (site, readers, _):
        sample.is_down = True
        answers, calls = await ask_both(sample, readers, f"/sources/{site}/popular")
        assert {answer.status for answer in answers} == {503}
        assert len({answer.json()["error"] for answer in answers}) == 1
        assert len(calls) == 1
        sample.is_down = False
        await got(readers[1], f"/sources/{site}/popular")  # it may be asked again at once


async def test_r102_two_servers_download_an_image_once(tmp_path, database_url, shared):
    async with a_gallery(tmp_path, database_url, **shared) as gallery:
        gate, picture = asyncio.Event(), a_picture(noisy=True)

        async def show(writer):
            await gate.wait()
            head = f"HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: {len(picture)}\r\n\r\n"
            writer.write(head.encode() + picture)

        gallery.show(0, show)
        async with a_crawling_app(tmp_path, database_url, **shared) as other:
            readers = [gallery.reader, Visitor(other.client)]
            readers[1].headers = gallery.reader.headers
            asking = [asyncio.create_task(reader.get(gallery.page(0))) for reader in readers]

            async def is_called():
                return gallery.site.asked_for("/0.png") > 0

            await eventually(is_called)
            await asyncio.sleep(0.5)
            gate.set()
            answers = await asyncio.gather(*asking)
        assert [(answer.status, answer.body) for answer in answers] == [(200, picture)] * 2
        assert gallery.site.asked_for("/0.png") == 1


# -- the lock


def locks(db, now):
    return CallLocks(db, lambda: Millis(now[0]), is_shared=True)


async def test_r102_one_at_a_time_holds_a_key(db):
    now, inside, most = [0], 0, 0

    async def call():
        nonlocal inside, most
        async with locks(db, now).acquire("key"):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0.01)
            inside -= 1

    await asyncio.gather(*(call() for _ in range(8)))
    assert most == 1
    assert await db.read(lambda tx: tx.one(int, _q.locks)) == 0


async def test_r102_a_dead_server_delays_others_by_one_lease(db):
    now = [1_000]
    await db.with_tx(lambda tx: tx.run(_q.abandon, until=1_000 + LEASE))
    calling = asyncio.create_task(_held(locks(db, now)))
    await asyncio.sleep(0.3)
    assert not calling.done()
    now[0] += LEASE
    assert await asyncio.wait_for(calling, 5) is True


async def test_r102_waiters_get_the_failure_and_later_callers_do_not(db):
    now, may_fail = [0], asyncio.Event()

    async def fail():
        async with locks(db, now).acquire("key"):
            await may_fail.wait()
            raise HttpStatus("It answered 500.", status=500, retry_after=7)

    failing = asyncio.create_task(fail())
    await asyncio.sleep(0.2)
    waiting = asyncio.create_task(_held(locks(db, now)))
    await asyncio.sleep(0.2)
    may_fail.set()
    for task in (failing, waiting):
        with pytest.raises(HttpStatus, match="It answered 500") as raised:
            await task
        assert (raised.value.status, raised.value.retry_after) == (500, 7)
    assert await _held(locks(db, now)) is False


async def _held(lock):
    async with lock.acquire("key") as has_waited:
        return has_waited

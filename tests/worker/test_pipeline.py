"""From a publisher to an inbox, with everything running."""

from contextlib import asynccontextmanager

from tests.app import settings_for
from tests.builders import stored_feed, stored_watch
from tests.delivery.builders import a_reader, entries_of
from tests.net.builders import answer
from tests.polling.builders import a_feed, a_publisher, q
from tests.waiting import eventually
from tsuzuki.app.opening import wall_clock
from tsuzuki.app.pipeline import open_pipeline, worker_loops
from tsuzuki.model.times import Millis


@asynccontextmanager
async def running(db, database_url, tmp_path, **over):
    settings = settings_for(tmp_path, database_url=database_url, allow_private_networks="127.0.0.0/8", **over)
    async with open_pipeline(settings, db, clock=wall_clock) as way:
        loops = worker_loops(way, settings, db, clock=wall_clock)
        loops.start()
        yield way
        await loops.stop()


async def test_what_is_published_arrives_in_every_inbox_once(db, database_url, tmp_path):
    async with a_publisher() as publisher:
        publisher.response = answer(200, a_feed("2", "1"))
        feed = await stored_feed(db, f"{publisher.url}/feed")
        watch = await stored_watch(db, feed, host="127.0.0.1", next_check_at=Millis(wall_clock()))
        shelves = [await a_reader(db, feeds=[feed]) for _ in range(3)]

        async def have(count):
            return all([len(await entries_of(db, shelf)) == count for shelf in shelves])

        async with running(db, database_url, tmp_path) as pipeline:
            await eventually(lambda: have(2))
            publisher.response = answer(200, a_feed("3", "2", "1"))
            await db.with_tx(lambda tx: tx.run(q.age, id=watch))
            await pipeline.poller.ask_refresh(watch)
            pipeline.wakeup.wake("poll-source")
            await eventually(lambda: have(3))
        assert len(publisher.requests) == 2

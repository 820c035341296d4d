"""REL-01: whoever dies between stored and notified, the notice is told, once inward and under one id outward."""

import asyncio
import signal
import sys
from collections import Counter
from pathlib import Path

from tests.delivery.builders import a_followed_series, entries_of, release
from tests.notifications.child import AFTER, BEFORE, TELLING
from tests.notifications.receivers import a_notifier, a_receiver
from tsuzuki.db import DatabaseOptions, open_database

ROOT = Path(__file__).parents[2]


async def dies(url, series, number, point):
    """Run the child until it kills itself at its point."""
    command = (sys.executable, "-m", "tests.notifications.child", url, str(series), str(number), point)
    child = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stderr=asyncio.subprocess.PIPE)
    async with asyncio.timeout(60):
        _, errors = await child.communicate()
    assert child.returncode == -signal.SIGKILL, errors.decode()


async def test_rel_01_despite_crashes_every_chapter_is_notified_under_one_id(database_url):
    points = dict(enumerate(BEFORE + AFTER, 1))
    async with a_receiver() as receiver:
        db = await open_database(DatabaseOptions(database_url))
        series, readers = await a_followed_series(db, readers=2)
        async with a_notifier(db) as notifier:
            for reader in readers:
                await notifier.webhook(reader, f"{receiver.url}/{reader}")
        await db.close()

        for number, point in points.items():
            await dies(database_url, series, number, point)

        db = await open_database(DatabaseOptions(database_url))
        async with a_notifier(db) as notifier:
            # What was rolled back was never stored: the source still has it, and the next poll brings it.
            again = await release(db, series, points, now=notifier.clock())
            assert again.entries == len(BEFORE) * len(readers)
            async with notifier.open():
                await notifier.until_idle()
            assert await notifier.tasks.letters() == []
        for reader in readers:
            assert len(await entries_of(db, reader)) == len(points)
        await db.close()

    told = {(got.path, got.document["data"]["number"]) for got in receiver.got}
    assert told == {(f"/{reader}", str(number)) for reader in readers for number in points}
    assert len({(got.id, got.body) for got in receiver.got}) == len(told)
    # Told again is only what somebody died over while telling: under the same id, in the same words.
    assert max(Counter(got.id for got in receiver.got).values()) <= 1 + len(TELLING)


async def test_a_repeated_delivery_has_the_same_id_and_text(database_url):
    async with a_receiver() as receiver:
        db = await open_database(DatabaseOptions(database_url))
        series, [reader] = await a_followed_series(db)
        async with a_notifier(db) as notifier:
            await notifier.webhook(reader, receiver.url)
        await db.close()
        await dies(database_url, series, 1, "told")
        db = await open_database(DatabaseOptions(database_url))
        async with a_notifier(db) as notifier, notifier.open():
            await notifier.until_idle()
        await db.close()
    assert len(receiver.got) == 2
    assert len({(got.id, got.body) for got in receiver.got}) == 1

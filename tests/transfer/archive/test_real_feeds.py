"""What polls stored is already as an import would have it: nothing of it is changed on the way."""

import shutil

from tests.builders import NOON, a_public_id, store_items_tx
from tests.data.feeds.make import corpus
from tests.transfer.archive.builders import a_reader, parts_of
from tsuzuki.connectors.feed.parser import parse_anyhow
from tsuzuki.db import DatabaseOptions, open_database
from tsuzuki.ingest.items import new_item
from tsuzuki.model.errors import SourceError
from tsuzuki.shelves.backfill import ALWAYS, add_known_entries_tx
from tsuzuki.shelves.groups import default_group_tx
from tsuzuki.shelves.subscriptions import add_subscription_tx
from tsuzuki.shelves.types import NewSubscriptionRow
from tsuzuki.sources.feeds import follow_feed_tx


def harvests():
    """Every second of the feeds that the readers of feeds are tried on."""
    for name, body in list(corpus().items())[::2]:
        link = f"https://example.org/{name}"
        try:
            yield link, parse_anyhow(body, link).items
        except SourceError:
            continue


async def stored(db, reader):
    """A shelf that follows all these feeds."""

    async def fill(tx):
        group = (await default_group_tx(tx, reader.shelf_id)).id
        for link, items in harvests():
            feed = await follow_feed_tx(tx, link, proxy="", now=NOON)
            row = NewSubscriptionRow(public_id=a_public_id(), shelf_id=reader.shelf_id, feed_id=feed, group_id=group)
            await add_subscription_tx(tx, row, NOON)
            await store_items_tx(tx, feed, [new_item(item, NOON) for item in items], NOON)
            await add_known_entries_tx(tx, reader.shelf_id, feed, since=ALWAYS, most=50, now=NOON)

    await db.with_tx(fill)


async def test_what_polls_stored_comes_out_and_goes_in_unchanged(db, tmp_path, sqlite_template):
    reader = await a_reader(db, tmp_path)
    await stored(db, reader)
    path = await reader.export()
    assert len(parts_of(path)["items.jsonl"]) > 100
    shutil.copy(sqlite_template, tmp_path / "other.db")
    elsewhere = await open_database(DatabaseOptions(f"sqlite://{tmp_path / 'other.db'}"))
    try:
        other = await a_reader(elsewhere, tmp_path)
        brought = await other.import_archive(path)
        assert brought.notes == ()
        assert parts_of(await other.export()) == parts_of(path)
    finally:
        await elsewhere.close()

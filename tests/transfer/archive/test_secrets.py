"""R47: no secret is in an archive, and nothing that is only this server's."""

from tests.builders import (
    NOON,
    a_new_chapter,
    a_new_item,
    a_new_release,
    a_public_id,
    store_items_tx,
    stored_series,
    stored_source,
)
from tests.transfer.archive.builders import a_reader, an_archive, parts_of, plain_fields
from tsuzuki.ingest.chapters import upsert_chapters_tx, upsert_releases_tx
from tsuzuki.notifications.channels import list_channels_tx
from tsuzuki.notifications.kinds import KINDS
from tsuzuki.notifications.store import NewChannel, add_channel_tx
from tsuzuki.shelves.follows import add_follow_tx
from tsuzuki.shelves.groups import default_group_tx
from tsuzuki.shelves.subscriptions import add_subscription_tx
from tsuzuki.shelves.types import NewSubscriptionRow, PlainFollowRow, ReleasePreferences
from tsuzuki.sources.feeds import follow_feed_tx
from tsuzuki.sources.series import add_series_source_tx
from tsuzuki.transfer.archive.format import ChannelLine

PASSWORD = "correct-horse"
CHANNELS: dict[str, dict[str, object]] = {
    kind.name: {
        "url": f"https://example.org/{PASSWORD}",
        **{name: PASSWORD for name in kind.config.__struct_fields__ if kind.hides(name)},
        **plain_fields(kind),
    }
    for kind in KINDS.values()
}


async def a_shelf_full_of_secrets(db, reader):
    source = await stored_source(
        db,
        config={
            "api_token": PASSWORD,
            "headers": {"Cookie": PASSWORD, "Accept": "text/html"},
            "proxy": f"http://me:{PASSWORD}@proxy.example.org:8080",
            "mirrors": [f"https://me:{PASSWORD}@example.org/"],
            "pages": 3,
        },
    )
    series = await stored_series(db)

    async def fill(tx):
        group = (await default_group_tx(tx, reader.shelf_id)).id
        mapping = await add_series_source_tx(
            tx, series, source, source_key="one", url="https://example.org/1", now=NOON
        )
        assert mapping is not None
        await upsert_chapters_tx(tx, series, [a_new_chapter(1)], NOON)
        await upsert_releases_tx(tx, series, mapping, [a_new_release(1)], now=NOON)
        feed = await follow_feed_tx(
            tx, "https://example.org/feed", proxy=f"socks5://me:{PASSWORD}@proxy.example.org:1080", now=NOON
        )
        row = NewSubscriptionRow(public_id=a_public_id(), shelf_id=reader.shelf_id, feed_id=feed, group_id=group)
        await add_subscription_tx(tx, row, NOON)
        await store_items_tx(tx, feed, [a_new_item("kept off the shelf")], NOON)
        follow = PlainFollowRow(0, a_public_id(), series, group, "reading", True, ReleasePreferences((source, 5)), NOON)
        await add_follow_tx(tx, reader.shelf_id, follow)
        for kind, config in CHANNELS.items():
            await add_channel_tx(
                tx,
                NewChannel(
                    public_id=a_public_id(),
                    shelf_id=reader.shelf_id,
                    kind=kind,
                    name=kind,
                    config=config,
                    user_id=reader.user.id,
                ),
                NOON,
            )

    await db.with_tx(fill)


async def test_no_secret_is_in_an_archive(db, tmp_path):
    reader = await a_reader(db, tmp_path)
    await a_shelf_full_of_secrets(db, reader)
    stored = parts_of(await reader.export())
    assert PASSWORD not in repr(stored)
    [source] = stored["sources.jsonl"]
    assert source["config"] == {
        "headers": {"Accept": "text/html"},
        "proxy": "http://me@proxy.example.org:8080",
        "mirrors": ["https://me@example.org/"],
        "pages": 3,
    }
    assert source["lacks"] == ["api_token", "headers.Cookie", "mirrors[0]", "proxy"]
    [feed] = stored["feeds.jsonl"]
    assert (feed["proxy"], feed["lacks_password"]) == ("socks5://me@proxy.example.org:1080", True)
    assert {"secret", "topic", "token", "priority"} <= {name for config in CHANNELS.values() for name in config}
    assert stored["channels.jsonl"] == [
        {"kind": kind, "name": kind, "config": {"url": "https://example.org/"} | plain_fields(KINDS[kind])}
        for kind in sorted(KINDS)
    ]


async def test_things_are_named_by_keys_that_mean_the_same_elsewhere(db, tmp_path):
    reader = await a_reader(db, tmp_path)
    await a_shelf_full_of_secrets(db, reader)
    stored = parts_of(await reader.export())
    [source], [series], [chapter] = stored["sources.jsonl"], stored["series.jsonl"], stored["chapters.jsonl"]
    assert series["key"] == chapter["series"] == f"{source['slug']}/one"
    assert series["follow"]["preferences"]["sources"] == [source["slug"]]
    assert [(each["source"], each["series_key"], each["key"]) for each in chapter["releases"]] == [
        (source["slug"], "one", "n:1")
    ]
    assert [gone["key"] for gone in stored["gone.jsonl"]] == ["kept off the shelf"]
    assert stored["items.jsonl"] == []


async def test_an_archive_without_secrets_is_stable(db, tmp_path):
    reader = await a_reader(db, tmp_path)
    await a_shelf_full_of_secrets(db, reader)
    path = await reader.export()
    other = await a_reader(db, tmp_path)
    await other.import_archive(path)
    assert parts_of(await other.export())["channels.jsonl"] == parts_of(path)["channels.jsonl"]


async def test_secrets_written_into_an_archive_are_ignored(db, tmp_path):
    reader = await a_reader(db, tmp_path)
    written = [ChannelLine(kind=kind, name=kind, config=config) for kind, config in CHANNELS.items()]
    await reader.import_archive(an_archive(tmp_path, {"channels.jsonl": written}))
    stored = await db.read(lambda tx: list_channels_tx(tx, reader.shelf_id, reader.user.id))
    assert {channel.kind for channel in stored} == set(KINDS)
    assert {name for channel in stored for name, value in channel.config.items() if value == PASSWORD} == set()

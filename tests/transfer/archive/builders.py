"""Servers with a reader, and archives out of lines."""

import itertools
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from tests.builders import HERE, NOON, a_public_id
from tests.shelves.builders import shelf_deps
from tsuzuki.accounts.shelves import put_member_tx
from tsuzuki.accounts.types import User
from tsuzuki.connectors.local import LocalFolder
from tsuzuki.connectors.registry import Registry
from tsuzuki.coord.cache import MemoryCache
from tsuzuki.crawler.service import CrawlerWrites
from tsuzuki.db import Database, Tx
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import RefusedAddress
from tsuzuki.model.ids import FeedId, ShelfId
from tsuzuki.model.requests import Parsers
from tsuzuki.model.times import Millis
from tsuzuki.net.guard import AddressGuard
from tsuzuki.net.urls import parse
from tsuzuki.notifications.kinds.base import ChannelKind
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.sources.sites import Sources
from tsuzuki.transfer.archive import format as lines
from tsuzuki.transfer.archive.container import ShelfArchiveWriter
from tsuzuki.transfer.archive.format import MANIFEST, PARTS
from tsuzuki.transfer.archive.journal import ImportReport
from tsuzuki.transfer.archive.shelf_export import ShelfExport
from tsuzuki.transfer.archive.shelf_import import ShelfImport

_count = itertools.count(1)

q = parse_queries(
    "tests",
    """
-- name: add_tenant
insert into tenant (public_id, name, anchor_at, created_at, updated_at)
values (:public_id, 'A', 0, 0, 0) returning id;
-- name: add_shelf
insert into shelf (public_id, tenant_id, name, plan, created_at, updated_at)
values (:public_id, :tenant_id, 'Shelf', 'self-hosted', 0, 0) returning id;
-- name: add_default_group
insert into shelf_group (public_id, shelf_id, name, is_default, created_at, updated_at)
values (:public_id, :shelf_id, 'Default', true, 0, 0);
-- name: add_user
insert into user_account (public_id, tenant_id, username, role, created_at, updated_at)
values (:public_id, :tenant_id, :username, 'reader', 0, 0)
returning id, public_id, tenant_id, default_shelf_id, username, role, email, disabled_at, created_at, updated_at,
  is_offered_shelf;
-- name: due
select next_check_at from watch where suspended_at is null order by next_check_at;
-- name: harvested
select count(*) from watch where first_harvest_at is not null;
-- name: only_feed
select id from feed;
-- name: count_tasks
select count(*) from task;
-- name: count_all
select (select count(*) from item) + (select count(*) from feed) + (select count(*) from entry)
  + (select count(*) from series) + (select count(*) from chapter) + (select count(*) from bookmark)
  + (select count(*) from subscription) + (select count(*) from source) + (select count(*) from shelf_group) as n;
""",
)


async def vet(url: str, _: str | None) -> str:
    """Judges addresses by their form, as the client does where no name answers."""
    address = parse(url)
    AddressGuard().check_public_form(address)
    if address.literal is not None and not address.literal.is_global:
        raise RefusedAddress(f"{url} is not public.")
    return str(address)


class Reader(msgspec.Struct, frozen=True):
    """Somebody on a server, and what they can do with archives."""

    db: Database
    shelf_id: ShelfId
    user: User
    folder: Path

    async def export(self) -> Path:
        """All that they have."""
        path = self.folder / f"{next(_count)}.zip"
        await ShelfExport(self.db, lambda: NOON).write(path, self.shelf_id, self.user.id, lambda *_: None)
        return path

    async def import_archive(self, path: Path, parsers: Parsers = HERE) -> ImportReport:
        """All that this archive has."""
        deps = shelf_deps(self.db, vet=vet)
        sources = Sources(
            self.db,
            Registry([("built-in", LocalFolder())]),
            lambda: NOON,
            is_callable=lambda url: url.startswith("https://"),
            cache=MemoryCache(CrawlerWrites(self.db)),
            after_commit=lambda *_: None,
        )
        shelf_import = ShelfImport(Subscriptions(deps), sources, parsers)
        return await shelf_import.run(path, self.shelf_id, self.user, lambda *_: None)


async def a_reader(db: Database, folder: Path) -> Reader:
    """A tenant of one, who owns an unused shelf."""

    async def add(tx: Tx) -> Reader:
        tenant = await tx.one(int, q.add_tenant, public_id=a_public_id())
        shelf = await tx.one(ShelfId, q.add_shelf, public_id=a_public_id(), tenant_id=tenant)
        await tx.run(q.add_default_group, public_id=a_public_id(), shelf_id=shelf)
        name = f"reader{next(_count)}"
        user = await tx.one(User, q.add_user, public_id=a_public_id(), tenant_id=tenant, username=name)
        await put_member_tx(tx, shelf, user.id, "owner", now=NOON)
        return Reader(db, shelf, user, folder)

    return await db.with_tx(add)


async def due(db: Database) -> list[Millis]:
    """When watches are looked at."""
    return await db.read(lambda tx: tx.many(Millis, q.due))


async def count(db: Database, what: str) -> int:
    """`harvested`, `count_tasks` or `count_all`."""
    return await db.read(lambda tx: tx.one(int, getattr(q, what)))


async def only_feed(db: Database) -> FeedId:
    return await db.read(lambda tx: tx.one(FeedId, q.only_feed))


# -- archives


Shelf = Mapping[str, Any]
"""The lines of each part."""


def an_archive(folder: Path, shelf: Shelf) -> Path:
    """A file with these lines; parts that are not named are empty."""
    path = folder / f"{next(_count)}.zip"
    with path.open("wb") as file:
        writer = ShelfArchiveWriter(file, NOON)
        for name in PARTS:
            with writer.part(name) as part:
                part.write(shelf.get(name, ()))
        writer.close()
    return path


def parts_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    """What stands in an archive, apart from its manifest."""
    with zipfile.ZipFile(path) as file:
        return {
            name: [msgspec.json.decode(raw) for raw in file.read(name).splitlines()]
            for name in file.namelist()
            if name != MANIFEST
        }


def told(shelf: Shelf) -> dict[str, list[dict[str, Any]]]:
    """The same of lines that were never in a file."""
    return {name: [msgspec.json.decode(msgspec.json.encode(line)) for line in shelf.get(name, ())] for name in PARTS}


def a_feed(link: str = "https://example.org/feed", **over: Any) -> lines.FeedLine:
    values: dict[str, Any] = {"link": link, "title": "A feed", "created_at": NOON, "is_harvested": True}
    return lines.FeedLine(**values | over)


def an_item(key: str = "1", feed: lines.FeedLine | None = None, **over: Any) -> lines.ItemLine:
    entry = lines.EntryLine(sort_at=NOON, created_at=NOON, **over.pop("entry", {}))
    values: dict[str, Any] = {"feed": (feed or a_feed()).feed_key, "key": key, "title": f"Item {key}", "sort_at": NOON}
    return lines.ItemLine(**values | {"created_at": NOON, "entry": entry} | over)


def a_source(slug: str = "site", **over: Any) -> lines.ArchivedSource:
    return lines.ArchivedSource(
        **{"slug": slug, "name": slug.title(), "base_url": f"https://{slug}.example.org"} | over
    )


def a_series(key: str = "one", source: str = "site", **over: Any) -> lines.ArchivedSeries:
    mapping = lines.SeriesSource(
        source=source, key=key, url=f"https://example.org/{key}", update_strategy="ALWAYS_UPDATE", is_harvested=True
    )
    values: dict[str, Any] = {"key": f"{source}/{key}", "title": key.title(), "sources": (mapping,)}
    return lines.ArchivedSeries(
        **values
        | {"follow": lines.FollowLine(status="reading", preferences=lines.ArchivedPreferences(), created_at=NOON)}
        | over
    )


def a_chapter(number: str = "1", series: str = "site/one", **over: Any) -> lines.ArchivedChapter:
    release = lines.ArchivedRelease(
        source=series.partition("/")[0],
        series_key=series.partition("/")[2],
        key=f"n:{number}",
        url=f"https://example.org/c/{number}",
        first_seen_at=NOON,
        last_seen_at=NOON,
    )
    values: dict[str, Any] = {"series": series, "key": number, "number": number, "first_seen_at": NOON}
    return lines.ArchivedChapter(**values | {"releases": (release,)} | over)


def plain_fields(kind: ChannelKind[Any]) -> dict[str, object]:
    """Values for the fields of a channel's config that an archive keeps, beside the address."""
    fields = msgspec.structs.fields(kind.config)
    shown = [field for field in fields if field.name != "url" and not kind.hides(field.name)]
    return {field.name: field.default for field in shown if isinstance(field.default, int | str)}

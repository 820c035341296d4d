"""An app in which every text that somebody else wrote tries to run: by the ways in, and past them in the tables."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from html import escape
from pathlib import Path

import msgspec

from tests.api.people import RunningApp, a_running_app
from tests.authorisation.objects import OBJECTS, Filling
from tests.net.builders import answer
from tests.polling.builders import Publisher, a_publisher
from tests.shelves.library_builders import a_published_series, chapter_of
from tests.web.xss.corpus import addresses, corpus
from tsuzuki.accounts.tokens import TokenRequest as Password
from tsuzuki.accounts.types import SYSTEM, User
from tsuzuki.connectors.html.sanitiser import valid_text
from tsuzuki.db import Tx
from tsuzuki.db.queries import Queries, parse_queries
from tsuzuki.model.ids import ShelfId, show_id
from tsuzuki.shelves.types import FollowRequest as Following
from tsuzuki.shelves.types import NewSubscription, ReportedReading

# Columns whose text comes from outside or from a person. Bodies are not here: they are stored sanitised, so they come
# by the feed. What a service would refuse or repair is written all the same: pages must not rely on it.
TEXTS = {
    "feed": ("title", "description"),
    "item": ("title", "author"),
    "series": ("title", "author", "artist", "description", "language"),
    "series_source": ("title", "author", "artist", "description"),
    "chapter": ("title", "volume"),
    "release": ("title", "group_name", "language"),
    "source": ("name", "lang"),
    "watch": ("last_error", "suspended_reason"),
    "shelf_group": ("name",),
    "subscription": ("name",),
    "bookmark": ("title", "note", "feed_name"),
    "channel": ("name", "last_error"),
    "feed_out": ("name", "search"),
    "shelf_import": ("name", "error"),
    "session": ("user_agent", "address"),
    "api_token": ("name", "client"),
    "tenant": ("name",),
    "shelf": ("name", "sync_error"),
    "crawl_job": ("source_name", "last_error"),
    "dead_letter": ("key", "error", "error_code", "stack", "payload"),
    "invoice_item": ("description",),
    "user_account": ("email",),
}
ADDRESSES = {
    "feed": ("site_url",),
    "item": ("link", "comments_url"),
    "series_source": ("url", "real_url"),
    "release": ("url", "real_url"),
    "source": ("base_url",),
    "subscription": ("site_url",),
    "bookmark": ("link",),
}


# What every line of a list repeats has one text for each row; everything else has them all, in each place of each page.
ONE_EACH = {"item", "feed", "subscription"}

# Nobody changes a line of these, so lines are added.
LOGS = """
-- name: add_audit
insert into audit (at, actor_id, actor, action, entity_type, entity_id, before, after, reason, address)
select :now + key, null, value, value, value, value, json_object('a', value), json_object('b', value), value, value
from json_each(:texts);
-- name: add_log
insert into crawl_log (id, job_id, level, message, meta, created_at)
select randomblob(16), crawl_job.id, 'error', value, json_object('why', value), :now + key
from json_each(:texts), crawl_job;
"""


CONFIG = """
-- name: poison_config
update source set config = json_object('proxy', :text, 'headers', json_object('X', :text), 'note', :text);
"""


def _queries() -> Queries:
    by_text = (
        "(select value from json_each(:texts) where key = (cast({table}.rowid as integer) * {step} + {shift}) % :count)"
    )
    all_texts = "(select group_concat(value, char(10)) from json_each(:texts) where :count)"
    lines = []
    for tables in (TEXTS, ADDRESSES):
        for table, columns in tables.items():
            for shift, column in enumerate(columns):
                chosen = by_text.format(table=table, step=1, shift=shift * 37)
                if tables is TEXTS and table not in ONE_EACH:
                    chosen = f"{all_texts} || {table}.rowid"
                lines.append(f"-- name: {_name(table, column)}\nupdate {table} set {column} = {chosen};")
    lines.append(LOGS)
    lines.append(CONFIG)
    lines.append("-- name: item_ids\nselect item_id from entry where shelf_id = :shelf_id and item_id is not null;")
    lines.append(
        "-- name: fail_watches\nupdate watch set consecutive_failures = 3, last_error_at = 1, last_error = 'x';"
    )
    return parse_queries("tests", "\n".join(lines))


def _name(table: str, column: str) -> str:
    return f"poison_{table}_{column}"


q = _queries()


class HostileServer(msgspec.Struct, frozen=True):
    """The app, its publisher, who looks, what is in the paths of pages, and the articles."""

    app: RunningApp
    publisher: Publisher
    user: User
    ids: dict[str, str]
    items: list[int]
    texts: Sequence[str]


@asynccontextmanager
async def a_hostile_app(folder: Path) -> AsyncIterator[HostileServer]:
    texts = corpus()
    async with (
        a_publisher() as publisher,
        a_running_app(folder, allow_private_networks="127.0.0.0/8", billing="on") as app,
    ):
        publisher.response = answer(200, a_hostile_feed(texts), content_type="application/rss+xml")
        user = await app.admin()
        shelf = (await app.accounts.current_user.shelf_of(user)).id
        await app.reading.subscriptions.add(shelf, NewSubscription(link=publisher.url))
        items = await _polled(app, shelf, len(texts))
        ids = await _objects(app, user, shelf)
        await app.accounts.tokens.make_for(SYSTEM, user, Password(name="Tablet", protocols=("fever",)))
        await poison(app, texts)
        await add_lines(app, texts)
        yield HostileServer(app, publisher, user, ids | {"item_id": str(items[0])}, items, texts)


def a_hostile_feed(texts: Sequence[str]) -> bytes:
    """An item for each text, which is everywhere in it."""
    links = addresses()
    items = "".join(_item(number, text, links[number % len(links)]) for number, text in enumerate(texts))
    head = f"<title>{_xml(texts[0])}</title><link>{_xml(links[0])}</link><description>{_xml(texts[1])}</description>"
    return f"<rss version='2.0' xmlns:dc='http://purl.org/dc/elements/1.1/'><channel>{head}{items}</channel></rss>".encode()


def _item(number: int, text: str, link: str) -> str:
    said, address = _xml(text), _xml(link)
    return (
        f"<item><guid isPermaLink='false'>{number}</guid><title>{said}</title><link>{address}</link>"
        f"<dc:creator>{said}</dc:creator><category>{said}</category><comments>{address}</comments>"
        f"<description>{said}</description><enclosure url='{address}' type='{said}' length='1000000'/>"
        f"<enclosure url='https://example.org/{said}' type='audio/mpeg' length='1000000'/></item>"
    )


def _xml(text: str) -> str:
    return escape(re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f]", "", valid_text(text)), quote=True)


async def _polled(app: RunningApp, shelf: ShelfId, count: int) -> list[int]:
    """The articles, once the feed has come all the way."""
    app.worker_loops.start()
    try:
        async with asyncio.timeout(30):
            found: list[int] = []
            while len(found) < count:
                await asyncio.sleep(0.05)
                found = await app.db.read(lambda tx: tx.many(int, q.item_ids, shelf_id=shelf))
    finally:
        await app.worker_loops.stop()
    return found


async def _objects(app: RunningApp, user: User, shelf: ShelfId) -> dict[str, str]:
    """One of each kind that a page's path may name, as the authorisation tests make them."""
    ids: dict[str, str] = {}
    for name in (*OBJECTS, "mapping_id"):  # the last again: a comic and a mapping of one another
        ids |= named(name, await OBJECTS[name](app, user))
    series = await a_published_series(app.db, [1, 2, 5], sources=2)
    await app.reading.follows.add(shelf, Following(series=series.public_id))
    chapter = await chapter_of(app.db, series.id, 2)
    await app.reading.progress.report(shelf, series.public_id, chapter, ReportedReading(page=1))
    return ids | {"series_id": show_id(series.public_id), "chapter_id": str(chapter), "opened_id": str(chapter)}


def named(name: str, made: Filling) -> dict[str, str]:
    """What stands in a path for an object: its id, or the ids of several."""
    if isinstance(made, dict):
        return made
    return {name: made if isinstance(made, str) else show_id(made)}


async def poison(app: RunningApp, texts: Sequence[str], links: Sequence[str] = addresses()) -> None:
    """Every text that somebody else may have written, and every address."""

    async def write(tx: Tx) -> None:
        await tx.run(q.fail_watches)
        await tx.run(q.poison_config, text="\n".join(texts))
        for tables, chosen in ((TEXTS, texts), (ADDRESSES, links)):
            for table, columns in tables.items():
                for column in columns:
                    await tx.run(getattr(q, _name(table, column)), texts=_json(chosen), count=len(chosen))

    await app.db.with_tx(write)


async def add_lines(app: RunningApp, texts: Sequence[str]) -> None:
    """Lines of the audit log and of every job's log."""

    async def write(tx: Tx) -> None:
        await tx.run(q.add_audit, texts=_json(texts), now=app.time())
        await tx.run(q.add_log, texts=_json(texts[:40]), now=app.time())

    await app.db.with_tx(write)


def _json(texts: Sequence[str]) -> str:
    return msgspec.json.encode(texts).decode()

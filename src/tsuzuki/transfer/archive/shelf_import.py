"""Imports an archive into a shelf: all of it is checked first, then what is missing is written.

A repeat changes nothing: groups are found by their names, feeds by their addresses, series by their keys at their
sources. So an import that was cut off is run again, and goes on where there is something to do.
"""

import asyncio
import secrets
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from tsuzuki.accounts.preferences import get_preferences_tx, read_preferences, set_preferences_tx
from tsuzuki.accounts.types import Actor, User
from tsuzuki.connectors.page_feeds import web_address
from tsuzuki.coord.wakeup import POLL_WAKEUP
from tsuzuki.db import Tx, load_queries
from tsuzuki.db.errors import ForeignKeyViolation
from tsuzuki.db.locks import lock_reading_tx, lock_shelf_tx
from tsuzuki.ingest.detached import shelf_items_tx
from tsuzuki.model.errors import LimitExceeded, NotFound, SourceError, Unavailable
from tsuzuki.model.ids import ItemId, ShelfId
from tsuzuki.model.requests import Parsers
from tsuzuki.model.structs import copied
from tsuzuki.model.times import Millis
from tsuzuki.notifications.channels import MOST_CHANNELS
from tsuzuki.notifications.kinds import KINDS
from tsuzuki.notifications.kinds.base import ChannelKind
from tsuzuki.shelves.bookmarks import NewBookmark, add_bookmark_tx, save_entry_tx
from tsuzuki.shelves.events import EVENTS_WAKEUP, counts_changed_tx
from tsuzuki.shelves.groups import add_group_tx, change_group_tx, default_group_tx, find_group_named_tx
from tsuzuki.shelves.limits import shelf_terms_tx, why_asleep
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.sources.sites import Sources
from tsuzuki.transfer.archive.container import ArchiveReader, NumberedLine, Watch
from tsuzuki.transfer.archive.feeds import FeedImport
from tsuzuki.transfer.archive.format import BookmarkLine, ChannelLine, GroupLine, Person
from tsuzuki.transfer.archive.import_run import ImportRun, KnownNames, Run
from tsuzuki.transfer.archive.journal import ImportJournal, ImportReport, LineCounts
from tsuzuki.transfer.archive.series import SeriesImport
from tsuzuki.transfer.archive.store import add_channel_tx, has_bookmark_tx, has_room_for_channel_tx, owns_shelf_tx
from tsuzuki.transfer.archive.undo_log import UndoLog

q = load_queries("tsuzuki.transfer.archive")

_NO_UNDO = UndoLog()


class ShelfImport:
    """Imports archives."""

    def __init__(self, subscriptions: Subscriptions, sources: Sources, parsers: Parsers) -> None:
        self._deps = subscriptions.deps
        self._subscriptions = subscriptions
        self._sources = sources
        self._parsers = parsers

    async def run(
        self,
        path: Path,
        shelf_id: ShelfId,
        user: User,
        watch: Watch,
        *,
        undo_log: UndoLog = _NO_UNDO,
        adds_sources: bool = True,
    ) -> ImportReport:
        """Import what the shelf does not have; Invalid, with nothing written, for an archive that is not whole.

        `adds_sources` is for those who may add sources to this server.
        """
        archive = await asyncio.to_thread(ArchiveReader, path)
        journal = ImportJournal()
        import_run = ImportRun(
            self._deps, shelf_id, archive, parsers=self._parsers, journal=journal, watch=watch, undo_log=undo_log
        )
        try:
            await asyncio.to_thread(archive.check, watch)
            await self._refuse_asleep(shelf_id)
            await self._import_all(import_run, user, adds_sources=adds_sources)
        except Unavailable as error:
            raise Unavailable(f"{error} {_how_far(journal)}. Run it again; nothing is imported twice.") from error
        except (NotFound, ForeignKeyViolation) as error:
            if await import_run.has_shelf():
                raise
            raise NotFound(f"The shelf was deleted in the meantime. {_how_far(journal)}.") from error
        finally:
            archive.close()
        return journal.result()

    async def _refuse_asleep(self, shelf_id: ShelfId) -> None:
        terms = await self._deps.db.read(lambda tx: shelf_terms_tx(tx, shelf_id))
        if terms.is_billed and terms.status != "active":
            raise LimitExceeded(why_asleep(terms.status))

    async def _import_all(self, import_run: ImportRun, user: User, *, adds_sources: bool) -> None:
        actor = Actor(user.public_id, user.username)
        rest = _OtherLines(import_run, user)
        known = await rest.import_groups()
        may_keep = await self._deps.db.read(lambda tx: owns_shelf_tx(tx, import_run.shelf_id, user.id))
        feeds = FeedImport(import_run, known, self._subscriptions, may_keep=may_keep)
        series = SeriesImport(import_run, known, self._sources, actor)
        await rest.import_person()
        await feeds.import_feeds()
        await feeds.import_items()
        await series.import_sources(may_add=adds_sources)
        await series.import_series()
        await series.import_chapters()
        await rest.import_bookmarks(known)
        await rest.import_channels()
        await feeds.settle()
        await series.settle()

        async def notify(tx: Tx) -> None:
            await counts_changed_tx(tx, [import_run.shelf_id], self._deps.clock())

        await self._deps.db.with_tx(notify)
        self._deps.after_commit(EVENTS_WAKEUP, POLL_WAKEUP)


def _how_far(journal: ImportJournal) -> str:
    return f"It stopped at line {journal.line} of {journal.part}" if journal.part else "Nothing was imported yet"


class _OtherLines:
    """Imports what is neither a feed nor a series. One import of a shelf does so at a time."""

    def __init__(self, import_run: ImportRun, user: User) -> None:
        self._import_run = import_run
        self._user = user
        self._deps = import_run.deps
        self._shelf_id = import_run.shelf_id

    async def import_person(self) -> None:
        """Preferences that were never chosen here."""
        await self._import_run.store("person.jsonl", self._person_tx)

    async def _person_tx(self, tx: Tx, run: Run) -> LineCounts:
        now = self._deps.clock()
        await lock_shelf_tx(tx, self._shelf_id)
        changed = 0
        for each in run:
            person: Person = each.line
            stored = await get_preferences_tx(tx, self._user.id)
            before, wanted = read_preferences(stored), read_preferences({**person.preferences, **stored})
            if wanted != before:
                await set_preferences_tx(tx, self._user.id, wanted, now)
                changed += 1
            if person.proxy_images:
                await tx.run(q.proxy_images, shelf_id=self._shelf_id, now=now)
            if person.backup_rest is not None:
                undo_log = self._import_run.undo_log
                if await undo_log.keep_rest_tx(tx, self._shelf_id, person.backup_rest):
                    said = {"body": person.backup_rest, "import_id": undo_log.import_id}
                    await tx.run(q.put_backup_rest, shelf_id=self._shelf_id, **said, now=now)
            if person.retention is not None and await owns_shelf_tx(tx, self._shelf_id, self._user.id):
                await tx.run(q.keep_read, shelf_id=self._shelf_id, retention=Millis(person.retention), now=now)
        return LineCounts(created=changed, existing=len(run) - changed)

    async def import_groups(self) -> KnownNames:
        """The groups, by their names; an unused shelf calls its default group as the archive does."""

        async def begin(tx: Tx) -> tuple[KnownNames, bool]:
            default = await default_group_tx(tx, self._shelf_id)
            return KnownNames(default_group=default.id), await tx.one(bool, q.is_bare, shelf_id=self._shelf_id)

        known, is_bare = await self._deps.db.read(begin)
        work = partial(self._groups_tx, known=known, is_bare=is_bare)
        await self._import_run.store("groups.jsonl", work)
        return known

    async def _groups_tx(self, tx: Tx, run: Run, *, known: KnownNames, is_bare: bool) -> LineCounts:
        now = self._deps.clock()
        created = 0
        await lock_shelf_tx(tx, self._shelf_id)
        for each in run:
            group: GroupLine = each.line
            if group.is_default:
                if is_bare:
                    default = await default_group_tx(tx, self._shelf_id)
                    named = msgspec.structs.replace(default, name=group.name, position=group.position)
                    await change_group_tx(tx, named, now)
                continue
            found = await find_group_named_tx(tx, self._shelf_id, group.name)
            if found is None:
                found = await add_group_tx(tx, self._shelf_id, self._deps.new_id(), name=group.name, now=now)
                await tx.run(q.place_group, id=found.id, position=group.position)
                await self._import_run.undo_log.note_made_tx(tx, "group", found.id)
                created += 1
            known.groups[group.name] = found.id
        return LineCounts(created=created, existing=len(run) - created)

    # -- bookmarks

    async def import_bookmarks(self, known: KnownNames) -> None:
        """The snapshots; R71, none twice."""
        await self._import_run.store("bookmarks.jsonl", partial(self._bookmarks_tx, known=known))

    async def _bookmarks_tx(self, tx: Tx, run: Run, *, known: KnownNames) -> LineCounts:
        created = 0
        await lock_shelf_tx(tx, self._shelf_id)
        await lock_reading_tx(tx, self._shelf_id)
        for each in run:
            created += await self._bookmark_tx(tx, each.line, known)
        return LineCounts(created=created, existing=len(run) - created)

    async def _bookmark_tx(self, tx: Tx, mark: BookmarkLine, known: KnownNames) -> bool:
        feed_id = None if mark.feed is None else known.feeds.get(mark.feed)
        item_id: ItemId | None = None
        if feed_id is not None and mark.item is not None:
            item_id = (await shelf_items_tx(tx, self._shelf_id, feed_id, [mark.item])).get(mark.item)
        if await has_bookmark_tx(tx, self._shelf_id, mark, item_id):
            return False
        new = copied(NewBookmark, mark, item_id=item_id, feed_id=feed_id)
        bookmark_id = await add_bookmark_tx(tx, self._shelf_id, self._deps.new_id(), new, now=Millis(mark.created_at))
        await self._import_run.undo_log.note_made_tx(tx, "bookmark", bookmark_id)
        if feed_id is not None and item_id is not None and mark.item is not None:
            undo_log = self._import_run.undo_log
            async with undo_log.item_entries_tx(tx, self._shelf_id, feed_id, keys=[mark.item]):
                await save_entry_tx(tx, self._shelf_id, item_id, saved=True)
        return True

    # -- channels

    async def import_channels(self) -> None:
        """Channels without their secrets; they are off until their owner completes and enables them."""
        async for chunk in self._import_run.chunks("channels.jsonl"):
            for each in chunk:
                await self._import_channel(each)

    async def _import_channel(self, numbered: NumberedLine) -> None:
        channel: ChannelLine = numbered.line
        kind = KINDS.get(channel.kind)
        if kind is None:
            self._import_run.journal.leave_out(numbered, f"there is no kind of channel called {channel.kind}.")
            return
        config = _known_part(kind, channel.config)
        try:
            if "url" in config:
                config["url"] = await self._deps.vet(web_address(config["url"]), None)
        except SourceError as error:
            self._import_run.journal.leave_out(numbered, f"{channel.name}: {error}")
            return
        whole = kind.complete(config, secrets.token_bytes(32))

        async def add(tx: Tx, run: Run) -> LineCounts:
            await lock_shelf_tx(tx, self._shelf_id)
            if not await has_room_for_channel_tx(tx, self._shelf_id, channel.name, most=MOST_CHANNELS):
                raise LimitExceeded(f"A shelf has at most {MOST_CHANNELS} channels.")
            is_new = await add_channel_tx(
                tx,
                self._shelf_id,
                self._user.id,
                self._deps.new_id(),
                kind=channel.kind,
                name=channel.name,
                config=whole,
                now=self._deps.clock(),
            )
            return LineCounts(created=len(run)) if is_new else LineCounts(existing=len(run))

        try:
            await self._import_run.attempt("channels.jsonl", [numbered], add)
        except LimitExceeded as error:
            self._import_run.journal.leave_out(numbered, f"{channel.name}: {error}")


def _known_part(kind: ChannelKind[Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that a config of this kind may have and that are not secret; values of another type are dropped."""
    known: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind.config):
        if field.name in config and not kind.hides(field.name):
            try:
                known[field.name] = msgspec.convert(config[field.name], field.type)
            except msgspec.ValidationError:
                continue
    return known

"""Comics and their mappings to sources: created, matched, watched."""

from collections.abc import Callable, Iterable, Sequence
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET

from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.types import Actor, Slice
from tsuzuki.connectors.registry import Registry
from tsuzuki.coord.cache import Cache
from tsuzuki.coord.wakeup import POLL_WAKEUP, AfterCommit
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.errors import UniqueViolation
from tsuzuki.db.fulltext import like
from tsuzuki.db.locks import lock_comic_matching_tx
from tsuzuki.model.errors import Conflict, Invalid, NotFound, Problem
from tsuzuki.model.harvest import FoundSeries
from tsuzuki.model.ids import PublicId, SeriesId, SeriesSourceId, SourceId, show_id
from tsuzuki.model.priorities import HOT
from tsuzuki.model.times import Millis
from tsuzuki.sources.pace import series_readers_changed_tx
from tsuzuki.sources.policy import BAD_SOURCE_URL, IsCallable, address_problem, is_folder, match_key
from tsuzuki.sources.series import add_series_source_tx, add_series_tx
from tsuzuki.sources.sites import info_of, source_tx
from tsuzuki.sources.types import ComicRow, Mapping, MappingChange, NewMapping, SourceComic
from tsuzuki.sources.watches import NewWatch, add_watch_tx, suspend_idle_series_tx, unwatched_tx, wake_series_tx

q = load_queries("tsuzuki.sources.comics")

INACTIVE = "the mapping is switched off"


async def list_comics_tx(tx: Tx, text: str | None, part: Slice) -> tuple[list[ComicRow], int]:
    """By title, and how many there are in all."""
    pattern = None if text is None else like(text)
    rows = await tx.many(ComicRow, q.list_comics, pattern=pattern, most=part.most, skip=part.skip)
    return rows, await tx.one(int, q.count_comics, pattern=pattern)


async def change_mapping_tx(tx: Tx, changed: Mapping, *, host: str, now: Millis) -> None:
    """Write what a person may change, on the mapping and its watch; UniqueViolation when the source has this key."""
    values = {"source_key": changed.source_key, "url": changed.url, "is_active": changed.is_active}
    await tx.run(q.change_mapping, id=changed.id, **values, now=now)
    await tx.run(
        q.move_watch, series_source_id=changed.id, host=host, is_active=changed.is_active, reason=INACTIVE, now=now
    )


async def delete_mapping_tx(tx: Tx, mapping_id: SeriesSourceId) -> None:
    """Delete a mapping with its watch and releases."""
    await tx.run(q.delete_mapping, id=mapping_id)


async def matching_comic_tx(tx: Tx, source_id: SourceId, key: str) -> SeriesId | None:
    """The only comic with this key that the source does not have yet; locked against others who match."""
    await lock_comic_matching_tx(tx)
    found = await tx.many(SeriesId, q.matching_comics, match_key=key, source_id=source_id)
    return found[0] if len(found) == 1 else None


async def mapped_series_keys_tx(tx: Tx, source_id: SourceId, found: Iterable[FoundSeries]) -> set[str]:
    """The keys of those series of a source that are mapped already, under their key or by their address."""
    rows = [{"key": series.key, "url": series.url} for series in found]
    return set(await tx.bulk(str, q.known_series, rows, source_id=source_id))


async def describe_comic_tx(tx: Tx, series_id: SeriesId, *, cover_url: str | None, description: str | None) -> None:
    """Fill in cover and description where they are missing."""
    await tx.run(q.describe_comic, id=series_id, cover_url=cover_url, description=description)


NOBODY_FOLLOWS = "nobody follows it"


async def followers_changed_tx(tx: Tx, series_id: SeriesId, now: Millis) -> None:
    """Suspend its watches while nobody follows it; else watch it on every source that has it."""
    await series_readers_changed_tx(tx, series_id)
    if await suspend_idle_series_tx(tx, series_id, reason=NOBODY_FOLLOWS, now=now):
        return
    await wake_series_tx(tx, series_id, reason=NOBODY_FOLLOWS, now=now)


async def watch_everywhere_tx(tx: Tx, series_id: SeriesId, now: Millis) -> None:
    """Poll it on every source, now that somebody follows it."""
    for each in await unwatched_tx(tx, series_id):
        await watch_mapping_tx(tx, each.id, url=each.url, base_url=each.base_url, priority=HOT, due_at=now, now=now)
    await followers_changed_tx(tx, series_id, now)


ENTITY = "comicsource"
NO_MAPPING = "Comic source not found"
_LINKED = "This comic is already linked to the specified source with this external ID"


class Comics(msgspec.Struct, frozen=True):
    """The comics of this server and where they can be read; `after_commit` is called when a watch may be due."""

    db: Database
    registry: Registry
    clock: Callable[[], Millis]
    new_id: Callable[[], PublicId]
    is_callable: IsCallable
    after_commit: AfterCommit
    cache: Cache

    # -- comics

    async def list(self, text: str | None, part: Slice) -> tuple[Sequence[ComicRow], int]:
        """Those whose title has this text, by title, and how many there are in all."""
        return await self.db.read(lambda tx: list_comics_tx(tx, text, part))

    async def add(self, actor: Actor, title: str, author: str | None) -> ComicRow:
        """A comic that no source has yet."""
        now, public_id = self.clock(), self.new_id()

        async def make(tx: Tx) -> ComicRow:
            await add_series_tx(tx, public_id, title, match_key=match_key(title, author), author=author, now=now)
            comic = await comic_tx(tx, public_id)
            audit_event = AuditEvent(
                "comic.create", "comic", show_id(public_id), after={"title": title, "author": author}
            )
            await record_tx(tx, actor, audit_event, now=now)
            return comic

        return await self.db.with_tx(make)

    # -- mappings

    async def mappings(self, comic_id: PublicId) -> Sequence[Mapping]:
        """Where a comic can be read, the oldest mapping first."""

        async def read(tx: Tx) -> Sequence[Mapping]:
            return await tx.many(Mapping, q.list_mappings, series_id=(await comic_tx(tx, comic_id)).id)

        return await self.db.read(read)

    async def of_source(self, source_id: int, part: Slice) -> tuple[Sequence[SourceComic], int]:
        """What is crawled on a source, those that fail first, and how many there are in all."""

        async def read(tx: Tx) -> tuple[Sequence[SourceComic], int]:
            rows = await tx.many(SourceComic, q.list_source_comics, source_id=source_id, most=part.most, skip=part.skip)
            return rows, await tx.one(int, q.count_source_comics, source_id=source_id)

        return await self.db.read(read)

    async def mapping(self, comic_id: PublicId, mapping_id: int) -> Mapping:
        """One mapping of this comic, or NotFound."""

        async def read(tx: Tx) -> Mapping:
            return await mapping_tx(tx, await comic_tx(tx, comic_id), mapping_id)

        return await self.db.read(read)

    async def link(self, actor: Actor, comic_id: PublicId, new: NewMapping) -> Mapping:
        """Map a comic to a source, and watch it from now on."""
        now = self.clock()

        async def add(tx: Tx) -> Mapping:
            comic = await comic_tx(tx, comic_id)
            source = await source_tx(tx, new.source_id)
            self._check_url(new.url, source.connector)
            made = await add_series_source_tx(
                tx, comic.id, source.id, source_key=new.source_key, url=new.url, now=now, title=comic.title
            )
            if made is None:
                raise Conflict(_LINKED)
            await watch_mapping_tx(tx, made, url=new.url, base_url=source.base_url, priority=HOT, due_at=now, now=now)
            mapping = await mapping_tx(tx, comic, made)
            if not new.is_active:
                mapping = msgspec.structs.replace(mapping, is_active=False)
                await change_mapping_tx(tx, mapping, host=host_of(new.url, source.base_url), now=now)
            await record_tx(
                tx, actor, AuditEvent(f"{ENTITY}.create", ENTITY, str(made), after=_audit_values(mapping)), now=now
            )
            return mapping

        return await self._mapped(await self.db.with_tx(add))

    async def change(self, actor: Actor, comic_id: PublicId, mapping_id: int, change: MappingChange) -> Mapping:
        """The mapping as it is afterwards; it is looked at anew."""
        now = self.clock()
        changes = {name: value for name, value in msgspec.structs.asdict(change).items() if value is not UNSET}

        async def apply(tx: Tx) -> Mapping:
            comic = await comic_tx(tx, comic_id)
            before = await mapping_tx(tx, comic, mapping_id)
            after = msgspec.structs.replace(before, **changes)
            if after.url != before.url:
                self._check_url(after.url, before.connector)
            if after != before:
                await change_mapping_tx(tx, after, host=host_of(after.url, after.source_base_url), now=now)
            audit_event = AuditEvent(
                f"{ENTITY}.update", ENTITY, str(mapping_id), before=_audit_values(before), after=_audit_values(after)
            )
            await record_tx(tx, actor, audit_event, now=now)
            return await mapping_tx(tx, comic, mapping_id)

        try:
            mapping = await self.db.with_tx(apply)
        except UniqueViolation as error:
            raise Conflict(_LINKED) from error
        return await self._mapped(mapping)

    async def unlink(self, actor: Actor, comic_id: PublicId, mapping_id: int) -> None:
        """The mapping goes; chapters and what readers have of them stay (I9)."""
        now = self.clock()

        async def remove(tx: Tx) -> None:
            mapping = await mapping_tx(tx, await comic_tx(tx, comic_id), mapping_id)
            await delete_mapping_tx(tx, mapping.id)
            audit_event = AuditEvent(f"{ENTITY}.delete", ENTITY, str(mapping_id), before=_audit_values(mapping))
            await record_tx(tx, actor, audit_event, now=now)

        await self.db.with_tx(remove)
        await self.cache.forget()

    async def _mapped(self, mapping: Mapping) -> Mapping:
        self.after_commit(POLL_WAKEUP)
        await self.cache.forget()
        return mapping

    # -- checking

    async def url_problems(self, url: str, *, source_id: int) -> Sequence[Problem]:
        """What is wrong with an address on this source; NotFound when there is none."""
        source = await self.db.read(lambda tx: source_tx(tx, source_id))
        return self._url_problems(url, source.connector)

    async def changed_url_problems(self, url: str, comic_id: PublicId, mapping_id: int) -> Sequence[Problem]:
        """What is wrong with a new address of this mapping; NotFound when there is none."""
        return self._url_problems(url, (await self.mapping(comic_id, mapping_id)).connector)

    def _check_url(self, url: str, connector: str | None) -> None:
        if problems := self._url_problems(url, connector):
            raise Invalid(problems[0].message, problems)

    def _url_problems(self, url: str, connector: str | None) -> tuple[Problem, ...]:
        problem = address_problem(
            url,
            "sourceurl",
            message=BAD_SOURCE_URL,
            is_callable=self.is_callable,
            is_local=is_folder(info_of(self.registry, connector)),
        )
        return () if problem is None else (problem,)


async def comic_tx(tx: Tx, public_id: PublicId) -> ComicRow:
    """The comic, or NotFound."""
    comic = await tx.maybe(ComicRow, q.find_comic, public_id=public_id)
    if comic is None:
        raise NotFound("Comic not found")
    return comic


async def mapping_tx(tx: Tx, comic: ComicRow, mapping_id: int) -> Mapping:
    """A mapping of this comic, or NotFound (SEC-31)."""
    mapping = await tx.maybe(Mapping, q.find_mapping, id=mapping_id, series_id=comic.id)
    if mapping is None:
        raise NotFound(NO_MAPPING)
    return mapping


async def watch_mapping_tx(
    tx: Tx, mapping_id: SeriesSourceId, *, url: str, base_url: str, priority: int, due_at: Millis, now: Millis
) -> None:
    """Every mapping has its watch, from the transaction that makes it."""
    new = NewWatch(series_source_id=mapping_id, host=host_of(url, base_url), priority=priority, next_check_at=due_at)
    await add_watch_tx(tx, new, now)


def host_of(url: str, base_url: str) -> str:
    """Whose share of polls it takes; connectors may give addresses without a host."""
    return urlsplit(url).hostname or urlsplit(base_url).hostname or "local"


def _audit_values(mapping: Mapping) -> dict[str, object]:
    return {
        "comicid": show_id(mapping.comic_id),
        "sourceid": mapping.source_id,
        "sourceid_ext": mapping.source_key,
        "sourceurl": mapping.url,
        "isactive": mapping.is_active,
    }

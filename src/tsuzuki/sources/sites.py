"""Sources as the operator manages them: registered, changed, enabled, paused, deregistered."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from ipaddress import IPv4Address
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from tsuzuki.accounts.audit import AuditEvent, record_tx
from tsuzuki.accounts.types import Actor, Slice
from tsuzuki.connectors.config import decode_config, masked, unmasked
from tsuzuki.connectors.protocol import Connector, ConnectorInfo, computed_uid, default_name, source_uid
from tsuzuki.connectors.registry import Registry
from tsuzuki.coord.cache import Cache
from tsuzuki.coord.wakeup import POLL_WAKEUP, AfterCommit
from tsuzuki.db import Database, Tx, load_queries
from tsuzuki.db.errors import UniqueViolation
from tsuzuki.db.fulltext import like
from tsuzuki.db.locks import SOURCE, check_order
from tsuzuki.model.errors import Conflict, Invalid, NotFound, Problem, SourceError
from tsuzuki.model.ids import SourceId
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.net.guard import AddressGuard
from tsuzuki.net.urls import parse
from tsuzuki.sources.policy import BAD_BASE_URL, IsCallable, address_problem, is_folder, language_of
from tsuzuki.sources.types import JobOutcome, NewSource, Pause, Source, SourceChange, SourceFilter, SourceRegistration


def callable_with(guard: AddressGuard) -> IsCallable:
    """Whether an address may be called: https anywhere, http only on loopback that the operator allowed."""

    def is_callable(text: str) -> bool:
        try:
            url = parse(text)
        except SourceError:
            return False
        address = IPv4Address("127.0.0.1") if url.host == "localhost" else url.literal
        is_open = address is not None and address.is_loopback and guard.is_allow_listed(address)
        return url.scheme == "https" or is_open

    return is_callable


q = load_queries("tsuzuki.sources.sites")


async def list_sources_tx(tx: Tx, wanted: SourceFilter, part: Slice) -> tuple[list[Source], int]:
    """By id, and how many there are in all."""
    filters = {"is_enabled": wanted.is_enabled, "pattern": None if wanted.text is None else like(wanted.text)}
    rows = await tx.many(Source, q.list_sources, most=part.most, skip=part.skip, **filters)
    return rows, await tx.one(int, q.count_sources, **filters)


async def find_source_tx(tx: Tx, source_id: int) -> Source | None:
    """One source."""
    return await tx.maybe(Source, q.find_source, id=source_id)


async def source_tx(tx: Tx, source_id: int) -> Source:
    """One source, or NotFound."""
    return _there(await find_source_tx(tx, source_id))


async def lock_source_tx(tx: Tx, source_id: int) -> Source | None:
    """The source, locked to the end of the transaction."""
    check_order(tx, SOURCE, source_id)
    return await tx.maybe(Source, q.lock_source, id=source_id)


async def register_source_tx(tx: Tx, new: NewSource, *, is_enabled: bool, now: Millis) -> Source:
    """A new source; UniqueViolation on `source.name`, `source.slug` or `source.uid`."""
    sealed = msgspec.structs.replace(new, config=tx.vault.seal_source(new.config))
    return await tx.one(Source, q.register_source, **msgspec.structs.asdict(sealed), is_enabled=is_enabled, now=now)


async def change_source_tx(tx: Tx, changed: Source, now: Millis) -> Source:
    """Write what a person may change; UniqueViolation on `source.name` or `source.slug`."""
    return await tx.one(
        Source,
        q.change_source,
        id=changed.id,
        name=changed.name,
        slug=changed.slug,
        base_url=changed.base_url,
        connector=changed.connector,
        config=tx.vault.seal_source(changed.config),
        lang=changed.lang,
        is_nsfw=changed.is_nsfw,
        supports_latest=changed.supports_latest,
        is_enabled=changed.is_enabled,
        now=now,
    )


async def source_failed_tx(
    tx: Tx, source_id: SourceId, *, job_id: int, threshold: int, now: Millis
) -> JobOutcome | None:
    """Count a failed job, and disable the source at the threshold; None when it is gone."""
    return await tx.maybe(JobOutcome, q.source_failed, id=source_id, job_id=job_id, threshold=threshold, now=now)


async def source_succeeded_tx(tx: Tx, source_id: SourceId, now: Millis) -> None:
    """Reset the count of failed jobs."""
    await tx.run(q.source_succeeded, id=source_id, now=now)


async def source_polled_tx(tx: Tx, source_id: SourceId, *, is_well: bool, now: Millis) -> None:
    """Remember, to the minute, that a scheduled poll went well or did not."""
    await tx.run(q.source_polled, id=source_id, is_well=is_well, now=now, before=now - MINUTE)


async def paused_since_tx(tx: Tx) -> Millis | None:
    """Since when the operator has let no source be called; None while all is as usual."""
    return await tx.maybe(Millis, q.find_pause)


async def show_pause_tx(tx: Tx) -> Pause | None:
    """Whether crawling is paused, since when and why."""
    return await tx.maybe(Pause, q.show_pause)


ENTITY = "crawlersource"
NO_SOURCE = "Source not found"
_TAKEN = {
    "source.name": "A source with this name already exists",
    "source.slug": "A source with this slug already exists",
    "source.uid": "{other} is a source of the same extension and language: two may not have the same uid",
}

Release = Callable[[Tx, SourceId, Millis], Any]
"""Ends what still hangs on a source that is about to go, or refuses (Conflict)."""


_CHANGED = (
    "Somebody else changed this source since you opened it. Your input is still here: save it again to replace their "
    "changes, or leave to see them."
)


class ChangedMeanwhile(Conflict):
    """Somebody else changed it since the form was opened."""


class Sources(msgspec.Struct, frozen=True):
    """The sources of this server; `after_commit` is called when polls and jobs may begin that could not before."""

    db: Database
    registry: Registry
    clock: Callable[[], Millis]
    is_callable: IsCallable
    cache: Cache
    after_commit: AfterCommit

    # -- looking

    async def list(self, wanted: SourceFilter, part: Slice) -> tuple[Sequence[Source], int]:
        """By id, and how many there are in all."""
        return await self.db.read(lambda tx: list_sources_tx(tx, wanted, part))

    async def get(self, source_id: int) -> Source:
        """One source, or NotFound."""
        return await self.db.read(lambda tx: source_tx(tx, source_id))

    # -- doing

    async def register(self, actor: Actor, wanted: SourceRegistration, *, is_restored: bool = False) -> Source:
        """A new source; Invalid with all that is wrong, Conflict when its name, slug or uid is taken.

        One that `is_restored` from an archive comes whether its connector is installed or not.
        """
        new, now = self._new(wanted, is_restored=is_restored), self.clock()

        async def add(tx: Tx) -> Source:
            other = await tx.maybe(str, q.find_namesake, name=new.name, uid=new.uid)
            if other is not None:  # in a race the unique indexes say it
                raise Conflict(_TAKEN["source.name" if other == new.name else "source.uid"].format(other=other))
            source = await register_source_tx(tx, new, is_enabled=wanted.is_enabled, now=now)
            audit_event = AuditEvent(f"{ENTITY}.create", ENTITY, str(source.id), after=_audit_values(source))
            await record_tx(tx, actor, audit_event, now=now)
            return source

        return await self._unique(add)

    async def change(
        self,
        actor: Actor,
        source_id: int,
        change: SourceChange,
        *,
        reason: str | None = None,
        edition: str | None = None,
    ) -> Source:
        """The source as it is afterwards. R46: enabling it resets the count of failures.

        `edition` is what the change was made for; ChangedMeanwhile when somebody made another of it since.
        """
        now = self.clock()

        async def apply(tx: Tx) -> Source:
            before = _there(await lock_source_tx(tx, source_id))
            if edition is not None and edition != edition_of(before):
                raise ChangedMeanwhile(_CHANGED)
            after = await change_source_tx(tx, self._after(before, change), now)
            if after.is_enabled and not before.is_enabled:
                await tx.run(q.wake_source, id=after.id, now=now)
            await record_tx(tx, actor, _difference(before, after, reason), now=now)
            return after

        source = await self._unique(apply)
        if change.is_enabled is True:
            self.after_commit(POLL_WAKEUP)
        return source

    async def deregister(self, actor: Actor, source_id: int, *, reason: str | None, release: Release) -> None:
        """R51: the source and its mappings go; finished jobs, chapters and what readers have stay."""
        now = self.clock()

        async def remove(tx: Tx) -> None:
            source = _there(await lock_source_tx(tx, source_id))
            await release(tx, source.id, now)
            await tx.run(q.delete_source, id=source.id)
            audit_event = AuditEvent(
                f"{ENTITY}.delete", ENTITY, str(source.id), before=_audit_values(source), reason=reason
            )
            await record_tx(tx, actor, audit_event, now=now)

        await self.db.with_tx(remove)
        await self.cache.forget()

    # -- all of them

    async def show_pause(self) -> Pause | None:
        """Since when no source is called, and why; None while all is as usual."""
        return await self.db.read(show_pause_tx)

    async def pause(self, actor: Actor, reason: str | None) -> Pause | None:
        """Begin no poll and no job from now on; those that run are finished."""
        return await self._switch(actor, "pause", lambda tx, now: tx.run(q.pause, reason=reason or "", now=now), reason)

    async def resume(self, actor: Actor, reason: str | None) -> Pause | None:
        """Polls and jobs begin again."""
        left = await self._switch(actor, "resume", lambda tx, _: tx.run(q.resume), reason)
        self.after_commit(POLL_WAKEUP)
        return left

    async def _switch(
        self, actor: Actor, verb: str, switch: Callable[[Tx, Millis], Any], reason: str | None
    ) -> Pause | None:
        now = self.clock()

        async def apply(tx: Tx) -> Pause | None:
            if await switch(tx, now):
                await record_tx(tx, actor, AuditEvent(f"crawler.{verb}", "crawler", "crawler", reason=reason), now=now)
            return await show_pause_tx(tx)

        pause = await self.db.with_tx(apply)
        await self.cache.forget()
        return pause

    # -- checking

    def draft(self, wanted: SourceRegistration) -> Source:
        """What `register` would store, without doing so; Invalid with all that is wrong. Its id is nobody's."""
        new, now = self._new(wanted), self.clock()
        return Source(
            **msgspec.structs.asdict(new),
            id=SourceId(0),
            is_enabled=wanted.is_enabled,
            consecutive_fails=0,
            last_succeeded_at=None,
            last_failed_at=None,
            created_at=now,
            updated_at=now,
        )

    async def draft_change(self, source_id: int, change: SourceChange) -> Source:
        """What `change` would make of the source, without doing so."""
        return self._after(await self.get(source_id), change)

    def _new(self, wanted: SourceRegistration, *, is_restored: bool = False) -> NewSource:
        connector = info_of(self.registry, wanted.connector)
        unknown = () if is_restored else self._connector_problems(wanted.connector)
        config = self._checked(wanted.base_url, wanted.config, {}, connector, more=unknown)
        info = source_info(self.registry, wanted.connector, config)
        config, language = _with_language(wanted.name, info, connector, config)
        return NewSource(
            # R9; folders have theirs by their names: there may be several, and no other program knows them.
            uid=computed_uid(wanted.name, language) if info is None or is_folder(info) else source_uid(info, language),
            name=wanted.name,
            slug=wanted.slug,
            base_url=wanted.base_url,
            lang=language,
            connector=wanted.connector,
            config=config,
            is_nsfw=info is not None and info.is_nsfw,
            supports_latest=info is not None and info.abilities.latest,
        )

    async def problems(self, change: SourceChange, source_id: int | None = None) -> Sequence[Problem]:
        """What is wrong with these values, of a new source or of one that is there; NotFound when it is not."""
        before = None if source_id is None else await self.get(source_id)
        stored = {} if before is None else before.config
        sent = stored if change.config is UNSET else change.config
        known = None if before is None else before.connector
        info = info_of(self.registry, known if change.connector is UNSET else change.connector)
        found = self._connector_problems(change.connector, known) + self._config_problems(sent, stored, info)[1]
        return found if change.base_url is UNSET else self._address_problems(change.base_url, info) + found

    def _after(self, before: Source, change: SourceChange) -> Source:
        changes = {name: value for name, value in msgspec.structs.asdict(change).items() if value is not UNSET}
        sent, connector = changes.get("config", before.config), changes.get("connector", before.connector)
        touched = {"base_url", "config", "connector"} & changes.keys()
        if touched:
            base_url, known = changes.get("base_url", before.base_url), info_of(self.registry, connector)
            unknown = self._connector_problems(connector, before.connector)
            changes["config"] = config = self._checked(base_url, sent, before.config, known, more=unknown)
            info = source_info(self.registry, connector, config)
            if info is not None:
                changes["config"], changes["lang"] = _with_language(
                    changes.get("name", before.name), info, known, config
                )
                changes |= {"is_nsfw": info.is_nsfw, "supports_latest": info.abilities.latest}
        return msgspec.structs.replace(before, **changes)

    def _checked(
        self,
        base_url: str,
        sent: Mapping[str, Any],
        stored: Mapping[str, Any],
        info: ConnectorInfo | None,
        *,
        more: tuple[Problem, ...],
    ) -> dict[str, Any]:
        """The config to be stored; Invalid with every problem of it and of the address (SEC-27), and `more`."""
        config, problems = self._config_problems(sent, stored, info)
        problems = self._address_problems(base_url, info) + more + problems
        if problems:
            raise Invalid(problems[0].message, problems)
        return config

    def _connector_problems(self, connector: str | UnsetType | None, stored: str | None = None) -> tuple[Problem, ...]:
        """A source keeps a connector that is not installed any more, but none is given one."""
        if not isinstance(connector, str) or connector == stored or info_of(self.registry, connector) is not None:
            return ()
        return (Problem("extensionid", f"There is no extension {connector} on this server."),)

    def _address_problems(self, base_url: str, info: ConnectorInfo | None) -> tuple[Problem, ...]:
        problem = address_problem(
            base_url, "baseurl", message=BAD_BASE_URL, is_callable=self.is_callable, is_local=is_folder(info)
        )
        return () if problem is None else (problem,)

    def _config_problems(
        self, sent: Mapping[str, Any], stored: Mapping[str, Any], info: ConnectorInfo | None
    ) -> tuple[dict[str, Any], tuple[Problem, ...]]:
        """The config to be stored, and what is wrong with it."""
        config: dict[str, Any] = {}
        try:
            config = unmasked(sent, stored)
            if info is not None:
                decode_config(info.config, config)
        except Invalid as error:
            return config, error.problems
        return config, ()

    async def _unique(self, work: Callable[[Tx], Any]) -> Source:
        try:
            source: Source = await self.db.with_tx(work)
        except UniqueViolation as error:
            raise Conflict(_TAKEN.get(error.on, str(error)).format(other="Another one")) from error
        await self.cache.forget()
        return source


def _there(source: Source | None) -> Source:
    if source is None:
        raise NotFound(NO_SOURCE)
    return source


def edition_of(source: Source) -> str:
    """A hash of what a form of this source shows. Masked values are left out: the form keeps them."""
    shown = {name: value for name, value in _audit_values(source).items() if name != "isenabled"}
    return hashlib.blake2b(msgspec.json.encode(shown, order="sorted"), digest_size=8).hexdigest()


def _audit_values(source: Source) -> dict[str, Any]:
    """What the audit log keeps of a source."""
    return {
        "name": source.name,
        "slug": source.slug,
        "baseurl": source.base_url,
        "extensionid": source.connector,
        "config": masked(source.config),
        "isenabled": source.is_enabled,
        "consecutivefails": source.consecutive_fails,
    }


def _difference(before: Source, after: Source, reason: str | None) -> AuditEvent:
    old, new = _audit_values(before), _audit_values(after)
    names = [name for name in new if old[name] != new[name]]
    verb = "update"
    if before.is_enabled != after.is_enabled:
        verb = "enable" if after.is_enabled else "disable"
    return AuditEvent(
        f"{ENTITY}.{verb}",
        ENTITY,
        str(after.id),
        before={name: old[name] for name in names},
        after={name: new[name] for name in names},
        reason=reason,
    )


def info_of(registry: Registry, connector: str | None) -> ConnectorInfo | None:
    """What is known of a connector; None for one that is not installed (any more)."""
    if connector is None:
        return None
    try:
        return registry.get(connector).info
    except NotFound:
        return None


def proposed_name(registry: Registry, info: ConnectorInfo, config: Mapping[str, Any]) -> str:
    """What a source is called that nobody named (R9); Invalid with all that is wrong with its config."""
    asked = _asked_language(info, config)
    described = source_info(registry, info.id, config) or info
    return default_name(described, language_of("", described, asked))


def _with_language(
    name: str, info: ConnectorInfo | None, connector: ConnectorInfo | None, config: dict[str, Any]
) -> tuple[dict[str, Any], str]:
    """R9: the config, with the language that the name says where it says none itself; and the language."""
    language = language_of(name, info, config.get("language"))
    is_asked_otherwise = _asked_language(connector, config) not in {None, language}
    return {**config, "language": language} if is_asked_otherwise else config, language


def _asked_language(info: ConnectorInfo | None, config: Mapping[str, Any]) -> str | None:
    """In which language a source is asked, where its connector knows several."""
    return None if info is None else getattr(decode_config(info.config, config), "language", None)


def source_info(registry: Registry, connector: str | None, config: Mapping[str, Any]) -> ConnectorInfo | None:
    """What is known of a source: of its connector, or of what its config describes where that says what it is."""
    info = info_of(registry, connector)
    if info is None:
        return None
    described = registry.get(info.id)
    if not isinstance(described, Connector):
        return info
    try:
        return described.for_source(decode_config(info.config, config)).info
    except Invalid:  # a config that no longer fits its connector fails where the source is called
        return info

"""OPML import and export."""

from functools import partial
from typing import Literal

import msgspec

from tsuzuki.connectors.opml import Outline, read_opml, write_opml
from tsuzuki.coord.wakeup import POLL_WAKEUP
from tsuzuki.db import Tx
from tsuzuki.db.deadlines import with_tx_again
from tsuzuki.db.locks import lock_shelf_tx
from tsuzuki.model.errors import Invalid, LimitExceeded, SourceError, TsuzukiError
from tsuzuki.model.ids import PublicId, ShelfId
from tsuzuki.shelves.deps import ShelfDeps
from tsuzuki.shelves.events import EVENTS_WAKEUP
from tsuzuki.shelves.groups import add_group_tx, find_group_named_tx, list_groups_tx
from tsuzuki.shelves.limits import check_shelf_limit_tx
from tsuzuki.shelves.subscriptions import Subscriptions, find_subscription_to_tx, list_subscriptions_tx
from tsuzuki.shelves.types import NewSubscription
from tsuzuki.sources.feeds import lock_known_feeds_tx

_CHUNK = 50
_PAGE = "This is not the address of a feed: FreshRSS makes one of that page by rules that this server does not know."


class ImportedFeed(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome for one feed of a list."""

    line: int
    link: str
    outcome: Literal["created", "existing", "failed"]
    id: PublicId | None = None
    error: TsuzukiError | None = None


class Lists:
    """Imports feeds from OPML, and exports them."""

    def __init__(self, deps: ShelfDeps, subscriptions: Subscriptions) -> None:
        self._deps = deps
        self._subscriptions = subscriptions

    async def read(self, shelf_id: ShelfId, body: bytes) -> list[ImportedFeed]:
        """Follow the feeds of an OPML document, in groups as it has them; a repeat makes nothing twice (REL-39c)."""
        try:
            outlines = await self._deps.parsers.run(read_opml, (body,))
        except SourceError as error:  # a list is what somebody sent us, and no source
            raise Invalid(str(error)) from error
        vetted = await self._subscriptions.vet_all(NewSubscription(link=outline.link) for outline in outlines)
        report: list[ImportedFeed] = []
        pairs = list(zip(outlines, vetted, strict=True))
        for start in range(0, len(pairs), _CHUNK):
            chunk = pairs[start : start + _CHUNK]
            report += await with_tx_again(self._deps.db, partial(self._follow_tx, shelf_id=shelf_id, chunk=chunk))
        self._deps.after_commit(EVENTS_WAKEUP, POLL_WAKEUP)
        return report

    async def _follow_tx(
        self, tx: Tx, *, shelf_id: ShelfId, chunk: list[tuple[Outline, NewSubscription | TsuzukiError]]
    ) -> list[ImportedFeed]:
        await lock_shelf_tx(tx, shelf_id)
        # Of those that are known, by their ids, as everybody does who locks several; what is new is made as listed.
        await lock_known_feeds_tx(tx, [(one.link, one.proxy) for _, one in chunk if isinstance(one, NewSubscription)])
        return [await self._follow_one_tx(tx, shelf_id, outline, vetted) for outline, vetted in chunk]

    async def _follow_one_tx(
        self, tx: Tx, shelf_id: ShelfId, outline: Outline, vetted: NewSubscription | TsuzukiError
    ) -> ImportedFeed:
        if outline.is_page:
            return ImportedFeed(line=outline.line, link=outline.link, outcome="failed", error=Invalid(_PAGE))
        if isinstance(vetted, TsuzukiError):
            return ImportedFeed(line=outline.line, link=outline.link, outcome="failed", error=vetted)
        known = await find_subscription_to_tx(tx, shelf_id, vetted.link, vetted.proxy)
        if known is not None:
            return ImportedFeed(line=outline.line, link=vetted.link, outcome="existing", id=known)
        try:
            await check_shelf_limit_tx(tx, shelf_id, "follows")  # before a group is made for it
        except LimitExceeded as error:
            return ImportedFeed(line=outline.line, link=vetted.link, outcome="failed", error=error)
        new = msgspec.structs.replace(
            vetted,
            name="" if outline.title == outline.link else outline.title,
            site_url=outline.site_url,
            group=await self._group_tx(tx, shelf_id, outline.group),
        )
        made = await self._subscriptions.add_tx(tx, shelf_id, new)
        return ImportedFeed(line=outline.line, link=made.link, outcome="created", id=made.public_id)

    async def _group_tx(self, tx: Tx, shelf_id: ShelfId, name: str) -> PublicId | None:
        if not name:
            return None
        group = await find_group_named_tx(tx, shelf_id, name)
        if group is None:
            now = self._deps.clock()
            group = await add_group_tx(tx, shelf_id, self._deps.new_id(), name=name, now=now)
        return group.public_id

    async def write(self, shelf_id: ShelfId) -> bytes:
        """The shelf's feeds as OPML 2.0, those of the default group at the top."""

        async def collect(tx: Tx) -> dict[str, list[Outline]]:
            groups = await list_groups_tx(tx, shelf_id)
            names = {group.id: "" if group.is_default else group.name for group in groups}
            found: dict[str, list[Outline]] = {name: [] for name in sorted(names.values())}
            for feed in await list_subscriptions_tx(tx, shelf_id):
                outline = Outline(feed.link, feed.shown_name, feed.site_url)
                found[names[feed.group_id]].append(outline)
            return found

        feeds = await self._deps.db.read(collect)
        return await self._deps.parsers.run(write_opml, ("Tsuzuki", feeds))

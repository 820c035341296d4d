"""Feeds and groups as apps change them: by numbers, by addresses and by names."""

import msgspec

from tsuzuki.accounts.devices import AppUser
from tsuzuki.connectors.discovery import describe_guesses
from tsuzuki.connectors.page_feeds import typed_address
from tsuzuki.http.services import Services
from tsuzuki.inbox.sync import SyncFeed
from tsuzuki.model.errors import Conflict, Forbidden, Invalid, NotFound
from tsuzuki.model.ids import PublicId, ShelfId
from tsuzuki.net.urls import canonical
from tsuzuki.protocols.content import feed_address
from tsuzuki.shelves.groups import Group
from tsuzuki.shelves.types import FollowChange, NewSubscription, SubscriptionChange

LONGEST_NAME = 500
LONGEST_GROUP = 200


class AppSubscriptions(msgspec.Struct, frozen=True):
    """The feeds, series and groups of one person's shelf. Forbidden for every change where it is only read (R91)."""

    services: Services
    user: AppUser
    base: str
    """The address of this server: series are known by one below it."""

    @property
    def _shelf_id(self) -> ShelfId:
        return self.user.shelf.id

    # -- feeds

    def must_show_feeds(self) -> None:
        """Forbidden for a device password that shows only series."""
        if self.user.kind == "chapter":
            raise Forbidden("This device password shows only series.")

    async def all(self) -> list[SyncFeed]:
        """What the app may see, in the order of the numbers."""
        return await self.services.sync.feeds(self._shelf_id, self.user.kind)

    async def get(self, number: int) -> SyncFeed:
        """The feed or series of this number; NotFound for one that the app may not see."""
        return await self.services.sync.feed(self._shelf_id, self.user.kind, number)

    async def find(self, address: str) -> SyncFeed | None:
        """The feed or series that apps know by this address."""
        wanted = canonical(address.strip())
        return next((feed for feed in await self.all() if canonical(feed_address(feed, self.base)) == wanted), None)

    async def subscribe(
        self,
        address: str,
        *,
        name: str = "",
        group: PublicId | None = None,
        is_suspended: bool = False,
        full_text: bool = False,
    ) -> SyncFeed:
        """Follow the feed at this address, or the best one of that page. What is followed already stays as it is.

        Invalid where there is none; a SourceError where the address cannot be called, or may not be.
        """
        self.user.must_write()
        self.must_show_feeds()
        if not address.strip():
            raise Invalid("Enter an address.")
        known = await self.find(typed_address(address))
        if known is not None:
            return known
        link = await self._discover(address)
        subscriptions = self.services.reading.subscriptions
        try:
            new = NewSubscription(
                link=link, name=_short(name), group=group, is_suspended=is_suspended, full_text=full_text
            )
            made = (await subscriptions.add(self._shelf_id, new)).public_id
        except Conflict:
            known = await self.find(link)
            if known is None:
                raise
            return known
        return await self.get(await self.services.sync.number_of(self._shelf_id, made))

    async def _discover(self, address: str) -> str:
        found = await self.services.trier.find_feeds(address)
        if not found.feeds:
            raise Invalid(f"No feed was found at {address}. {describe_guesses(found.guessed)}".strip())
        return found.feeds[0].url

    async def unsubscribe(self, feed: SyncFeed) -> None:
        """Follow it no more; for a while the site can undo it."""
        self.user.must_write()
        if feed.kind == "item":
            await self.services.reading.subscriptions.delete(self._shelf_id, feed.public_id)
        else:
            await self.services.reading.follows.leave(self._shelf_id, feed.public_id)

    async def rename(self, feed: SyncFeed, name: str) -> None:
        """Call it so on this shelf; by an empty name, as it calls itself. Invalid for a series, which has one name."""
        self.user.must_write()
        if _short(name) == feed.title:
            return
        if feed.kind != "item":
            raise Invalid("A series has the name that its source gives it; it cannot be renamed.")
        change = SubscriptionChange(name=_short(name))
        await self.services.reading.subscriptions.change(self._shelf_id, feed.public_id, change)

    async def move(self, feed: SyncFeed, group: PublicId) -> None:
        """Put it into this group."""
        self.user.must_write()
        if feed.kind == "item":
            change = SubscriptionChange(group=group)
            await self.services.reading.subscriptions.change(self._shelf_id, feed.public_id, change)
        else:
            await self.services.reading.follows.change(self._shelf_id, feed.public_id, FollowChange(group=group))

    # -- groups

    async def groups(self) -> list[Group]:
        """The shelf's, in their order."""
        return await self.services.reading.groups.list(self._shelf_id)

    async def default_group(self) -> Group:
        """The one for what is in no other."""
        return next(group for group in await self.groups() if group.is_default)

    async def find_group(self, name: str) -> Group | None:
        """The group of this name, else one that differs by nothing but blanks."""
        groups, wanted = await self.groups(), group_name(name)
        exact = (group for group in groups if group.name == name)
        return next(exact, None) or next((group for group in groups if group_name(group.name) == wanted), None)

    async def get_group(self, name: str) -> Group:
        """The group of this name; NotFound where there is none."""
        found = await self.find_group(name)
        if found is None:
            raise NotFound("There is no such group.")
        return found

    async def make_group(self, name: str) -> Group:
        """The group of this name, added where there is none."""
        self.user.must_write()
        found = await self.find_group(name)
        if found is not None:
            return found
        try:
            return await self.services.reading.groups.add(self._shelf_id, _own_name(name))
        except Conflict:  # somebody else made it meanwhile
            return await self.get_group(name)

    async def rename_group(self, group: Group, name: str) -> None:
        """Conflict when another has this name."""
        self.user.must_write()
        await self.services.reading.groups.change(self._shelf_id, group.public_id, name=_own_name(name))

    async def delete_group(self, group: Group) -> None:
        """What is in it moves to the default group, which itself cannot be deleted (Conflict)."""
        self.user.must_write()
        await self.services.reading.groups.delete(self._shelf_id, group.public_id)


def group_name(name: str) -> str:
    """As groups are named: without blanks around it, and one between words."""
    return " ".join(name.split())[:LONGEST_GROUP]


def _own_name(name: str) -> str:
    wanted = group_name(name)
    if not wanted:
        raise Invalid("A group needs a name.")
    return wanted


def _short(name: str) -> str:
    return name.strip()[:LONGEST_NAME]

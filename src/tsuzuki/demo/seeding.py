"""What the demo begins with: a guest who follows everything that the sample publisher has."""

import msgspec

from tsuzuki.accounts.types import SYSTEM
from tsuzuki.accounts.users import NewPerson
from tsuzuki.app.bootstrap import Tsuzuki
from tsuzuki.catalogue.browsing import ListWish
from tsuzuki.demo.stories import COMICS, JOURNALS
from tsuzuki.model.ids import PublicId, ShelfId
from tsuzuki.shelves.types import FollowRequest, NewSubscription
from tsuzuki.sources.types import SourceRegistration

GUEST = "guest"
FEEDS = {"harbour-log": "/journals/harbour-log/feed.xml", "small-machines": "/journals/small-machines/feed.json"}
CONNECTOR = "localhost.demo"


class DemoShelf(msgspec.Struct, frozen=True):
    """The guest's shelf, and what is on it by the name that the publisher gives it."""

    shelf_id: ShelfId
    feeds: dict[str, PublicId]
    manga: dict[str, int]


async def seed(opened: Tsuzuki, base: str, password: str) -> DemoShelf:
    """Add the guest and the source, and follow all four."""
    guest = await opened.accounts.users.add(
        SYSTEM, NewPerson(username=GUEST, role="reader", password=password), is_strict=False
    )
    shelf_id = (await opened.accounts.current_user.shelf_of(guest)).id
    comics = await opened.reading.groups.add(shelf_id, "Comics")
    journals = await opened.reading.groups.add(shelf_id, "Journals")
    feeds = {
        journal.slug: await _subscribe(opened, shelf_id, base + FEEDS[journal.slug], journals.public_id)
        for journal in JOURNALS
    }
    return DemoShelf(shelf_id, feeds, await _follow_comics(opened, shelf_id, base, comics.public_id))


async def _subscribe(opened: Tsuzuki, shelf_id: ShelfId, link: str, group: PublicId) -> PublicId:
    return (await opened.reading.subscriptions.add(shelf_id, NewSubscription(link=link, group=group))).public_id


async def _follow_comics(opened: Tsuzuki, shelf_id: ShelfId, base: str, group: PublicId) -> dict[str, int]:
    wanted = SourceRegistration(name="Sample publisher", slug="sample-publisher", base_url=base, connector=CONNECTOR)
    source = await opened.crawling.sources.register(SYSTEM, wanted)
    listed = await opened.catalogue.browsing.browse(source.id, ListWish(kind="popular", shelf_id=shelf_id))
    found = {manga.url.rpartition("/")[2]: manga for manga in listed.value.manga}
    for comic in COMICS:
        manga = found[comic.slug]
        await opened.catalogue.details.show(manga.id, shelf_id)
        await opened.reading.follows.add(shelf_id, FollowRequest(series=manga.series_public_id, group=group))
    return {comic.slug: found[comic.slug].id for comic in COMICS}

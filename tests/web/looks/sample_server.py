"""A server with something of everything on it, and the people who open its pages; and one on which there is nothing."""

from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from playwright.async_api import Page

from tests.api.people import Town
from tests.authorisation.objects import OBJECTS
from tests.crawler.builders import a_dead_letter, a_source_body, made, the_admin, until_over
from tests.delivery.builders import subscribe
from tests.images.builders import a_picture
from tests.web.admin.builders import Desk, a_desk
from tests.web.gallery import exhibit
from tests.web.looks.pages import REFUSED
from tests.web.payers import a_payer
from tests.web.sample_shelf import PARAGRAPHS, a_feed, an_item, furnish, release_items
from tests.web.xss.hostile_server import named
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.types import Slice, User
from tsuzuki.billing.books import OPERATOR
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.ids import ItemId, show_id
from tsuzuki.model.times import MINUTE
from tsuzuki.shelves.types import NewSubscription

RECORDINGS = (
    Enclosure("https://example.org/part-1.mp3", "audio/mpeg", 24_000_000, "The first part"),
    Enclosure("https://example.org/a-walk.mp4", "video/mp4", 180_000_000, "A walk through the foundry"),
    Enclosure("https://example.org/notes.pdf", "application/pdf", 90_000, None),
)

PICTURE = f'<p><img alt="A press" src="data:image/png;base64,{b64encode(a_picture(size=(480, 270))).decode()}"></p>'

q = parse_queries("tests", "-- name: newest_item\nselect max(id) from item;")


class Theatre(msgspec.Struct, frozen=True):
    """Kept for all tests of a module: they only look."""

    desk: Desk
    people: dict[str, User | None]
    ids: dict[str, dict[str, str]]
    """What stands in the paths of each person's stops."""

    @property
    def town(self) -> Town:
        return self.desk.town

    async def open(self, page: Page, who: str, stop: str) -> None:
        """This stop, and not a page that says why there is none."""
        await visit(page, self.town.client.base + stop.format(**self.ids.get(who, {})), REFUSED.get((who, stop), 200))


async def visit(page: Page, url: str, status: int = 200) -> None:
    """The page that is there, as whole as it will be."""
    answer = await page.goto(url, wait_until="load")
    assert answer is not None
    assert (answer.status, page.url) == (status, url)
    assert await page.locator("h1").first.is_visible(), url


@asynccontextmanager
async def a_theatre(folder: Path, *, articles: int = 12) -> AsyncIterator[Theatre]:
    async with a_desk(folder, billing="on") as desk:
        ids = {"admin": await _desk(desk) | await _shelf(desk.town, articles) | await _keys(desk)}
        ids["admin"] |= await _shared(desk.town)
        payer, ids["payer"] = await _payer(desk.town)
        admin, reader = await desk.town.admin(), await desk.town.add()
        people = {"admin": admin, "payer": payer, "reader": reader, "visitor": None}
        yield Theatre(desk, people, ids)


async def _desk(desk: Desk) -> dict[str, str]:
    """A source that works and one that does not, with jobs of each; letters, figures, and somebody to look after."""
    town = desk.town
    admin = await the_admin(town)
    desk.site.series |= {"two": [1, 2], "three": [7]}
    broken = a_source_body(name="Old Pier", slug="old-pier", baseurl=desk.site.url, extensionid="org.mangadex")
    broken_id = (await made(admin, "/admin/crawler/sources", broken))["id"]
    town.worker_loops.start()
    done = await _crawl(desk, desk.source_id)
    await until_over(admin, done)
    desk.site.is_down = True
    failed = await _crawl(desk, broken_id)
    await until_over(admin, failed)
    desk.site.is_down = False
    await town.worker_loops.stop()
    for _ in range(3):
        await town.figures.take()
        town.time.pass_(MINUTE)
    await desk.operator.send("/admin/invites", {"role": "reader"})
    user = await town.add(username="bob", email="bob@b.example")
    await town.billing.rented.create(OPERATOR, town.other_tenant, name="Another", plan="basic")
    [invoice], _ = await town.billing.books.invoices(OPERATOR, town.other_tenant, Slice(most=1))
    [mapped, *_], _ = await town.crawling.comics.of_source(desk.source_id, Slice())
    letters = [await a_dead_letter(town.db, town.time()) for _ in range(3)]
    return {
        "source_id": str(desk.source_id),
        "broken_id": str(broken_id),
        "comic_id": show_id(mapped.comic_id),
        "mapping_id": str(mapped.id),
        "job_id": done,
        "failed_id": failed,
        "queued_id": await _crawl(desk, desk.source_id),
        "letter_id": str(letters[0]),
        "user_id": show_id(user.public_id),
        "tenant_id": show_id(town.other_tenant),
        "invoice_id": show_id(invoice.public_id),
    }


async def _crawl(desk: Desk, source_id: int) -> str:
    """The id of a job that is queued now."""
    queued = await desk.operator.send(f"/admin/sources/{source_id}/crawl")
    return queued.headers["location"].partition("?")[0].rpartition("/")[2]


async def _shelf(town: Town, articles: int) -> dict[str, str]:
    """What somebody reads who has done so for a while, recordings and comics with real pages among it."""
    stage = await furnish(town, await town.admin(), articles=articles)
    on_air = await a_feed(town, "On Air")
    await subscribe(town.db, stage.shelf, on_air)
    article = an_item(
        "air", at=town.time(), title="Heard and seen", content=PICTURE + PARAGRAPHS, enclosures=RECORDINGS
    )
    await release_items(town, on_air, [article])
    playing = await town.db.read(lambda tx: tx.one(int, q.newest_item))
    bookmark = await town.reading.bookmarks.add_item(stage.shelf, ItemId(stage.items[0]), "Read again.")
    await subscribe(town.db, stage.shelf, await a_feed(town, "Left behind"))
    feeds = {feed.title: feed.public_id for feed in await town.reading.subscriptions.list(stage.shelf)}
    await town.reading.subscriptions.delete(stage.shelf, feeds["Left behind"])
    shown = await exhibit(town, stage.shelf)
    return {
        "item_id": str(stage.items[1]),
        "playing_id": str(playing),
        "feed_id": show_id(feeds["The Paper Lantern"]),
        "left_id": show_id(feeds["Left behind"]),
        "failing_id": show_id(feeds["A publisher that does not answer"]),
        "group_id": show_id((await town.reading.groups.list(stage.shelf))[1].public_id),
        "bookmark_id": show_id(bookmark.public_id),
        **{f"{name}_id": value for name, value in shown.items()},
    }


async def _keys(desk: Desk) -> dict[str, str]:
    """A token, a password of a device, and a channel."""
    admin = await desk.town.admin()
    wish = {"name": "Phone", "protocols": "greader", "life": "never"}
    made_one = await desk.operator.send("/account/device-passwords", wish)
    assert made_one.status == 200, made_one.text
    kinds = ("token_id", "channel_id")
    return {key: value for one in kinds for key, value in named(one, await OBJECTS[one](desk.town, admin)).items()}


async def _shared(town: Town) -> dict[str, str]:
    """A shelf that is shared with somebody, who shares theirs in turn: there is something to switch to."""
    admin, other = await town.admin(), await town.accounts.users.find("bob")
    for owner, guest in ((admin, other), (other, admin)):
        shelf = await town.accounts.current_user.shelf_of(owner)
        await town.accounts.sharing.share(shelf_user(owner), shelf.public_id, guest.username, "editor")
    shelf_id = show_id((await town.accounts.current_user.shelf_of(admin)).public_id)
    return {"shelf_id": shelf_id, "person_name": other.username}


async def _payer(town: Town) -> tuple[User, dict[str, str]]:
    """With an open invoice, a full shelf, and one that sleeps."""
    payer = await a_payer(town)
    (shelf,) = await payer.shelves()
    await town.billing.rented.create(OPERATOR, payer.tenant.public_id, name="A" * 60, plan="free")
    for number in range(11):
        await town.reading.subscriptions.add(shelf.id, NewSubscription(link=f"https://example.org/{number}"))
    full, sleeping = await payer.shelves()
    await town.billing.rented.deactivate(OPERATOR, sleeping.public_id)
    [invoice, *_] = await payer.invoices()
    return payer.user, {
        "rented_id": show_id(full.public_id),
        "sleeping_id": show_id(sleeping.public_id),
        "invoice_id": show_id(invoice.public_id),
    }

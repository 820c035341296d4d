"""A server with something of everything on it, and the people who open its pages; and one on which there is nothing."""

import re
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from playwright.async_api import Page

from tests.api.people import RunningApp
from tests.authorisation.objects import OBJECTS
from tests.billing.builders import OPERATOR
from tests.crawler.builders import a_dead_letter, a_source_body, made, the_admin, until_over
from tests.delivery.builders import subscribe
from tests.images.builders import a_picture
from tests.web.admin.builders import AdminSite, an_admin_site
from tests.web.gallery import exhibit
from tests.web.looks.pages import REFUSED
from tests.web.payers import a_payer
from tests.web.sample_shelf import PARAGRAPHS, a_feed, an_item, fill_shelf, release_items
from tests.web.xss.hostile_server import named
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.types import Slice, User
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


class SampleServer(msgspec.Struct, frozen=True):
    """Kept for all tests of a module: they only look."""

    admin_site: AdminSite
    people: dict[str, User | None]
    ids: dict[str, dict[str, str]]
    """What stands in the paths of each person's stops."""

    @property
    def app(self) -> RunningApp:
        return self.admin_site.app

    async def open(self, page: Page, who: str, stop: str) -> None:
        """This stop, and not a page that says why there is none."""
        await visit(page, self.app.client.base + self.path(who, stop), REFUSED.get((who, stop), 200))

    def path(self, who: str, stop: str) -> str:
        """The stop with what stands in its braces."""
        ids = self.ids.get(who, {})
        missing = set(re.findall(r"\{(\w+)\}", stop)) - ids.keys()
        assert not missing, f"{stop}: tests/web/looks/sample_server.py has no {missing} for the {who}"
        return stop.format(**ids)


async def visit(page: Page, url: str, status: int = 200) -> None:
    """The page that is there, as whole as it will be."""
    answer = await page.goto(url, wait_until="load")
    assert answer is not None
    assert (answer.status, page.url) == (status, url)
    assert await page.locator("h1").first.is_visible(), url


@asynccontextmanager
async def a_sample_server(folder: Path, *, articles: int = 12) -> AsyncIterator[SampleServer]:
    async with an_admin_site(folder, billing="on") as admin_site:
        ids = {"admin": await _desk(admin_site) | await _shelf(admin_site.app, articles) | await _keys(admin_site)}
        ids["admin"] |= await _shared(admin_site.app)
        payer, ids["payer"] = await _payer(admin_site.app)
        admin, reader = await admin_site.app.admin(), await admin_site.app.add()
        people = {"admin": admin, "payer": payer, "reader": reader, "visitor": None}
        yield SampleServer(admin_site, people, ids)


async def _desk(admin_site: AdminSite) -> dict[str, str]:
    """A source that works and one that does not, with jobs of each; letters, figures, and somebody to look after."""
    app = admin_site.app
    admin = await the_admin(app)
    admin_site.site.series |= {"two": [1, 2], "three": [7]}
    broken = a_source_body(name="Old Pier", slug="old-pier", baseurl=admin_site.site.url, extensionid="org.mangadex")
    broken_id = (await made(admin, "/admin/crawler/sources", broken))["id"]
    app.worker_loops.start()
    done = await _crawl(admin_site, admin_site.source_id)
    await until_over(admin, done)
    admin_site.site.is_down = True
    failed = await _crawl(admin_site, broken_id)
    await until_over(admin, failed)
    admin_site.site.is_down = False
    await app.worker_loops.stop()
    for _ in range(3):
        await app.figures.record_minute()
        app.time.pass_(MINUTE)
    await admin_site.operator.send("/admin/invites", {"role": "reader"})
    user = await app.add(username="bob", email="bob@b.example")
    await app.billing.rented.create(OPERATOR, app.other_tenant, name="Another", plan="basic")
    [invoice], _ = await app.billing.books.invoices(OPERATOR, app.other_tenant, Slice(most=1))
    [mapped, *_], _ = await app.crawling.comics.of_source(admin_site.source_id, Slice())
    letters = [await a_dead_letter(app.db, app.time()) for _ in range(3)]
    return {
        "source_id": str(admin_site.source_id),
        "broken_id": str(broken_id),
        "comic_id": show_id(mapped.comic_id),
        "mapping_id": str(mapped.id),
        "job_id": done,
        "failed_id": failed,
        "queued_id": await _crawl(admin_site, admin_site.source_id),
        "letter_id": str(letters[0]),
        "user_id": show_id(user.public_id),
        "tenant_id": show_id(app.other_tenant),
        "invoice_id": show_id(invoice.public_id),
    }


async def _crawl(admin_site: AdminSite, source_id: int) -> str:
    """The id of a job that is queued now."""
    queued = await admin_site.operator.send(f"/admin/sources/{source_id}/crawl")
    return queued.headers["location"].partition("?")[0].rpartition("/")[2]


async def _shelf(app: RunningApp, articles: int) -> dict[str, str]:
    """What somebody reads who has done so for a while, recordings and comics with real pages among it."""
    sample_shelf = await fill_shelf(app, await app.admin(), articles=articles)
    on_air = await a_feed(app, "On Air")
    await subscribe(app.db, sample_shelf.shelf, on_air)
    article = an_item("air", at=app.time(), title="Heard and seen", content=PICTURE + PARAGRAPHS, enclosures=RECORDINGS)
    await release_items(app, on_air, [article])
    playing = await app.db.read(lambda tx: tx.one(int, q.newest_item))
    note = "Read again, after https://example.org/" + "long" * 50
    bookmark = await app.reading.bookmarks.add_item(sample_shelf.shelf, ItemId(sample_shelf.items[0]), note)
    await subscribe(app.db, sample_shelf.shelf, await a_feed(app, "Left behind"))
    feeds = {feed.title: feed.public_id for feed in await app.reading.subscriptions.list(sample_shelf.shelf)}
    await app.reading.subscriptions.delete(sample_shelf.shelf, feeds["Left behind"])
    shown = await exhibit(app, sample_shelf.shelf)
    return {
        "item_id": str(sample_shelf.items[1]),
        "playing_id": str(playing),
        "feed_id": show_id(feeds["The Paper Lantern"]),
        "left_id": show_id(feeds["Left behind"]),
        "failing_id": show_id(feeds["A publisher that does not answer"]),
        "group_id": show_id((await app.reading.groups.list(sample_shelf.shelf))[1].public_id),
        "bookmark_id": show_id(bookmark.public_id),
        **{f"{name}_id": value for name, value in shown.items()},
    }


async def _keys(admin_site: AdminSite) -> dict[str, str]:
    """A token, a password of a device, a channel, a feed out, and an import."""
    admin = await admin_site.app.admin()
    form = {"name": "Phone", "protocols": "fever", "kinds": "both", "life": "never"}
    made_one = await admin_site.operator.send("/account/device-passwords", form)
    assert made_one.status == 200, made_one.text
    kinds = ("token_id", "channel_id", "feed_out_id", "import_id")
    return {key: value for one in kinds for key, value in named(one, await OBJECTS[one](admin_site.app, admin)).items()}


async def _shared(app: RunningApp) -> dict[str, str]:
    """A shelf that is shared with somebody, who shares theirs in turn: there is something to switch to."""
    admin, other = await app.admin(), await app.accounts.users.find("bob")
    for owner, guest in ((admin, other), (other, admin)):
        shelf = await app.accounts.current_user.shelf_of(owner)
        await app.accounts.sharing.share(shelf_user(owner), shelf.public_id, guest.username, "editor")
    shelf_id = show_id((await app.accounts.current_user.shelf_of(admin)).public_id)
    return {"shelf_id": shelf_id, "person_name": other.username}


async def _payer(app: RunningApp) -> tuple[User, dict[str, str]]:
    """With an open invoice, a full shelf, and one that sleeps."""
    payer = await a_payer(app)
    (shelf,) = await payer.shelves()
    await app.billing.rented.create(OPERATOR, payer.tenant.public_id, name="A" * 60, plan="free")
    for number in range(11):
        await app.reading.subscriptions.add(shelf.id, NewSubscription(link=f"https://example.org/{number}"))
    full, sleeping = await payer.shelves()
    await app.billing.rented.deactivate(OPERATOR, sleeping.public_id)
    [invoice, *_] = await payer.invoices()
    return payer.user, {
        "rented_id": show_id(full.public_id),
        "sleeping_id": show_id(sleeping.public_id),
        "invoice_id": show_id(invoice.public_id),
    }

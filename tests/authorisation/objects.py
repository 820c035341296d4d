"""What stands in paths: one of the caller's own, one of somebody else's, and the bodies that go with them."""

import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from tests.api.people import API, RunningApp
from tests.billing.builders import OPERATOR
from tests.crawler.builders import a_dead_letter
from tests.delivery.builders import publish
from tests.images.builders import a_picture, stored_picture
from tests.inbox.builders import items_of
from tests.shelves.library_builders import a_published_series, chapter_of
from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.types import SYSTEM, Slice, User
from tsuzuki.billing.books import scope_of
from tsuzuki.catalogue.browse import ListRequest
from tsuzuki.crawler.service import NewCrawlJob as CrawlWish
from tsuzuki.images.media import MediaLink, MediaLinks
from tsuzuki.inbox.feeds_out.types import NewFeedOut
from tsuzuki.model.ids import PublicId, ReleaseId, ShelfId, show_id
from tsuzuki.shelves.bookmarks import NewBookmark
from tsuzuki.shelves.types import FollowRequest as Following
from tsuzuki.shelves.types import NewSubscription, ReportedReading
from tsuzuki.sources.types import NewMapping, SourceRegistration


async def _session_of(app: RunningApp, user: User) -> PublicId:
    return (await _caller(app, user)).key_public_id


async def _token_of(app: RunningApp, user: User) -> PublicId:
    await app.with_token(user, "read")
    return (await app.accounts.tokens.list(await _caller(app, user)))[0].public_id


async def _user_of(app: RunningApp, user: User) -> PublicId:
    tenant = (await app.accounts.current_user.get(await _caller(app, user))).tenant
    return (await app.add(tenant_id=tenant.public_id)).public_id


async def _invite_of(app: RunningApp, user: User) -> PublicId:
    return (await app.accounts.invites.make(await _caller(app, user), "reader", None)).public_id


async def _tenant_of(app: RunningApp, _: User) -> PublicId:
    return (await app.accounts.tenants.add(SYSTEM, "Third")).public_id


async def _payer_of(app: RunningApp, user: User) -> PublicId:
    return (await app.accounts.current_user.get(await _caller(app, user))).tenant.public_id


async def _rented_of(app: RunningApp, user: User) -> PublicId:
    payer = await _payer_of(app, user)
    mine = scope_of(await _caller(app, user))
    made = await app.billing.rented.create(mine, payer, name=secrets.token_hex(8), plan="basic")
    return made.public_id


async def _invoice_of(app: RunningApp, user: User) -> PublicId:
    await _rented_of(app, user)
    found, _ = await app.billing.books.invoices(OPERATOR, await _payer_of(app, user), Slice(most=1))
    return found[0].public_id


async def _member_of(app: RunningApp, user: User) -> dict[str, str]:
    shelf, tenant = await _rented_of(app, user), await _payer_of(app, user)
    guest = await app.add(tenant_id=tenant)
    await app.accounts.sharing.share(shelf_user(user), shelf, guest.username, "editor")
    return {"shelf_id": show_id(shelf), "person_name": guest.username}


async def _group_of(app: RunningApp, user: User) -> PublicId:
    return (await app.reading.groups.add(await _shelf_of(app, user), secrets.token_hex(8))).public_id


async def _tag_of(app: RunningApp, user: User) -> PublicId:
    return (await app.reading.tags.add(await _shelf_of(app, user), secrets.token_hex(8))).public_id


async def _feed_of(app: RunningApp, user: User) -> PublicId:
    request = NewSubscription(link=f"http://93.184.216.34/{secrets.token_hex(8)}")
    return (await app.reading.subscriptions.add(await _shelf_of(app, user), request)).public_id


async def _item_of(app: RunningApp, user: User) -> str:
    shelf, feed = await _shelf_of(app, user), await _feed_of(app, user)
    feed_id = (await app.reading.subscriptions.get(shelf, feed)).feed_id
    await publish(app.accounts.deps.db, feed_id, ["1"])
    newest, *_ = await items_of(app.accounts.deps.db, shelf, feed=feed)
    return str(newest.item_id)


async def _bookmark_of(app: RunningApp, user: User) -> PublicId:
    new = NewBookmark(link=f"https://example.org/{secrets.token_hex(8)}", title="A page")
    return (await app.reading.bookmarks.add(await _shelf_of(app, user), new)).public_id


LIST = b'<opml version="2.0"><body><outline text="A" xmlUrl="http://93.184.216.34/a"/></body></opml>'


async def _channel_of(app: RunningApp, user: User) -> PublicId:
    config = {"url": "http://93.184.216.34/hook"}
    added = await app.channels.add(await _shelf_of(app, user), "webhook", name=secrets.token_hex(8), config=config)
    return added.channel.id


async def _feed_out_of(app: RunningApp, user: User) -> PublicId:
    return await feed_out_on(app, user, await _shelf_of(app, user))


async def feed_out_on(app: RunningApp, user: User, shelf_id: ShelfId) -> PublicId:
    """A feed out of somebody's, on a shelf that they have."""
    return (await app.feeds_out.add(shelf_id, user.id, NewFeedOut(name="A feed"))).public_id


async def _import_of(app: RunningApp, user: User) -> PublicId:
    shelf = await _shelf_of(app, user)
    shown = await app.imports.show(shelf, user.id, "feeds.opml", LIST)
    return (await app.imports.import_now(shelf, shown.public_id)).public_id


async def _synced_of(app: RunningApp, user: User) -> str:
    draft = app.folder / secrets.token_hex(8)
    draft.write_bytes(b"library")
    return str((await app.synced.put(await _shelf_of(app, user), draft, instead_of=None)).id)


async def _source_of(app: RunningApp, _: User) -> str:
    name = secrets.token_hex(4)
    wanted = SourceRegistration(name=name, slug=name, base_url="https://example.org")
    return str((await app.crawling.sources.register(SYSTEM, wanted)).id)


async def _job_of(app: RunningApp, user: User) -> PublicId:
    source = await _source_of(app, user)
    return (await app.crawling.jobs.trigger(await _caller(app, user), CrawlWish(int(source)))).public_id


async def _comic_of(app: RunningApp, user: User) -> PublicId:
    await _source_of(app, user)
    return (await app.crawling.comics.add(SYSTEM, "A comic", None)).public_id


async def _mapping_of(app: RunningApp, user: User) -> dict[str, str]:
    source, comic, key = await _source_of(app, user), await _comic_of(app, user), secrets.token_hex(4)
    new = NewMapping(source_id=int(source), source_key=key, url=f"https://example.org/{key}")
    mapping = await app.crawling.comics.link(SYSTEM, comic, new)
    return {"comic_id": show_id(comic), "mapping_id": str(mapping.id)}


async def _site_of(app: RunningApp, _: User) -> str:
    """A folder with one series of one chapter."""
    name = secrets.token_hex(4)
    folder = app.folder / name
    (folder / "Series" / "Chapter 1").mkdir(parents=True)
    (folder / "Series" / "cover.png").write_bytes(a_picture())
    (folder / "Series" / "Chapter 1" / "1.png").write_bytes(a_picture())
    wanted = SourceRegistration(
        name=name, slug=name, base_url="local:", connector="tsuzuki.local", config={"folder": str(folder)}
    )
    return str((await app.crawling.sources.register(SYSTEM, wanted)).id)


async def _manga_of(app: RunningApp, user: User) -> str:
    request = ListRequest(kind="popular", shelf_id=await _shelf_of(app, user))
    listed = await app.catalogue.browsing.browse(int(await _site_of(app, user)), request)
    return str(listed.value.manga[0].id)


async def _release_of(app: RunningApp, user: User) -> str:
    shelf = await _shelf_of(app, user)
    listed = await app.catalogue.chapter_lists.list(int(await _manga_of(app, user)), shelf)
    return str(listed.value[0].id)


async def _page_of(app: RunningApp, user: User) -> dict[str, str]:
    return {"release_id": await _release_of(app, user), "position": "0"}


async def _downloaded_of(app: RunningApp, user: User) -> str:
    release = await _release_of(app, user)
    await app.pictures.downloads.add(await _shelf_of(app, user), ReleaseId(int(release)))
    return release


async def _picture_of(app: RunningApp, _: User) -> dict[str, str]:
    address = f"https://example.org/{secrets.token_hex(8)}.png"
    await stored_picture(app, address)
    signature, picture = app.pictures.articles.url(address).split("/")[-2:]
    return {"signature": signature, "picture": picture}


async def _recording_of(app: RunningApp, _: User) -> dict[str, str]:
    links = await MediaLinks.open(app.db, secrets.token_bytes, app.time)
    terms, seal, medium = links.url(MediaLink("audio", "http://127.0.0.1/a.mp3")).split("/")[-3:]
    return {"terms": terms, "seal": seal, "medium": medium}


async def _series_of(app: RunningApp, _: User) -> dict[str, str]:
    series, other = await a_published_series(app.db, [1], sources=2), await a_published_series(app.db)
    names = {"series_id": show_id(series.public_id), "other_id": show_id(other.public_id)}
    return names | {"mapping_id": str(series.sources[0])}


async def _follow_of(app: RunningApp, user: User) -> PublicId:
    request = Following(series=(await a_published_series(app.db)).public_id)
    return (await app.reading.follows.add(await _shelf_of(app, user), request)).follow.public_id


async def _chapter_of(app: RunningApp, _: User) -> dict[str, str]:
    series = await a_published_series(app.db, [1])
    return {"series_id": show_id(series.public_id), "chapter_id": str(await chapter_of(app.db, series.id, 1))}


async def _opened_of(app: RunningApp, user: User) -> str:
    series = await a_published_series(app.db, [1])
    chapter = await chapter_of(app.db, series.id, 1)
    await app.reading.progress.report(await _shelf_of(app, user), series.public_id, chapter, ReportedReading(page=1))
    return str(chapter)


async def _letter_of(app: RunningApp, _: User) -> str:
    return str(await a_dead_letter(app.accounts.deps.db, app.time()))


async def _shelf_of(app: RunningApp, user: User) -> ShelfId:
    return (await app.accounts.current_user.pick_shelf(await _caller(app, user), None)).id


async def _caller(app: RunningApp, user: User) -> Caller:
    resumed = await app.accounts.sessions.resume(await app.session(user), "")
    assert resumed is not None
    return resumed.caller


Filling = PublicId | str | dict[str, str]

OBJECTS: dict[str, Callable[[RunningApp, User], Awaitable[Filling]]] = {
    "session_id": _session_of,
    "token_id": _token_of,
    "user_id": _user_of,
    "invite_id": _invite_of,
    "tenant_id": _tenant_of,
    "payer_id": _payer_of,
    "rented_id": _rented_of,
    "shelf_id": _rented_of,
    "person_name": _member_of,
    "invoice_id": _invoice_of,
    "group_id": _group_of,
    "tag_id": _tag_of,
    "feed_id": _feed_of,
    "item_id": _item_of,
    "bookmark_id": _bookmark_of,
    "channel_id": _channel_of,
    "feed_out_id": _feed_out_of,
    "import_id": _import_of,
    "synced_id": _synced_of,
    "source_id": _source_of,
    "job_id": _job_of,
    "comic_id": _comic_of,
    "mapping_id": _mapping_of,
    "letter_id": _letter_of,
    "series_id": _series_of,
    "follow_id": _follow_of,
    "chapter_id": _chapter_of,
    "opened_id": _opened_of,
    "site_id": _site_of,
    "manga_id": _manga_of,
    "release_id": _release_of,
    "position": _page_of,
    "kept_id": _downloaded_of,
    "signature": _picture_of,
    "picture": _picture_of,
    "terms": _recording_of,
    "seal": _recording_of,
    "medium": _recording_of,
}
COMMON = {"site_id", "manga_id", "release_id", "series_id", "chapter_id", "position", "picture", "medium"}
"""What sources have is everybody's (R70): there is no foreign one."""
PERSONAL = {"feed_out_id": feed_out_on}
"""Everybody's own, also on a shelf that several have."""
TENANTS = {"payer_id", "invoice_id"}
"""What people of one tenant have together: they pay together."""
ANYONES = {"POST /api/v1/chapters/{kept_id}/download"}
"""Likewise: a chapter that one shelf keeps, another may keep too."""
UNCALLED = {"GET /api/v1/media/{terms}/{seal}/{medium}": 400}
"""Nothing of it is here, and the guard refuses its publisher: whose seal is good is told just that."""
MISSING = "01952ff9-0000-7000-8000-000000000000"


def filled(path: str, value: Filling = MISSING) -> str:
    """With one value for every object in it, or with one for each."""
    text = show_id(value) if isinstance(value, bytes) else value
    for name in OBJECTS:
        path = path.replace(f"{{{name}}}", text if isinstance(text, str) else text.get(name, MISSING))
    return path.removeprefix(API)


# -- bodies


def a_mapping_body() -> dict[str, Any]:
    """Another one every time, on the first source that there is."""
    key = secrets.token_hex(4)
    return {"sourceid": 100000, "sourceid_ext": key, "sourceurl": f"https://example.org/{key}"}


def a_shelf_body() -> dict[str, Any]:
    """Another name every time."""
    return {"name": secrets.token_hex(4), "plan": "basic"}


# Bodies that are fine, or what makes them, for routes whose object is looked for only after the body was read.
BODIES: dict[str, Any] = {
    "PUT /api/v1/admin/users/{user_id}/password": {"password": "another password"},
    "PATCH /api/v1/admin/tenants/{tenant_id}": {"name": "Renamed"},
    "POST /api/v1/tenants/{payer_id}/shelves": a_shelf_body,
    "PATCH /api/v1/shelves/{rented_id}": lambda: {"name": secrets.token_hex(4)},
    "PUT /api/v1/shelves/{rented_id}/plan": {"plan": "growth"},
    "PATCH /api/v1/me/shelves/{shelf_id}": lambda: {"name": secrets.token_hex(4)},
    "PUT /api/v1/me/shelves/{shelf_id}/people/{person_name}": {"role": "reader"},
    "POST /api/v1/admin/invoices/{invoice_id}/pay": {"reference": "bank"},
    "POST /api/v1/admin/tenants/{tenant_id}/credit": {"amount_cents": 100, "reason": "sorry"},
    "PATCH /api/v1/bookmarks/{bookmark_id}": {"note": "Mine"},
    "PATCH /api/v1/admin/crawler/sources/{source_id}/enable": {"isenabled": True},
    "POST /api/v1/admin/comics/{comic_id}/sources": a_mapping_body,
    "POST /api/v1/series/{series_id}/read": {"all": True},
    "POST /api/v1/series/{series_id}/unread": {"all": True},
    "PUT /api/v1/series/{series_id}/chapters/{chapter_id}/progress": {"page": 1},
    "PUT /api/v1/feeds/{feed_id}/tags": {"tags": ["A"]},
    "PUT /api/v1/library/{follow_id}/tags": {"tags": ["A"]},
    "PATCH /api/v1/tags/{tag_id}": {"name": "B"},
    "PUT /api/v1/sources/{site_id}/meta": {"key": "theme", "value": "dark"},
}

# The same where the body names what goes with the object.
BODIES_OF: dict[str, Callable[[Any], Any]] = {
    "POST /api/v1/admin/series/{series_id}/merge": lambda made: {"into": made["other_id"]},
    "POST /api/v1/admin/series/{series_id}/split": lambda made: {"sources": [int(made["mapping_id"])]},
}


def body_for(name: str, made: Any = None, *, otherwise: Any = None) -> Any:
    """What this route takes, for the object that `made` tells of."""
    if name in BODIES_OF and made is not None:
        return BODIES_OF[name](made)
    body = BODIES.get(name, otherwise)
    return body() if callable(body) else body

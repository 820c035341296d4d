"""The app without scripts: reading, marking, undoing, adding and changing by links and forms alone."""

import re
from collections.abc import AsyncIterator
from html import unescape

import pytest

from tests.api.people import Town, a_town
from tests.app import Answer
from tests.web.guests import Guest, a_guest, error_of, value_of
from tests.web.stage import PARAGRAPHS, Stage, a_feed, an_item, furnish, release_items
from tsuzuki.accounts.nouns import User
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import ItemId, show_id
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.times import MINUTE, Millis

ENTRY = re.compile(r'<article class="entry ([\w ]+)" id="e(\d+)"')
q = parse_queries("tests", "-- name: hide_counts\nalter table tally rename to hidden;")
LINK = re.compile(r'class="entry-link" href="([^"]+)"')


class Home:
    """A town, a furnished shelf, and who reads from it."""

    def __init__(self, town: Town, user: User, stage: Stage, guest: Guest) -> None:
        self.town = town
        self.user = user
        self.stage = stage
        self.guest = guest

    async def feed_id(self, place: int = 0) -> str:
        return show_id((await self.town.reading.subscriptions.list(self.stage.shelf))[place].public_id)

    async def group_id(self, name: str) -> str:
        found = await self.town.reading.groups.list(self.stage.shelf)
        return next(show_id(group.public_id) for group in found if group.name == name)


@pytest.fixture
async def home(tmp_path) -> AsyncIterator[Home]:
    async with a_town(tmp_path) as town:
        user = await town.add()
        stage = await furnish(town, user, articles=20)
        yield Home(town, user, stage, await a_guest(town, user))


def entries(answer: Answer) -> list[str]:
    return [found[1] for found in ENTRY.findall(answer.text)]


def unread(answer: Answer) -> list[str]:
    return [entry for kinds, entry in ENTRY.findall(answer.text) if "unread" in kinds.split()]


async def follow_to(guest: Guest, answer: Answer) -> Answer:
    assert answer.status == 303
    return await guest.see(answer.headers["location"])


# -- the inbox


async def test_the_inbox_has_all_kinds_newest_first_by_day(home):
    page = await home.guest.see("/")
    assert page.status == 200
    assert len(entries(page)) == 29
    assert page.text.index(">Today<") < page.text.index(">Yesterday<")
    assert "Chapter 41: The letter that was not sent" in page.text
    assert "The ink was still wet" in page.text
    times = re.findall(r'<time datetime="([^"]+)"', page.text)
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(("query", "count"), [("?kind=item", 20), ("?kind=chapter", 9), ("?show=saved", 0)])
async def test_filters_show_what_they_say(home, query, count):
    assert len(entries(await home.guest.see(f"/{query}"))) == count


async def test_a_group_and_a_feed_are_lists_of_their_own(home):
    group = await home.guest.see(f"/?group={await home.group_id('Webcomics')}")
    assert (len(entries(group)), "<h1>Webcomics</h1>" in group.text) == (9, True)
    feed = await home.guest.see(f"/?feed={await home.feed_id()}")
    assert (len(entries(feed)), "<h1>The Paper Lantern</h1>" in feed.text) == (4, True)


@pytest.mark.parametrize("query", ["group=x", "feed=x", "series=019c8538-8600-76e5-b589-16aa85e76f08"])
async def test_a_list_that_is_not_there_is_said_to_be_so(home, query):
    assert (await home.guest.see(f"/?{query}")).status == 404


async def test_i8_nobody_sees_another_tenants_lists_or_articles(home):
    stranger = await a_guest(home.town, await home.town.add(tenant_id=home.town.other_tenant))
    assert entries(await stranger.see("/?show=all")) == []
    for path in (f"/?feed={await home.feed_id()}", f"/items/{home.stage.items[0]}", f"/feeds/{await home.feed_id()}"):
        assert (await home.guest.see(path)).status == 200
        assert (await stranger.see(path)).status == 404


async def test_more_than_a_page_is_reached_by_the_link_to_older_ones(home):
    feed = await a_feed(home.town, "Many")
    from tests.delivery.builders import subscribe

    await subscribe(home.town.db, home.stage.shelf, feed)
    now = home.town.time()
    many = [an_item(f"m{n}", at=Millis(now - n * MINUTE), title=f"Number {n}") for n in range(120)]
    await release_items(home.town, feed, many)
    seen: list[str] = []
    path: str | None = "/"
    pages = 0
    while path is not None:
        page = await home.guest.see(path)
        seen += entries(page)
        pages += 1
        found = re.search(r'<a class="older button quiet" href="([^"]+)"', page.text)
        path = unescape(found[1]) if found else None
    assert (pages, len(seen), len(set(seen))) == (3, 149, 149)


async def test_a_part_of_the_list_comes_without_the_page_around_it(home):
    part = await home.guest.see("/?part=rows")
    assert len(entries(part)) == 29
    assert "<html" not in part.text
    assert (await Guest(home.town.client).see("/?part=rows")).status == 401  # no page is put into anyone's list


async def test_an_entry_is_marked_and_unmarked_by_its_buttons(home):
    first = entries(await home.guest.see("/"))[0]
    after = await follow_to(home.guest, await home.guest.send("/inbox/mark", {"read": first, "back": "/?show=all"}))
    assert first in entries(after)
    assert first not in unread(after)
    again = await follow_to(home.guest, await home.guest.send("/inbox/mark", {"unread": first, "back": "/"}))
    assert first in unread(again)


async def test_a_mass_mark_is_told_and_taken_back(home):
    page = await home.guest.see("/?kind=item")
    newest = value_of(page, "newest")
    sent = await home.guest.send("/inbox/mark-all", {"kind": "item", "newest": newest, "back": "/?kind=item"})
    after = await follow_to(home.guest, sent)
    assert "20 entries are marked read." in after.text
    assert unread(after) == []
    assert len(unread(await home.guest.see("/"))) == 9
    undo = {"undo": value_of(after, "undo"), "back": "/?kind=item"}
    back = await follow_to(home.guest, await home.guest.send("/inbox/undo", undo))
    assert "20 entries are unread again." in back.text
    assert len(unread(back)) == 20


async def test_mark_all_is_offered_only_where_something_is_unread(home):
    """Also further down a list whose first page is read; a list without anything unread has nothing to mark."""
    feed = f"/?feed={await home.feed_id()}&show=all"
    lists = ("/", "/?show=all", "/?kind=item", feed)
    assert all([await offers_to_mark(home.guest, path) for path in lists])
    await home.guest.send("/inbox/mark-all", {"newest": value_of(await home.guest.see("/"), "newest"), "back": "/"})
    assert not any([await offers_to_mark(home.guest, path) for path in lists])
    many = [an_item(f"m{n}", at=Millis(home.town.time() - n * MINUTE), title=f"Number {n}") for n in range(60)]
    await release_items(home.town, home.stage.feeds[0], many)
    await home.guest.send("/inbox/mark", [("read", each) for each in entries(await home.guest.see("/"))])
    assert unread(await home.guest.see("/?show=all")) == []
    assert await offers_to_mark(home.guest, "/?show=all")


async def offers_to_mark(guest: Guest, path: str) -> bool:
    form = re.search(r"<form [^>]*data-mark-all[^>]*>", (await guest.see(path)).text)
    assert form is not None
    return "hidden" not in form[0]


async def test_what_came_in_after_the_page_was_shown_is_not_marked(home):
    page = await home.guest.see("/")
    late = an_item("late", at=Millis(home.town.time() - 60 * MINUTE), title="Late")
    await release_items(home.town, home.stage.feeds[0], [late])
    await home.guest.send("/inbox/mark-all", {"newest": value_of(page, "newest"), "back": "/"})
    assert len(unread(await home.guest.see("/"))) == 1


async def test_saving_makes_a_bookmark_and_letting_go_forgets_it(home):
    item = home.stage.items[0]
    for _ in range(2):  # saving what is saved is no error
        await home.guest.send("/inbox/mark", {"save": f"i{item}", "back": "/"})
    assert len(entries(await home.guest.see("/?show=saved"))) == 1
    page = await home.town.reading.bookmarks.list(home.stage.shelf, feed=None, group=None, after=FROM_THE_TOP, most=9)
    assert page.total == 1
    await home.guest.send("/inbox/mark", {"unsave": f"i{item}", "back": "/"})
    assert entries(await home.guest.see("/?show=saved")) == []


async def test_a_note_comes_back_with_what_is_saved_again(home):
    item, json = home.stage.items[0], {"accept": "application/json"}
    await home.town.reading.bookmarks.add_item(home.stage.shelf, ItemId(item), "Read again.")
    gone = (await home.guest.send("/inbox/mark", {"unsave": f"i{item}"}, **json)).json()["data"]
    assert gone["note"] == "Read again."
    await home.guest.send("/inbox/mark", {"save": f"i{item}", "note": gone["note"]}, **json)
    page = await home.town.reading.bookmarks.list(home.stage.shelf, feed=None, group=None, after=FROM_THE_TOP, most=9)
    assert [one.note for one in page.rows] == ["Read again."]


async def test_a_chapter_is_saved_too(home):
    chapter = entries(await home.guest.see("/?kind=chapter"))[0]
    await home.guest.send("/inbox/mark", {"save": f"c{chapter}", "back": "/"})
    assert entries(await home.guest.see("/?show=saved")) == [chapter]


@pytest.mark.parametrize("fields", [{}, {"newest": "x"}, {"newest": "-1"}, {"newest": "9" * 30}])
async def test_a_mass_mark_without_its_end_is_refused(home, fields):
    assert (await home.guest.send("/inbox/mark-all", fields)).status == 400
    assert len(unread(await home.guest.see("/"))) == 29


async def test_sec_41_a_mark_leads_back_to_a_place_of_ours_only(home):
    for back in ("//evil.example/", "https://evil.example/", "/\\evil.example"):
        answer = await home.guest.send("/inbox/mark", {"read": "1", "back": back})
        assert answer.headers["location"].startswith("/")
        assert not answer.headers["location"].startswith(("//", "/\\"))


async def test_scripts_get_the_same_as_json(home):
    first = entries(await home.guest.see("/"))[0]
    json = {"accept": "application/json"}
    marked = (await home.guest.send("/inbox/mark", {"read": first}, **json)).json()["data"]
    assert marked["changed"] == 1
    states = (await home.guest.see(f"/inbox/states?ids={first},nonsense,999999", **json)).json()["data"]
    assert states == [{"id": int(first), "unread": False, "saved": False}]
    assert (await home.guest.send("/inbox/undo", {"undo": marked["undo"]}, **json)).json()["data"]["changed"] == 1


async def test_an_empty_shelf_says_what_to_do(tmp_path):
    async with a_town(tmp_path) as town:
        page = await (await a_guest(town, await town.add())).see("/")
        assert "Nothing here yet." in page.text
        assert 'href="/feeds/add"' in page.text


# -- an article


async def test_an_article_is_read_with_its_neighbours_of_the_list_it_was_opened_from(home):
    links = [unescape(link) for link in LINK.findall((await home.guest.see("/?kind=item")).text)]
    page = await home.guest.see(links[3])
    assert "The last panel is decided" in page.text
    assert page.text.count("<h1") == 1
    ids = [re.findall(r"/items/(\d+)", link)[0] for link in links]
    assert f"/items/{ids[2]}?kind=item" in page.text
    assert f"/items/{ids[4]}?kind=item" in page.text
    assert 'href="/?kind=item"' in page.text  # back to the list


async def test_sec_16_opening_an_article_by_its_address_marks_nothing(home):
    before = unread(await home.guest.see("/"))
    page = await home.guest.see(f"/items/{home.stage.items[0]}")
    assert "data-unread=" in page.text  # a script posts it
    assert unread(await home.guest.see("/")) == before


async def test_i7_pictures_and_recordings_come_through_us(home):
    content = (
        '<p>One</p><img src="https://pictures.example/a.png" srcset="https://pictures.example/b.png 2x" alt="A boat">'
        '<video src="https://media.example/v.mp4" controls></video><h1>Loud</h1>'
        '<a href="https://example.org/x">there</a>'
    )
    late = an_item("media", at=home.town.time(), title="Media", content=content)
    await release_items(home.town, home.stage.feeds[0], [late])
    path = LINK.findall((await home.guest.see("/")).text)[0]
    text = (await home.guest.see(unescape(path))).text
    prose = text[text.index('class="prose"') :]
    assert re.search(r'<img[^>]+src="/api/v1/images/[\w-]+/[\w-]+"', prose)
    assert "pictures.example" not in re.sub(r"/api/v1/images/\S+", "", prose)
    assert re.search(r'<video controls="" preload="none"[^>]+ src="/api/v1/media/video-\d+/[\w-]+/[\w-]+"', prose)
    assert 'href="https://media.example/v.mp4"' in prose
    assert "<h1" not in prose
    assert prose.count('rel="noopener noreferrer nofollow"') == 2


@pytest.mark.parametrize("path", ["/items/0", "/items/x", "/items/99999999999999999999", "/items/-1"])
async def test_an_article_that_is_not_there_is_not_found(home, path):
    assert (await home.guest.see(path)).status == 404


async def test_an_error_is_shown_to_somebody_signed_in_with_every_place_one_step_away(home):
    page = await home.guest.see("/items/0")
    assert page.status == 404
    assert 'aria-label="Places"' in page.text
    assert "There is no such item." in page.text
    assert 'aria-label="Places"' not in (await Guest(home.town.client).see("/nothing")).text
    as_json = await home.guest.see("/items/0", accept="application/json")
    assert as_json.json()["code"] == "NOT_FOUND"


async def test_a_frame_that_cannot_be_made_leaves_the_plain_page(home):
    """The page that says sorry is never the one that fails."""
    told = await home.guest.send("/feeds/nonsense/suspend")
    assert (told.status, 'aria-label="Places"' in told.text) == (404, True)
    await home.town.db.with_tx(lambda tx: tx.run(q.hide_counts))
    told = await home.guest.send("/feeds/nonsense/suspend")
    assert (told.status, 'aria-label="Places"' in told.text) == (404, False)
    assert "<h1>" in told.text


# -- feeds and groups


async def test_the_feeds_say_how_they_are(home):
    page = await home.guest.see("/feeds")
    assert "The server answered 503 (Service Unavailable)." in page.text
    assert "failed 3 times in a row" in page.text
    assert "1 feed is failing." in page.text
    assert "No feeds in this group." in page.text


async def test_a_feed_is_changed_and_what_was_wrong_stands_beside_its_field(home):
    feed = await home.feed_id()
    page = await home.guest.see(f"/feeds/{feed}")
    link = value_of(page, "link") or ""
    fields = {"name": "Lantern", "link": link, "interval": "86400", "retention": "30", "notify": "on"}
    assert (await follow_to(home.guest, await home.guest.send(f"/feeds/{feed}", fields))).status == 200
    [changed] = [one for one in await home.town.reading.subscriptions.list(home.stage.shelf) if one.name == "Lantern"]
    assert (changed.poll_interval, changed.retention, changed.notify) == (86_400_000, 30 * 86_400_000, True)
    wrong = await home.guest.send(f"/feeds/{feed}", fields | {"link": "ftp://example.org/"})
    assert wrong.status == 400
    assert error_of(wrong, "link") is not None
    assert value_of(wrong, "name") == "Lantern"
    assert (await home.guest.send(f"/feeds/{feed}", fields | {"interval": "1"})).status == 400


async def test_a_feed_is_suspended_resumed_and_asked_for(home):
    feed = await home.feed_id()
    assert (
        "The feed is suspended."
        in (await follow_to(home.guest, await home.guest.send(f"/feeds/{feed}/suspend", {"suspended": "on"}))).text
    )
    assert "you suspended it" in (await home.guest.see("/feeds")).text
    await home.guest.send(f"/feeds/{feed}/suspend")
    assert "you suspended it" not in (await home.guest.see("/feeds")).text
    await home.guest.send(f"/feeds/{feed}/refresh")
    assert "is being checked" in (await home.guest.see("/feeds")).text


async def test_leaving_a_feed_says_what_goes_along_and_it_can_be_followed_again(home):
    feed = await home.feed_id()
    assert "4 entries of it leave your inbox, 4 of them unread." in (await home.guest.see(f"/feeds/{feed}/delete")).text
    after = await follow_to(home.guest, await home.guest.send(f"/feeds/{feed}/delete"))
    assert "You no longer follow it." in after.text
    assert len(unread(await home.guest.see("/"))) == 25
    undo = re.search(r'action="(/feeds/[\w-]+/restore)"', after.text)
    assert undo is not None
    back = await follow_to(home.guest, await home.guest.send(undo[1]))
    assert "You follow it again, as it was." in back.text
    assert len(unread(await home.guest.see("/"))) == 29
    assert await home.feed_id(-1) == feed
    assert (await home.guest.send(undo[1])).status == 404  # it is done
    assert undo[1] not in (await home.guest.see(f"/feeds?left={feed}")).text


async def test_groups_are_added_renamed_moved_and_deleted(home):
    assert (
        "The group is there."
        in (await follow_to(home.guest, await home.guest.send("/groups/new", {"name": " Night   shift "}))).text
    )
    group = await home.group_id("Night shift")
    taken = await home.guest.send("/groups/new", {"name": "Night shift"})
    assert (taken.status, value_of(taken, "name")) == (409, "Night shift")
    assert (await home.guest.send("/groups/new", {"name": "  "})).status == 400
    await home.guest.send(f"/groups/{group}", {"name": "Nights"})
    await home.guest.send(f"/groups/{group}/move", {"to": "up"})
    names = [one.name for one in await home.town.reading.groups.list(home.stage.shelf)]
    assert names == ["Default", "Webcomics", "Craft", "Nights", "News of the world"]
    craft = await home.group_id("Craft")
    assert "Its 2 feeds move to the default group." in (await home.guest.see(f"/groups/{craft}")).text
    await home.guest.send(f"/groups/{craft}/delete")
    assert ">Craft<" not in (await home.guest.see("/feeds")).text


async def test_a_list_is_imported_with_what_became_of_each(home):
    opml = (
        '<opml version="2.0"><body><outline text="G"><outline type="rss" xmlUrl="https://example.net/f"/></outline>'
        '<outline type="rss" xmlUrl="ftp://example.net/g"/></body></opml>'
    )
    body = f'--x\r\ncontent-disposition: form-data; name="file"; filename="a.opml"\r\n\r\n{opml}\r\n--x--\r\n'
    headers = {"content-type": "multipart/form-data; boundary=x", "cookie": f"tsuzuki={home.guest.cookies['tsuzuki']}"}
    sent = await home.town.client.ask("POST", "/feeds/import", headers=headers, data=body.encode())
    assert "1 could not be added:" in sent.text
    wrong = await home.town.client.ask("POST", "/feeds/import", headers=headers, data=body.replace("<", "(").encode())
    assert (wrong.status, error_of(wrong, "file") is not None) == (400, True)


# -- the rest


async def test_a_search_finds_articles_feeds_and_shows_hits_as_marks(home):
    page = await home.guest.see("/search?q=lantern")
    assert "The Paper Lantern" in page.text
    marked = await home.guest.see("/search?q=foundry")
    assert "A morning at the type foundry" in marked.text
    assert "Nothing found." in (await home.guest.see("/search?q=zzzzzz")).text


async def test_a_bookmark_is_read_noted_and_deleted(home):
    await home.guest.send("/inbox/mark", {"save": f"i{home.stage.items[0]}"})
    [path] = set(re.findall(r'href="(/bookmarks/[\w-]+)"', (await home.guest.see("/bookmarks")).text))
    assert "Much of it is waiting." in PARAGRAPHS
    assert "Much of it is waiting." in (await home.guest.see(path)).text
    noted = await follow_to(home.guest, await home.guest.send(f"{path}/note", {"note": "For <later>"}))
    assert "For &lt;later&gt;</textarea>" in noted.text
    after = await follow_to(home.guest, await home.guest.send(f"{path}/delete"))
    assert "No bookmarks." in after.text


async def test_settings_are_kept_and_shown_by_the_first_paint(home):
    sent = {"is_whole": "1", "theme": "dark", "density": "compact", "text_size": "large", "marks_on_scroll": "on"}
    after = await follow_to(home.guest, await home.guest.send("/settings", sent | {"time_zone": "Asia/Tokyo"}))
    assert 'class="theme-dark density-compact text-large reading-serif width-normal"' in after.text
    assert "data-marks-on-scroll" in (await home.guest.see("/")).text
    wrong = await home.guest.send("/settings", {"time_zone": "Atlantis"})
    assert (wrong.status, error_of(wrong, "time_zone")) == (400, "There is no such time zone.")
    assert (await home.guest.send("/settings", {"theme": "pink"})).status == 400


async def test_a_channel_shows_its_secret_once(home):
    refused = await home.guest.send("/notifications", {"kind": "webhook", "name": "Mine", "url": "http://127.0.0.1/"})
    assert (refused.status, value_of(refused, "name")) == (400, "Mine")
    assert error_of(refused, "url") is not None


async def test_the_app_is_installable_and_its_worker_keeps_only_what_is_nobodys(home):
    manifest = (await home.guest.see("/manifest.webmanifest")).json()
    for icon in manifest["icons"]:
        assert (await home.guest.see(icon["src"])).headers["content-type"] == "image/png"
    worker = await home.guest.see("/sw.js")
    kept = re.findall(r'"(/[^"]*)"', worker.text.partition("\nconst name")[0])
    assert kept[0] == "/offline"
    assert all(path.startswith("/static/") for path in kept[1:])
    for path in kept:
        assert (await Guest(home.town.client).see(path)).status == 200

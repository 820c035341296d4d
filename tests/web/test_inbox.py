"""The inbox without scripts: what is in its lists, and marking, saving and undoing by links and forms alone."""

import re
from html import unescape
from urllib.parse import unquote

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.api.people import a_running_app
from tests.web.guests import Guest, a_guest, value_of
from tests.web.reader_setup import entries, follow_to, unread
from tests.web.sample_shelf import a_feed, an_item, release_items
from tsuzuki.model.ids import ItemId
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.web.renderer import Pages

SNIPPET = "<p>The ink was still wet"
IN_2019 = Millis(1_550_000_000_000)


async def test_the_inbox_has_all_kinds_newest_first_by_day(reader):
    page = await reader.guest.see("/")
    assert page.status == 200
    assert len(entries(page)) == 29
    assert page.text.index(">Today<") < page.text.index(">Yesterday<")
    assert "Chapter 41: The letter that was not sent" in page.text
    assert "The ink was still wet" in page.text
    times = re.findall(r'<time datetime="([^"]+)"', page.text)
    assert times == sorted(times, reverse=True)


async def test_r92_what_arrives_now_is_on_top_whatever_its_date(reader):
    await release_items(
        reader.app, reader.sample_shelf.feeds[0], [an_item("late", at=IN_2019, title="Found in an attic")]
    )
    by_arrival = await reader.guest.see("/")
    first = by_arrival.text[by_arrival.text.index('class="entry') :]
    assert first.index("Found in an attic") < first.index("</h3>")
    assert by_arrival.text.index(">Today<") < by_arrival.text.index("Found in an attic")
    assert 'datetime="2019-02-12T' in first[: first.index("</article>")], "the publisher's date is shown"
    [path] = re.findall(r'<a href="([^"]+)">By date<', by_arrival.text)
    by_date = await reader.guest.see(unescape(path))
    assert re.findall(r'aria-current="true">([^<]+)<', by_date.text) == ["All", "By date", "Unread"]
    times = re.findall(r'<time datetime="([^"]+)"', by_date.text)
    assert times == sorted(times, reverse=True)
    assert times[-1].startswith("2019-")


async def test_r92_an_article_has_the_neighbours_of_its_list(reader):
    await release_items(
        reader.app, reader.sample_shelf.feeds[0], [an_item("late", at=IN_2019, title="Found in an attic")]
    )
    for list_path, newer in (("/", False), ("/?sort=published", True)):
        listed = await reader.guest.see(list_path)
        [path] = re.findall(r'<a href="([^"]+)">Found in an attic<', listed.text)
        article = await reader.guest.see(unescape(path))
        assert ('class="step newer"' in article.text, 'class="step older"' in article.text) == (newer, not newer)


@pytest.mark.parametrize(("query", "count"), [("?kind=item", 20), ("?kind=chapter", 9), ("?show=saved", 0)])
async def test_filters_show_what_they_say(reader, query, count):
    assert len(entries(await reader.guest.see(f"/{query}"))) == count


async def test_a_group_and_a_feed_are_lists_of_their_own(reader):
    group = await reader.guest.see(f"/?group={await reader.group_id('Webcomics')}")
    assert (len(entries(group)), "<h1>Webcomics</h1>" in group.text) == (9, True)
    feed = await reader.guest.see(f"/?feed={await reader.feed_id()}")
    assert (len(entries(feed)), "<h1>The Paper Lantern</h1>" in feed.text) == (4, True)


async def test_a_feeds_list_shows_read_entries_unless_asked_otherwise(reader):
    path = f"/?feed={await reader.feed_id()}"
    first = entries(await reader.guest.see(path))[0]
    await reader.guest.send("/inbox/mark", {"read": first})
    page, less = await reader.guest.see(path), await reader.guest.see(f"{path}&show=unread")
    assert (len(entries(page)), len(entries(less))) == (4, 3)
    shows = re.findall(r'<a href="([^"]+)"( aria-current="true")?>(?:Unread|All entries)<', page.text)
    assert [(unescape(address), bool(here)) for address, here in shows] == [
        (f"{path}&show=unread", False),
        (path, True),
    ]


@pytest.mark.parametrize("query", ["group=x", "feed=x", "series=019c8538-8600-76e5-b589-16aa85e76f08"])
async def test_a_missing_list_is_reported(reader, query):
    assert (await reader.guest.see(f"/?{query}")).status == 404


async def test_i8_nobody_sees_another_tenants_lists_or_articles(reader):
    stranger = await a_guest(reader.app, await reader.app.add(tenant_id=reader.app.other_tenant))
    assert entries(await stranger.see("/?show=all")) == []
    for path in (
        f"/?feed={await reader.feed_id()}",
        f"/items/{reader.sample_shelf.items[0]}",
        f"/feeds/{await reader.feed_id()}",
    ):
        assert (await reader.guest.see(path)).status == 200
        assert (await stranger.see(path)).status == 404


async def test_the_next_page_is_linked_as_older(reader):
    feed = await a_feed(reader.app, "Many")
    from tests.delivery.builders import subscribe

    await subscribe(reader.app.db, reader.sample_shelf.shelf, feed)
    now = reader.app.time()
    many = [an_item(f"m{n}", at=Millis(now - n * MINUTE), title=f"Number {n}") for n in range(120)]
    await release_items(reader.app, feed, many)
    seen: list[str] = []
    path: str | None = "/"
    pages = 0
    while path is not None:
        page = await reader.guest.see(path)
        seen += entries(page)
        pages += 1
        found = re.search(r'<a class="older button quiet" href="([^"]+)"', page.text)
        path = unescape(found[1]) if found else None
    assert (pages, len(seen), len(set(seen))) == (3, 149, 149)


async def test_part_of_the_list_comes_without_the_frame(reader):
    part = await reader.guest.see("/?part=rows")
    assert len(entries(part)) == 29
    assert "<html" not in part.text
    assert (await Guest(reader.app.client).see("/?part=rows")).status == 401  # no page is put into anyone's list


async def test_each_control_of_a_row_says_what_it_does(reader):
    """Also without scripts, and what is unread says so without its colour."""
    page = LexborHTMLParser((await reader.guest.see("/?kind=item")).text)
    tools = page.css(".entry")[0].css(".entry > p > *")
    assert [(tool.tag, tool.text()) for tool in tools] == [
        ("button", "Mark read"),
        ("button", "Save"),
        ("a", "Open original"),
    ]
    assert all(heading.text().startswith("Unread") for heading in page.css(".entry h3"))
    assert len(page.css('form[method="post"][action="/inbox/mark"] .entry button[name][value]')) == 40


def test_the_icons_of_a_row_are_those_of_the_sprite():
    assets = Pages("0").assets
    drawn = dict(re.findall(r'<symbol id="([\w-]+)"[^>]*>(.*)</symbol>', assets.get("icons.svg").content.decode()))
    sheet = unquote(assets.get("inbox.css").content.decode()).replace("'", '"')
    masks = re.findall(r'svg\+xml,<svg [^>]*>(.+?)</svg>"\); } /\* ([\w-]+) \*/', sheet)
    assert len(masks) == 5
    assert {name: drawn[name] for _, name in masks} == {name: mask for mask, name in masks}


async def test_a_compact_list_is_sent_without_hidden_parts(reader):
    assert SNIPPET in (await reader.guest.see("/")).text
    await reader.guest.send("/settings", {"density": "compact"})
    assert SNIPPET not in (await reader.guest.see("/")).text


async def test_an_entry_is_marked_and_unmarked_by_its_buttons(reader):
    first = entries(await reader.guest.see("/"))[0]
    after = await follow_to(reader.guest, await reader.guest.send("/inbox/mark", {"read": first, "back": "/?show=all"}))
    assert first in entries(after)
    assert first not in unread(after)
    again = await follow_to(reader.guest, await reader.guest.send("/inbox/mark", {"unread": first, "back": "/"}))
    assert first in unread(again)


async def test_a_mass_mark_is_told_and_taken_back(reader):
    page = await reader.guest.see("/?kind=item")
    newest = value_of(page, "newest")
    sent = await reader.guest.send("/inbox/mark-all", {"kind": "item", "newest": newest, "back": "/?kind=item"})
    after = await follow_to(reader.guest, sent)
    assert "20 entries marked read." in after.text
    assert unread(after) == []
    assert len(unread(await reader.guest.see("/"))) == 9
    undo = {"undo": value_of(after, "undo"), "back": "/?kind=item"}
    back = await follow_to(reader.guest, await reader.guest.send("/inbox/undo", undo))
    assert "20 entries marked unread again." in back.text
    assert len(unread(back)) == 20


async def test_mark_all_is_offered_only_where_something_is_unread(reader):
    """Also further down a list whose first page is read; a list without anything unread has nothing to mark."""
    feed = f"/?feed={await reader.feed_id()}"
    lists = ("/", "/?show=all", "/?kind=item", feed)
    assert all([await offers_to_mark(reader.guest, path) for path in lists])
    await reader.guest.send("/inbox/mark-all", {"newest": value_of(await reader.guest.see("/"), "newest"), "back": "/"})
    assert not any([await offers_to_mark(reader.guest, path) for path in lists])
    many = [an_item(f"m{n}", at=Millis(reader.app.time() - n * MINUTE), title=f"Number {n}") for n in range(60)]
    await release_items(reader.app, reader.sample_shelf.feeds[0], many)
    await reader.guest.send("/inbox/mark", [("read", each) for each in entries(await reader.guest.see("/"))])
    assert unread(await reader.guest.see("/?show=all")) == []
    assert await offers_to_mark(reader.guest, "/?show=all")


async def offers_to_mark(guest: Guest, path: str) -> bool:
    form = re.search(r"<form [^>]*data-mark-all[^>]*>", (await guest.see(path)).text)
    assert form is not None
    return "hidden" not in form[0]


async def test_entries_newer_than_the_page_are_not_marked(reader):
    page = await reader.guest.see("/")
    late = an_item("late", at=Millis(reader.app.time() - 60 * MINUTE), title="Late")
    await release_items(reader.app, reader.sample_shelf.feeds[0], [late])
    await reader.guest.send("/inbox/mark-all", {"newest": value_of(page, "newest"), "back": "/"})
    assert len(unread(await reader.guest.see("/"))) == 1


async def test_saving_makes_a_bookmark_and_letting_go_forgets_it(reader):
    item = reader.sample_shelf.items[0]
    for _ in range(2):  # saving what is saved is no error
        await reader.guest.send("/inbox/mark", {"save": f"i{item}", "back": "/"})
    assert len(entries(await reader.guest.see("/?show=saved"))) == 1
    page = await reader.app.reading.bookmarks.list(
        reader.sample_shelf.shelf, feed=None, group=None, after=FROM_THE_TOP, most=9
    )
    assert page.total == 1
    await reader.guest.send("/inbox/mark", {"unsave": f"i{item}", "back": "/"})
    assert entries(await reader.guest.see("/?show=saved")) == []


async def test_a_note_comes_back_with_what_is_saved_again(reader):
    item, json = reader.sample_shelf.items[0], {"accept": "application/json"}
    await reader.app.reading.bookmarks.add_item(reader.sample_shelf.shelf, ItemId(item), "Read again.")
    gone = (await reader.guest.send("/inbox/mark", {"unsave": f"i{item}"}, **json)).json()["data"]
    assert gone["note"] == "Read again."
    await reader.guest.send("/inbox/mark", {"save": f"i{item}", "note": gone["note"]}, **json)
    page = await reader.app.reading.bookmarks.list(
        reader.sample_shelf.shelf, feed=None, group=None, after=FROM_THE_TOP, most=9
    )
    assert [one.note for one in page.rows] == ["Read again."]


async def test_a_chapter_is_saved_too(reader):
    chapter = entries(await reader.guest.see("/?kind=chapter"))[0]
    await reader.guest.send("/inbox/mark", {"save": f"c{chapter}", "back": "/"})
    assert entries(await reader.guest.see("/?show=saved")) == [chapter]


@pytest.mark.parametrize("fields", [{}, {"newest": "x"}, {"newest": "-1"}, {"newest": "9" * 30}])
async def test_a_mass_mark_without_its_end_is_refused(reader, fields):
    assert (await reader.guest.send("/inbox/mark-all", fields)).status == 400
    assert len(unread(await reader.guest.see("/"))) == 29


async def test_sec_41_a_mark_leads_back_to_a_place_of_ours_only(reader):
    for back in ("//evil.example/", "https://evil.example/", "/\\evil.example"):
        answer = await reader.guest.send("/inbox/mark", {"read": "1", "back": back})
        assert answer.headers["location"].startswith("/")
        assert not answer.headers["location"].startswith(("//", "/\\"))


async def test_scripts_get_the_same_as_json(reader):
    first = entries(await reader.guest.see("/"))[0]
    json = {"accept": "application/json"}
    marked = (await reader.guest.send("/inbox/mark", {"read": first}, **json)).json()["data"]
    assert marked["changed"] == 1
    states = (await reader.guest.see(f"/inbox/states?ids={first},nonsense,999999", **json)).json()["data"]
    assert states == [{"id": int(first), "unread": False, "saved": False}]
    assert (await reader.guest.send("/inbox/undo", {"undo": marked["undo"]}, **json)).json()["data"]["changed"] == 1


async def test_an_empty_shelf_says_what_to_do(tmp_path):
    async with a_running_app(tmp_path) as app:
        page = await (await a_guest(app, await app.add())).see("/")
        assert "Nothing here yet." in page.text
        assert 'href="/feeds/add"' in page.text

"""Feeds, groups and lists of them without scripts: how they are, and changing them by links and forms alone."""

import re

from tests.web.guests import error_of, value_of
from tests.web.reader_setup import follow_to, unread
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import HOUR
from tsuzuki.polling.policy import why_failed

q = parse_queries(
    "tests",
    """
-- name: hold
update watch set retry_after_until = :until, last_checked_at = :now, refresh_at = null;
-- name: fail
update watch set next_check_why = :why where feed_id = (select id from feed where link = :link);
-- name: gone
update watch set suspended_at = 1, suspended_reason = 'the source says that it is gone for good (410)'
where feed_id = (select id from feed where link = :link);
""",
)


async def test_the_feeds_say_how_they_are(reader):
    page = await reader.guest.see("/feeds")
    assert "The server answered 503 (Service Unavailable)." in page.text
    assert "failed 3 times in a row" in page.text
    assert "1 feed is failing." in page.text
    assert "No feeds in this group." in page.text


async def test_a_failing_feed_says_its_error_once(reader):
    [failing] = await reader.app.reading.subscriptions.list(reader.sample_shelf.shelf, status="error")
    await reader.app.db.with_tx(lambda tx: tx.run(q.fail, link=failing.link, why=why_failed(3)))
    for path in (f"/feeds/{show_id(failing.public_id)}", "/feeds"):
        page = (await reader.guest.see(path)).text
        assert page.count("in a row") == 1
        assert page.count("answered 503") == 1
    await reader.app.db.with_tx(lambda tx: tx.run(q.gone, link=failing.link))
    page = (await reader.guest.see(f"/feeds/{show_id(failing.public_id)}")).text
    assert (page.count("gone for good"), page.count("answered 503")) == (1, 0)


async def test_changing_a_feed_shows_problems_beside_fields(reader):
    feed = await reader.feed_id()
    page = await reader.guest.see(f"/feeds/{feed}")
    link = value_of(page, "link") or ""
    fields = {"name": "Lantern", "link": link, "interval": "86400", "retention": "30", "notify": "on"}
    assert (await follow_to(reader.guest, await reader.guest.send(f"/feeds/{feed}", fields))).status == 200
    [changed] = [
        one for one in await reader.app.reading.subscriptions.list(reader.sample_shelf.shelf) if one.name == "Lantern"
    ]
    assert (changed.poll_interval, changed.retention, changed.notify) == (86_400_000, 30 * 86_400_000, True)
    wrong = await reader.guest.send(f"/feeds/{feed}", fields | {"link": "ftp://example.org/"})
    assert wrong.status == 400
    assert error_of(wrong, "link") is not None
    assert value_of(wrong, "name") == "Lantern"
    socks = await reader.guest.send(f"/feeds/{feed}", fields | {"proxy": "socks5://proxy.example:1080"})
    assert (socks.status, error_of(socks, "link")) == (400, None)
    assert "SOCKS is not supported" in (error_of(socks, "proxy") or "")
    assert (await reader.guest.send(f"/feeds/{feed}", fields | {"interval": "1"})).status == 400


async def test_a_feed_is_suspended_resumed_and_asked_for(reader):
    feed = await reader.feed_id()
    assert (
        "Feed suspended."
        in (await follow_to(reader.guest, await reader.guest.send(f"/feeds/{feed}/suspend", {"suspended": "on"}))).text
    )
    assert "suspended by you" in (await reader.guest.see("/feeds")).text
    await reader.guest.send(f"/feeds/{feed}/suspend")
    assert "suspended by you" not in (await reader.guest.see("/feeds")).text
    await reader.guest.send(f"/feeds/{feed}/refresh")
    assert "being checked" in (await reader.guest.see("/feeds")).text


async def test_r96_a_refused_refresh_says_why_and_until_when(reader):
    """On the page and to a script; and what an address makes up is not shown."""
    feed, json = await reader.feed_id(), {"accept": "application/json"}
    now = reader.app.time()
    await reader.app.db.with_tx(lambda tx: tx.run(q.hold, until=now + HOUR, now=now - HOUR))
    page = await follow_to(reader.guest, await reader.guest.send(f"/feeds/{feed}/refresh"))
    assert "The publisher asks not to be checked before " in page.text
    for path in (f"/feeds/{feed}/refresh", "/feeds/refresh"):
        told = (await reader.guest.send(path, **json)).json()["data"]
        assert told["queued"] == 0
        assert told["text"].startswith("The publisher asks not to be checked before ")
    await reader.app.db.with_tx(lambda tx: tx.run(q.hold, until=None, now=now))
    assert (
        "It was checked a moment ago."
        in (await follow_to(reader.guest, await reader.guest.send(f"/feeds/{feed}/refresh"))).text
    )
    assert "\u00b2999" not in (await reader.guest.see("/feeds?done=held&until=%C2%B2999")).text
    assert (await reader.guest.see("/feeds?done=held&until=99999999999999")).status == 200
    await reader.app.db.with_tx(lambda tx: tx.run(q.hold, until=None, now=now - HOUR))
    assert (await reader.guest.send(f"/feeds/{feed}/refresh", **json)).json()["data"] == {"queued": 1}


async def test_leaving_a_feed_lists_losses_and_is_reversible(reader):
    feed = await reader.feed_id()
    assert "4 entries leave your inbox, 4 of them unread." in (await reader.guest.see(f"/feeds/{feed}/delete")).text
    after = await follow_to(reader.guest, await reader.guest.send(f"/feeds/{feed}/delete"))
    assert "Unfollowed." in after.text
    assert len(unread(await reader.guest.see("/"))) == 25
    undo = re.search(r'action="(/feeds/[\w-]+/restore)"', after.text)
    assert undo is not None
    back = await follow_to(reader.guest, await reader.guest.send(undo[1]))
    assert "Followed again, as it was." in back.text
    assert len(unread(await reader.guest.see("/"))) == 29
    assert await reader.feed_id() == feed
    assert (await reader.guest.send(undo[1])).status == 404  # it is done
    assert undo[1] not in (await reader.guest.see(f"/feeds?left={feed}")).text


async def test_groups_are_added_renamed_moved_and_deleted(reader):
    assert (
        "Group added."
        in (await follow_to(reader.guest, await reader.guest.send("/groups/new", {"name": " Night   shift "}))).text
    )
    group = await reader.group_id("Night shift")
    taken = await reader.guest.send("/groups/new", {"name": "Night shift"})
    assert (taken.status, value_of(taken, "name")) == (409, "Night shift")
    assert (await reader.guest.send("/groups/new", {"name": "  "})).status == 400
    await reader.guest.send(f"/groups/{group}", {"name": "Nights"})
    await reader.guest.send(f"/groups/{group}/move", {"to": "up"})
    names = [one.name for one in await reader.app.reading.groups.list(reader.sample_shelf.shelf)]
    assert names == ["Default", "Webcomics", "Craft", "Nights", "News of the world"]
    craft = await reader.group_id("Craft")
    assert "Its 2 feeds move to the default group." in (await reader.guest.see(f"/groups/{craft}")).text
    await reader.guest.send(f"/groups/{craft}/delete")
    assert ">Craft<" not in (await reader.guest.see("/feeds")).text


async def test_a_list_is_imported_with_what_became_of_each(reader):
    opml = (
        '<opml version="2.0"><body><outline text="G"><outline type="rss" xmlUrl="https://example.net/f"/></outline>'
        '<outline type="rss" xmlUrl="ftp://example.net/g"/></body></opml>'
    )
    body = f'--x\r\ncontent-disposition: form-data; name="file"; filename="a.opml"\r\n\r\n{opml}\r\n--x--\r\n'
    headers = {
        "content-type": "multipart/form-data; boundary=x",
        "cookie": f"tsuzuki={reader.guest.cookies['tsuzuki']}",
    }
    sent = await reader.app.client.ask("POST", "/feeds/import", headers=headers, data=body.encode())
    assert "1 could not be added:" in sent.text
    wrong = await reader.app.client.ask("POST", "/feeds/import", headers=headers, data=body.replace("<", "(").encode())
    assert (wrong.status, error_of(wrong, "file") is not None) == (400, True)

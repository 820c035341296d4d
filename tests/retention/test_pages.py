"""The settings of retention on pages, in the API, on the command line and in the environment."""

import os
import time

import pytest
from click.testing import CliRunner

from tests.api.people import a_running_app
from tests.app import settings_for
from tests.builders import stored_feed
from tests.delivery.builders import a_reader, entries_of, publish
from tests.polling.builders import Clock
from tests.web.guests import a_guest
from tests.web.reader_setup import follow_to
from tests.web.sample_shelf import fill_shelf
from tsuzuki.app.bootstrap import _extra_work, open_tsuzuki
from tsuzuki.cli import main
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import DAY, HOUR
from tsuzuki.settings import BadSetting, read_settings

q = parse_queries(
    "tests",
    """
-- name: read_all
update entry set unread = false, read_at = :at where feed_id is not null and not saved;
""",
)


@pytest.fixture
async def app(tmp_path):
    async with a_running_app(tmp_path) as app:
        yield app


async def a_reading_guest(app):
    """Who has read twenty articles forty days ago, and the shelf's page."""
    user = await app.add()
    sample_shelf = await fill_shelf(app, user, articles=20)
    await app.db.with_tx(lambda tx: tx.run(q.read_all, at=app.time() - 40 * DAY))
    shelf = await app.accounts.current_user.shelf_of(user)
    return await a_guest(app, user), user, sample_shelf, f"/account/shelves/{show_id(shelf.public_id)}"


async def test_a_feeds_form_says_what_each_choice_removes(app):
    guest, _, sample_shelf, _ = await a_reading_guest(app)
    feeds = await app.reading.subscriptions.list(sample_shelf.shelf)
    counts = {feed.public_id: feed.item_count for feed in feeds}
    feed = max(feeds, key=lambda one: one.item_count)
    path = f"/feeds/{show_id(feed.public_id)}"
    page = (await guest.see(path)).text
    assert "as on this shelf: 1 year</option>" in page
    assert f"30 days (deletes {counts[feed.public_id]} now)" in page
    assert "90 days</option>" in page
    fields = {"name": feed.name, "link": feed.link, "retention": "0"}
    saved = await follow_to(guest, await guest.send(path, fields))
    assert '<option value="0" selected>forever</option>' in saved.text
    assert (await guest.send(path, fields | {"retention": "12"})).status == 400


async def test_a_shelfs_page_sets_how_long_it_keeps(app):
    guest, user, _, path = await a_reading_guest(app)
    page = (await guest.see(path)).text
    assert "as on this server: 1 year" in page
    assert "30 days (deletes" in page
    saved = await follow_to(guest, await guest.send(f"{path}/retention", {"retention": "30"}))
    assert '<option value="30" selected>' in saved.text
    assert "Saved. Older articles are deleted at night." in saved.text
    assert (await app.accounts.current_user.shelf_of(user)).own_retention == 30 * DAY
    assert (await guest.send(f"{path}/retention", {"retention": "31"})).status == 400
    pruned = await app.pruner.prune()
    assert pruned["entries"] > 0


async def test_only_owners_say_how_long_a_shelf_keeps(app):
    guest, _, _, path = await a_reading_guest(app)
    other = await app.add(username="other")
    await guest.send(f"{path}/people", {"person": "other", "role": "editor"})
    theirs = await a_guest(app, other)
    assert "Read articles" not in (await theirs.see(path)).text
    assert (await theirs.send(f"{path}/retention", {"retention": "30"})).status == 403


async def test_only_owners_say_how_long_a_feed_is_kept(app):
    guest, user, sample_shelf, shelf_path = await a_reading_guest(app)
    feed = (await app.reading.subscriptions.list(sample_shelf.shelf))[0]
    path, fields = f"/feeds/{show_id(feed.public_id)}", {"name": "Renamed", "link": feed.link}
    await guest.send(path, fields | {"retention": "90"})
    other = await app.add(username="other")
    await guest.send(f"{shelf_path}/people", {"person": "other", "role": "editor"})
    shelf = await app.accounts.current_user.shelf_of(user)
    theirs, token = await a_guest(app, other), await app.with_token(other, "read", "write")
    query = f"?shelf={show_id(shelf.public_id)}"
    await theirs.send("/account/open-shelf", {"shelf": show_id(shelf.public_id)})
    assert 'name="retention"' in (await guest.see(path)).text
    assert 'name="retention"' not in (await theirs.see(path)).text
    assert (await theirs.send(path, fields | {"retention": "30"})).status == 403
    assert (await token.ask("PATCH", f"{path}{query}", {"retention": 1})).status == 403
    assert (await token.ask("PATCH", f"{path}{query}", {"retention": 90, "name": "By them"})).status == 200
    assert (await theirs.send(path, fields)).status == 303
    kept = await app.reading.subscriptions.get(sample_shelf.shelf, feed.public_id)
    assert (kept.name, kept.retention) == ("Renamed", 90 * DAY)


async def test_the_api_takes_days_0_and_null(app):
    user = await app.add()
    reader = await app.with_token(user, "read", "write")
    assert (await reader.get("/shelf")).json()["data"]["retention"] is None
    for days in (90, 0, None):
        changed = await reader.ask("PATCH", "/shelf", {"retention": days})
        assert (changed.status, changed.json()["data"]["retention"]) == (200, days)
    for wrong in (-1, 36_501, "a year", 1.5):
        refused = await reader.ask("PATCH", "/shelf", {"retention": wrong})
        assert refused.status == 400
        assert "retention" in refused.text
    admin = await app.with_token(await app.admin(), "admin")
    log = (await admin.get("/admin/auditlog?action=shelf.retention")).json()["data"]
    assert [row["after"]["retention"] for row in log] == [None, 0, 90 * DAY]


async def test_operators_see_what_would_go(app):
    await a_reading_guest(app)
    admin = await app.admin()
    app.time.pass_(400 * DAY)
    token = await app.with_token(admin, "admin")
    shown = (await token.get("/admin/retention")).json()["data"]
    assert shown["hours"] == [2, 6]
    by_kind = {each["what"]: each for each in shown["removable"]}
    assert by_kind["entries"]["rows"] > 0
    assert by_kind["entries"]["bytes"] > 0
    assert (by_kind["entries"]["keep_days"], by_kind["audit"]["keep_days"]) == (365, 730)
    guest = await a_guest(app, admin)
    page = (await guest.see("/admin/retention")).text
    assert "Read articles on shelves" in page
    assert "between 2:00 and 6:00" in page
    assert 'href="/admin/retention"' in (await guest.see("/admin")).text
    assert page.count("<td>never</td>") == 4
    await app.pruner.prune()
    again = (await token.get("/admin/retention")).json()["data"]["removable"]
    assert "<td>never</td>" not in (await guest.see("/admin/retention")).text
    assert (again[0]["rows"], again[0]["removed"]) == (0, by_kind["entries"]["rows"])


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr("tsuzuki.log.set_up_logging", lambda **_: None)
    for name in [name for name in os.environ if name.startswith("TSUZUKI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TSUZUKI_DATA_DIR", str(tmp_path / "data"))
    return lambda *arguments: CliRunner().invoke(main, arguments)


def test_prune_shows_first_and_then_removes(run):
    shown = run("prune", "--dry-run")
    assert shown.exit_code == 0
    assert "0  read articles on shelves, about 0.0 MiB" in shown.stdout
    assert shown.stdout.endswith("Nothing was deleted.\n")
    assert run("prune").stdout.endswith("There was nothing to delete.\n")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("KEEP_READ", "12h"),
        ("KEEP_READ", "a year"),
        ("KEEP_JOBS", "7d"),
        ("KEEP_AUDIT", "29d"),
        ("PRUNE_HOURS", "2-2"),
        ("PRUNE_HOURS", "24-3"),
        ("PRUNE_HOURS", "night"),
    ],
)
def test_wrong_settings_are_refused_in_one_line(tmp_path, name, value):
    environ = {"TSUZUKI_DATA_DIR": str(tmp_path), f"TSUZUKI_{name}": value}
    with pytest.raises(BadSetting, match=f"^TSUZUKI_{name} is '{value}', but must be [^\n]*$"):
        read_settings(environ)


def test_settings_take_days_and_0_for_ever(tmp_path):
    environ = {"TSUZUKI_DATA_DIR": str(tmp_path), "TSUZUKI_KEEP_READ": "0", "TSUZUKI_KEEP_JOBS": "90d"}
    settings = read_settings(environ | {"TSUZUKI_PRUNE_HOURS": "22-4"})
    assert (settings.keep_read, settings.keep_jobs, settings.keep_audit) == (0, 90 * DAY, 730 * DAY)
    assert settings.prune_hours == (22, 4)


async def test_the_servers_chore_prunes_by_its_settings_and_counts(tmp_path, monkeypatch):
    """By the hours of the machine's own clock."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        clock = Clock()  # noon in Greenwich is nine in the evening in Tokyo
        settings = settings_for(tmp_path, keep_read="2d", prune_hours="3-5")
        async with open_tsuzuki(settings, clock=clock) as opened:
            feed = await stored_feed(opened.db, "https://example.org/feed")
            shelf = await a_reader(opened.db, feeds=[feed])
            await publish(opened.db, feed, ["1", "2", "3"])
            await opened.db.with_tx(lambda tx: tx.run(q.read_all, at=clock.now - 3 * DAY))
            [chore] = [chore for chore in _extra_work(opened).chores if chore.name == "retention"]
            await chore.work()
            assert len(await entries_of(opened.db, shelf)) == 3
            clock.turn(7 * HOUR)
            await chore.work()
            assert len(await entries_of(opened.db, shelf)) == 1
            assert b'tsuzuki_pruned_rows_total{what="entries"} 2.0' in opened.metrics.render()
    finally:
        monkeypatch.undo()
        time.tzset()

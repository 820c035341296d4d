"""The pages about shelves: a household shares one, leaves it, and each has their own (R91)."""

import re
from collections.abc import AsyncIterator

import pytest

from tests.api.people import RunningApp, a_running_app
from tests.web.guests import a_guest, error_of
from tests.web.sample_shelf import fill_shelf
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import show_id

SHELVES = "/account/shelves"

q = parse_queries("test", "-- name: offer\nupdate user_account set is_offered_shelf = true where id = :id;")


@pytest.fixture
async def app(tmp_path) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path) as app:
        yield app


async def path_of(app: RunningApp, user) -> str:
    return f"{SHELVES}/{show_id((await app.accounts.current_user.shelf_of(user)).public_id)}"


async def test_a_shelf_is_shared_changed_and_left_on_the_page(app):
    owner, other = await app.add(username="owner"), await app.add(username="other")
    mine, theirs, path = await a_guest(app, owner), await a_guest(app, other), await path_of(app, owner)
    assert 'href="/account/shelves"' in (await mine.see("/account")).text
    shared = await mine.send(f"{path}/people", {"person": "other", "role": "reader"})
    assert shared.headers["location"] == f"{path}?done=shelf_shared"
    changed = await mine.send(f"{path}/people", {"person": "other", "role": "editor", "is_known": "1"})
    assert changed.headers["location"] == f"{path}?done=shelf_role"
    assert "Role changed." in (await mine.see(changed.headers["location"])).text
    seen = (await theirs.see(path)).text
    assert "Leave shelf" in seen
    assert "Leave shelf" not in (await mine.see(path)).text  # a shelf needs an owner
    assert "Delete shelf" not in seen
    assert (await theirs.see(f"{path}/delete")).status == 403
    asked = (await theirs.see(f"{path}/people/other/remove")).text
    assert "Only an owner can add you again." in asked
    left = await theirs.send(f"{path}/people/other/remove")
    assert left.headers["location"] == f"{SHELVES}?done=shelf_left"
    assert (await theirs.see(path)).status == 404


async def test_the_choice_of_shelves_says_whose_they_are(app):
    owner, other = await app.add(username="owner"), await app.add(username="other")
    mine, theirs, path = await a_guest(app, owner), await a_guest(app, other), await path_of(app, owner)
    await mine.send(f"{path}/people", {"person": "other", "role": "editor"})
    name = (await app.accounts.current_user.shelf_of(owner)).name
    for seen in ((await theirs.see("/")).text, (await theirs.see(SHELVES)).text):
        assert f">{name} (owner)</option>" in seen
    assert "<span>owned by owner</span>" in (await theirs.see(SHELVES)).text
    assert "owned by owner" not in (await mine.see(SHELVES)).text


async def test_somebody_is_removed_only_after_a_question(app):
    owner, other = await app.add(username="owner"), await app.add(username="other")
    mine, path = await a_guest(app, owner), await path_of(app, owner)
    await mine.send(f"{path}/people", {"person": "other", "role": "editor"})
    asked = await mine.see(f"{path}/people/other/remove")
    assert "other loses access to this shelf" in asked.text
    assert (await mine.see(f"{path}/people/nobody/remove")).status == 404
    assert (await mine.send(f"{path}/people/other/remove")).headers["location"] == f"{path}?done=shelf_unshared"
    people = await app.accounts.sharing.people(shelf_user(owner), await id_of(app, owner))
    assert [one.username for one in people] == ["owner"]
    assert other.username in (await mine.see(path)).text  # to be shared with again


async def id_of(app: RunningApp, user):
    return (await app.accounts.current_user.shelf_of(user)).public_id


async def test_who_has_several_shelves_switches_at_the_side(app):
    user = await app.add(username="reader")
    guest = await a_guest(app, user)
    await fill_shelf(app, user, articles=3)
    assert 'action="/account/open-shelf"' not in (await guest.see("/")).text
    made = await guest.send(SHELVES, {"name": "Attic"})
    attic = made.headers["location"].split("?")[0].rsplit("/", 1)[1]
    assert 'action="/account/open-shelf"' in (await guest.see("/")).text
    assert (await guest.send("/account/open-shelf", {"shelf": attic})).headers["location"] == "/"
    assert '<option value="' + attic + '" selected>Attic' in (await guest.see("/")).text
    assert (await guest.send("/account/open-shelf", {"shelf": "nonsense"})).status == 404
    assert (await guest.send(f"{SHELVES}/{attic}/delete")).headers["location"] == f"{SHELVES}?done=shelf_deleted"
    assert 'action="/account/open-shelf"' not in (await guest.see("/")).text


async def test_an_old_tab_marks_its_own_shelf(app):
    user = await app.add(username="reader")
    guest = await a_guest(app, user)
    await fill_shelf(app, user, articles=3)
    reader = show_id(await id_of(app, user))
    page = (await guest.see("/")).text
    form = page.split("data-mark-all")[1].split("</form>")[0]
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
    made = await app.accounts.sharing.make(shelf_user(user), "Attic")
    await guest.send("/account/open-shelf", {"shelf": show_id(made.public_id)})
    await guest.send("/inbox/mark-all", fields)
    counts = await (await app.signed_in(user)).get(f"/counts?shelf={reader}")
    assert counts.json()["data"]["unread"] == 0


async def test_a_reader_is_shown_no_button_that_writes(app):
    owner, other = await app.add(username="owner"), await app.add(username="other")
    await fill_shelf(app, owner, articles=3)
    shelf = await app.accounts.current_user.shelf_of(owner)
    await app.accounts.sharing.share(shelf_user(owner), shelf.public_id, "other", "reader")
    guest = await a_guest(app, other)
    await guest.send("/account/open-shelf", {"shelf": show_id(shelf.public_id)})
    inbox = (await guest.see("/")).text
    assert "data-reads-only" in inbox
    assert "but not change it." in inbox
    assert (await guest.send("/inbox/mark-all", {"newest": "9999", "kind": "all"})).status == 403
    for path in ("/account", "/settings", SHELVES):
        assert "data-reads-only" not in (await guest.see(path)).text, path
    assert (await guest.send("/settings", {"theme": "dark"})).status == 303  # what is their own they change


async def test_what_is_wrong_with_a_name_stands_beside_it(app):
    user = await app.add(username="reader")
    guest, path = await a_guest(app, user), await path_of(app, user)
    assert error_of(await guest.send(SHELVES, {"name": " "}), "name")
    await guest.send(SHELVES, {"name": "Attic"})
    assert "already" in (error_of(await guest.send(path, {"name": "Attic"}), "name") or "")
    assert (await guest.send(path, {"name": "Mine"})).headers["location"] == f"{path}?done=shelf_named"
    assert (await guest.send(f"{path}/people", {"person": "reader", "role": "king"})).status == 400


async def test_the_offer_is_on_every_page_until_it_is_answered(app):
    taker, keeper = await app.add(username="taker"), await app.add(username="keeper")
    for user in (taker, keeper):
        await app.db.with_tx(lambda tx, user=user: tx.run(q.offer, id=user.id))
    one, other = await a_guest(app, taker), await a_guest(app, keeper)
    for guest in (one, other):
        assert "Create my own shelf" in (await guest.see("/")).text
    taken = await one.send("/account/own-shelf")
    assert taken.headers["location"] == f"{SHELVES}?done=shelf_own"
    assert (await one.send("/account/own-shelf")).headers["location"] == SHELVES  # pressed twice
    assert len(await app.accounts.current_user.shelves_of(taker)) == 2
    await other.send("/account/own-shelf/decline")
    for guest in (one, other):
        assert "Create my own shelf" not in (await guest.see("/")).text


async def test_the_admin_page_says_what_goes_with_somebody(app):
    operator = await a_guest(app, await app.admin())
    user = await app.add(username="reader")
    await fill_shelf(app, user, articles=3)
    path = f"/admin/users/{show_id(user.public_id)}/delete"
    asked = (await operator.see(path)).text
    assert "It also deletes the shelves that only they own (1) with all feeds (5)" in asked
    shelf = await app.accounts.current_user.shelf_of(user)
    await operator.send(path)
    assert (await operator.see(f"{SHELVES}/{show_id(shelf.public_id)}")).status == 404

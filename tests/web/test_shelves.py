"""The pages about shelves: a household shares one, leaves it, and each has their own (R91)."""

import re
from collections.abc import AsyncIterator

import pytest

from tests.api.people import Town, a_town
from tests.web.guests import a_guest, error_of
from tests.web.sample_shelf import furnish
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.ids import show_id

SHELVES = "/account/shelves"

q = parse_queries("test", "-- name: offer\nupdate user_account set is_offered_shelf = true where id = :id;")


@pytest.fixture
async def town(tmp_path) -> AsyncIterator[Town]:
    async with a_town(tmp_path) as town:
        yield town


async def path_of(town: Town, user) -> str:
    return f"{SHELVES}/{show_id((await town.accounts.current_user.shelf_of(user)).public_id)}"


async def test_a_shelf_is_shared_changed_and_left_on_the_page(town):
    owner, other = await town.add(username="owner"), await town.add(username="other")
    mine, theirs, path = await a_guest(town, owner), await a_guest(town, other), await path_of(town, owner)
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


async def test_the_choice_of_shelves_says_whose_they_are(town):
    owner, other = await town.add(username="owner"), await town.add(username="other")
    mine, theirs, path = await a_guest(town, owner), await a_guest(town, other), await path_of(town, owner)
    await mine.send(f"{path}/people", {"person": "other", "role": "editor"})
    name = (await town.accounts.current_user.shelf_of(owner)).name
    for seen in ((await theirs.see("/")).text, (await theirs.see(SHELVES)).text):
        assert f">{name} (owner)</option>" in seen
    assert "<span>owned by owner</span>" in (await theirs.see(SHELVES)).text
    assert "owned by owner" not in (await mine.see(SHELVES)).text


async def test_somebody_is_removed_only_after_a_question(town):
    owner, other = await town.add(username="owner"), await town.add(username="other")
    mine, path = await a_guest(town, owner), await path_of(town, owner)
    await mine.send(f"{path}/people", {"person": "other", "role": "editor"})
    asked = await mine.see(f"{path}/people/other/remove")
    assert "other loses access to this shelf" in asked.text
    assert (await mine.see(f"{path}/people/nobody/remove")).status == 404
    assert (await mine.send(f"{path}/people/other/remove")).headers["location"] == f"{path}?done=shelf_unshared"
    people = await town.accounts.sharing.people(shelf_user(owner), await id_of(town, owner))
    assert [one.username for one in people] == ["owner"]
    assert other.username in (await mine.see(path)).text  # to be shared with again


async def id_of(town: Town, user):
    return (await town.accounts.current_user.shelf_of(user)).public_id


async def test_who_has_several_shelves_switches_at_the_side(town):
    user = await town.add(username="reader")
    guest = await a_guest(town, user)
    await furnish(town, user, articles=3)
    assert 'action="/account/open-shelf"' not in (await guest.see("/")).text
    made = await guest.send(SHELVES, {"name": "Attic"})
    attic = made.headers["location"].split("?")[0].rsplit("/", 1)[1]
    assert 'action="/account/open-shelf"' in (await guest.see("/")).text
    assert (await guest.send("/account/open-shelf", {"shelf": attic})).headers["location"] == "/"
    assert '<option value="' + attic + '" selected>Attic' in (await guest.see("/")).text
    assert (await guest.send("/account/open-shelf", {"shelf": "nonsense"})).status == 404
    assert (await guest.send(f"{SHELVES}/{attic}/delete")).headers["location"] == f"{SHELVES}?done=shelf_deleted"
    assert 'action="/account/open-shelf"' not in (await guest.see("/")).text


async def test_an_old_tab_marks_all_of_the_shelf_that_it_shows(town):
    user = await town.add(username="reader")
    guest = await a_guest(town, user)
    await furnish(town, user, articles=3)
    home = show_id(await id_of(town, user))
    page = (await guest.see("/")).text
    form = page.split("data-mark-all")[1].split("</form>")[0]
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
    made = await town.accounts.sharing.make(shelf_user(user), "Attic")
    await guest.send("/account/open-shelf", {"shelf": show_id(made.public_id)})
    await guest.send("/inbox/mark-all", fields)
    counts = await (await town.signed_in(user)).get(f"/counts?shelf={home}")
    assert counts.json()["data"]["unread"] == 0


async def test_a_reader_is_shown_no_button_that_writes(town):
    owner, other = await town.add(username="owner"), await town.add(username="other")
    await furnish(town, owner, articles=3)
    shelf = await town.accounts.current_user.shelf_of(owner)
    await town.accounts.sharing.share(shelf_user(owner), shelf.public_id, "other", "reader")
    guest = await a_guest(town, other)
    await guest.send("/account/open-shelf", {"shelf": show_id(shelf.public_id)})
    inbox = (await guest.see("/")).text
    assert "data-reads-only" in inbox
    assert "but not change it." in inbox
    assert (await guest.send("/inbox/mark-all", {"newest": "9999", "kind": "all"})).status == 403
    for path in ("/account", "/settings", SHELVES):
        assert "data-reads-only" not in (await guest.see(path)).text, path
    assert (await guest.send("/settings", {"theme": "dark"})).status == 303  # what is their own they change


async def test_what_is_wrong_with_a_name_stands_beside_it(town):
    user = await town.add(username="reader")
    guest, path = await a_guest(town, user), await path_of(town, user)
    assert error_of(await guest.send(SHELVES, {"name": " "}), "name")
    await guest.send(SHELVES, {"name": "Attic"})
    assert "already" in (error_of(await guest.send(path, {"name": "Attic"}), "name") or "")
    assert (await guest.send(path, {"name": "Mine"})).headers["location"] == f"{path}?done=shelf_named"
    assert (await guest.send(f"{path}/people", {"person": "reader", "role": "king"})).status == 400


async def test_the_offer_is_on_every_page_until_it_is_answered(town):
    taker, keeper = await town.add(username="taker"), await town.add(username="keeper")
    for user in (taker, keeper):
        await town.db.with_tx(lambda tx, user=user: tx.run(q.offer, id=user.id))
    one, other = await a_guest(town, taker), await a_guest(town, keeper)
    for guest in (one, other):
        assert "Create my own shelf" in (await guest.see("/")).text
    taken = await one.send("/account/own-shelf")
    assert taken.headers["location"] == f"{SHELVES}?done=shelf_own"
    assert (await one.send("/account/own-shelf")).headers["location"] == SHELVES  # pressed twice
    assert len(await town.accounts.current_user.shelves_of(taker)) == 2
    await other.send("/account/own-shelf/decline")
    for guest in (one, other):
        assert "Create my own shelf" not in (await guest.see("/")).text


async def test_the_admin_page_says_what_goes_with_somebody(town):
    operator = await a_guest(town, await town.admin())
    user = await town.add(username="reader")
    await furnish(town, user, articles=3)
    path = f"/admin/users/{show_id(user.public_id)}/delete"
    asked = (await operator.see(path)).text
    assert "It also deletes the shelves that only they own (1) with all feeds (5)" in asked
    shelf = await town.accounts.current_user.shelf_of(user)
    await operator.send(path)
    assert (await operator.see(f"{SHELVES}/{show_id(shelf.public_id)}")).status == 404

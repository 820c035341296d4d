"""R91 over the API, on both engines: what one person does is theirs, what they share is shared, and what ends ends."""

from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from tests.api.people import RunningApp, a_running_app
from tests.app import in_settings, settings_for
from tests.authorisation.objects import OBJECTS
from tests.builders import stored_feed
from tests.delivery.builders import publish, subscribe
from tsuzuki.accounts.current_user import must_allow
from tsuzuki.accounts.sharing import shelf_user
from tsuzuki.accounts.types import SYSTEM, User
from tsuzuki.app.bootstrap import open_tsuzuki
from tsuzuki.db.queries import parse_queries
from tsuzuki.model.errors import Forbidden
from tsuzuki.model.ids import show_id

q = parse_queries(
    "test",
    """
-- name: offer
update user_account set is_offered_shelf = true where id = :id;
-- name: count_channels
select count(*) as total from channel;
""",
)


@pytest.fixture
async def app(tmp_path, database_url) -> AsyncIterator[RunningApp]:
    async with a_running_app(tmp_path, database_url=in_settings(database_url)) as app:
        yield app


async def unread(visitor, shelf: str = "") -> int:
    count: int = (await visitor.get(f"/counts{shelf}")).json()["data"]["unread"]
    return count


async def test_one_persons_mark_all_read_empties_nobody_elses_inbox(app):
    feed = await stored_feed(app.db)
    people = [await app.add() for _ in range(2)]
    for user in people:
        await subscribe(app.db, (await app.accounts.current_user.shelf_of(user)).id, feed)
    await publish(app.db, feed, "abc")
    one, other = [await app.signed_in(user) for user in people]
    assert (await one.ask("PATCH", "/inbox/-/read", {"all": True})).status == 200
    assert (await unread(one), await unread(other)) == (0, 3)


async def test_marks_on_a_shared_shelf_are_shared(app):
    owner, editor = await app.add(), await app.add()
    shelf = await app.accounts.current_user.shelf_of(owner)
    feed = await stored_feed(app.db)
    await subscribe(app.db, shelf.id, feed)
    await publish(app.db, feed, "abc")
    mine, theirs = await app.signed_in(owner), await app.signed_in(editor)
    named = f"?shelf={show_id(shelf.public_id)}"
    path = f"/me/shelves/{show_id(shelf.public_id)}/people/{editor.username}"
    assert (await mine.ask("PUT", path, {"role": "editor"})).json()["data"]["role"] == "editor"
    assert (await theirs.ask("PATCH", f"/inbox/-/read{named}", {"all": True})).status == 200
    assert (await unread(mine), await unread(theirs, named)) == (0, 0)
    assert [one["role"] for one in (await theirs.get("/me")).json()["data"]["shelves"]] == ["owner", "editor"]
    assert (await theirs.ask("DELETE", path)).status == 204  # leaves it
    assert (await theirs.get(f"/counts{named}")).status == 404


async def test_an_unknown_role_is_refused_with_its_field(app):
    owner, other = await app.add(), await app.add()
    shelf = await app.accounts.current_user.shelf_of(owner)
    path = f"/me/shelves/{show_id(shelf.public_id)}/people/{other.username}"
    answer = await (await app.signed_in(owner)).ask("PUT", path, {"role": "king"})
    assert (answer.status, answer.json()["details"][0]["field"]) == (400, "role")


async def test_a_channel_belongs_to_its_maker_and_its_shelf(app):
    owner, editor = await app.add(), await app.add()
    shelf = await app.accounts.current_user.shelf_of(owner)
    await app.accounts.sharing.share(shelf_user(owner), shelf.public_id, editor.username, "editor")
    mine, theirs = await app.signed_in(owner), await app.signed_in(editor)
    named = f"/channels?shelf={show_id(shelf.public_id)}"
    for visitor, name in ((mine, "Mine"), (theirs, "Theirs")):
        body = {"kind": "webhook", "name": name, "config": {"url": "http://93.184.216.34/"}}
        assert (await visitor.post(named, body)).status == 201
    assert [one["name"] for one in (await mine.get(named)).json()["data"]] == ["Mine"]
    [channel] = (await theirs.get(named)).json()["data"]
    one = f"/channels/{channel['id']}?shelf={show_id(shelf.public_id)}"
    assert (await mine.ask("PATCH", one, {"is_enabled": False})).status == 404
    await app.accounts.sharing.remove(shelf_user(owner), shelf.public_id, editor.username)
    assert await app.db.read(lambda tx: tx.one(int, q.count_channels)) == 1
    await app.accounts.users.delete(SYSTEM, owner.public_id)
    assert await app.db.read(lambda tx: tx.one(int, q.count_channels)) == 0


async def test_an_unshared_reader_has_no_picture_of_it_either(app):
    """What a shelf keeps is readable without its source by whoever has that shelf, and by no neighbour."""
    owner, other = await app.add(), await app.add()
    made = str(await OBJECTS["kept_id"](app, owner))
    theirs = await app.signed_in(other)
    shelf = await app.accounts.current_user.shelf_of(owner)
    named = f"/chapters/{made}/download?shelf={show_id(shelf.public_id)}"
    assert (await theirs.get(named)).status == 404
    await app.accounts.sharing.share(shelf_user(owner), shelf.public_id, other.username, "reader")
    assert (await theirs.get(named)).status == 200
    assert (await theirs.ask("DELETE", named)).status == 403


async def test_an_import_by_hand_asks_for_the_role_too(app):
    owner, other = await app.add(), await app.add()
    shelf = await app.accounts.current_user.shelf_of(owner)
    await app.accounts.sharing.share(shelf_user(owner), shelf.public_id, other.username, "reader")
    await (await app.signed_in(other)).ask("PATCH", "/me", {"default_shelf_id": show_id(shelf.public_id)})
    reader = await app.accounts.users.find(other.username)
    assert (await app.accounts.current_user.shelf_of(reader)).id == shelf.id
    with pytest.raises(Forbidden):
        must_allow(await app.accounts.current_user.shelf_of(reader), writes=True)


# -- servers from before


async def offer(app: RunningApp, user: User) -> None:
    await app.db.with_tx(lambda tx: tx.run(q.offer, id=user.id))


async def test_the_offer_is_made_by_api_and_at_start(tmp_path, database_url):
    url = in_settings(database_url)
    async with a_running_app(tmp_path, database_url=url) as app:
        owner, other = await app.admin(), await app.add()
        shelf = await app.accounts.current_user.shelf_of(owner)
        await app.accounts.sharing.share(shelf_user(owner), shelf.public_id, other.username, "owner")
        for user in (owner, other):
            await offer(app, user)
    with capture_logs() as lines:
        async with open_tsuzuki(settings_for(tmp_path, database_url=url)):
            pass
    said = [(line["shelf"], line["people"]) for line in lines if line["event"] == "people_share_a_shelf"]
    assert ("Main", 2) in said
    async with a_running_app(tmp_path, database_url=url) as app:
        mine, theirs = await app.signed_in(owner), await app.signed_in(other)
        assert (await mine.get("/me")).json()["data"]["is_offered_shelf"] is True
        assert (await mine.ask("DELETE", "/me/shelf-offer")).status == 204
        assert (await mine.get("/me")).json()["data"]["is_offered_shelf"] is False
        made = await theirs.post("/me/shelf-offer")
        assert (made.status, made.json()["data"]["role"]) == (201, "owner")
        assert (await theirs.get("/me")).json()["data"]["default_shelf_id"] == made.json()["data"]["id"]
        assert (await theirs.post("/me/shelf-offer")).status == 409

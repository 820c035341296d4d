"""People and invitations on the admin pages."""

import re

from tests.api.people import PASSWORD, RunningApp, a_running_app
from tests.web.guests import Guest, a_guest, error_of, value_of
from tsuzuki.model.ids import show_id


async def path_of(app: RunningApp, name: str) -> str:
    return f"/admin/users/{show_id((await app.accounts.users.find(name)).public_id)}"


async def test_somebody_is_added_and_can_sign_in(app, operator):
    said = {"username": "Ada", "role": "reader", "password": PASSWORD, "repeat": PASSWORD, "email": "a@b.example"}
    added = await operator.send("/admin/users/add", said)
    path = await path_of(app, "ada")
    assert added.headers["location"] == f"{path}?done=person_added"
    assert "a@b.example" in (await operator.see("/admin/users")).text
    guest = Guest(app.client)
    assert (await guest.send("/sign-in", {"username": "ada", "password": PASSWORD})).status == 303
    assert (await guest.see("/admin/users")).status == 403


async def test_what_is_wrong_with_somebody_stands_beside_its_field(app, operator):
    for said, field, word in (
        ({"username": "admin"}, "username", "taken"),
        ({"username": "a b"}, "username", ""),
        ({"username": "x1", "password": "short", "repeat": "short"}, "password", ""),
        ({"username": "x1", "password": PASSWORD, "repeat": "other"}, "repeat", ""),
        ({"username": "x1", "email": "nothing"}, "email", "valid email"),
    ):
        answer = await operator.send("/admin/users/add", said)
        assert answer.status >= 400, said
        assert word in (error_of(answer, field) or "missing"), said
        assert value_of(answer, "username") == said["username"]
        assert PASSWORD not in answer.text
    assert (await operator.see("/admin/users")).text.count('scope="row"') == 1


async def test_a_role_is_changed_but_the_last_administrator_stays_one(app, operator):
    user = await app.add(username="bob")
    path = await path_of(app, "bob")
    await operator.send(path, {"role": "admin", "email": "bob@b.example"})
    changed, _ = await app.accounts.users.get(user.public_id)
    assert (changed.role, changed.email) == ("admin", "bob@b.example")
    await operator.send(path, {"role": "reader"})
    refused = await operator.send(await path_of(app, "admin"), {"role": "reader"})
    assert refused.status == 409
    assert "last administrator" in refused.text


async def test_somebody_is_locked_out_and_let_in_again(app, operator):
    user = await app.add(username="bob")
    bob, path = await a_guest(app, user), await path_of(app, "bob")
    await operator.send(f"{path}/switch", {"reason": "noise"})
    assert (await bob.see("/account")).headers["location"].startswith("/sign-in")
    assert "Disabled since" in (await operator.see(path)).text
    await operator.send(f"{path}/switch", {"enabled": "on"})
    assert "Disabled since" not in (await operator.see(path)).text


async def test_another_password_ends_every_session(app, operator):
    user = await app.add(username="bob")
    bob, path = await a_guest(app, user), await path_of(app, "bob")
    wrong = await operator.send(f"{path}/password", {"password": PASSWORD, "repeat": "other"})
    assert error_of(wrong, "repeat") is not None
    await operator.send(f"{path}/password", {"password": PASSWORD, "repeat": PASSWORD})
    assert (await bob.see("/account")).status == 303
    assert (await Guest(app.client).send("/sign-in", {"username": "bob", "password": PASSWORD})).status == 303


async def test_deleting_somebody_says_what_goes(app, operator):
    await a_guest(app, await app.add(username="bob"))
    path = await path_of(app, "bob")
    assert "sessions (1), tokens (0)" in (await operator.see(f"{path}/delete")).text
    assert (await operator.send(f"{path}/delete")).headers["location"] == "/admin/users?done=person_deleted"
    assert (await operator.see(path)).status == 404
    refused = await operator.send(f"{await path_of(app, 'admin')}/delete")
    assert (refused.status, "last administrator" in refused.text) == (409, True)


async def test_an_invitation_uses_the_configured_public_address(tmp_path):
    async with a_running_app(tmp_path, public_url="https://reader.example.org/") as app:
        made = await (await a_guest(app, await app.admin())).send("/admin/invites", {"role": "reader"})
    assert "https://reader.example.org/invite?code=" in made.text


async def test_an_invitation_is_shown_once_and_makes_one_account(app, operator):
    made = await operator.send("/admin/invites", {"role": "reader"})
    [link] = re.findall(rf"{app.client.base}(/invite\?code=[\w%-]+)", made.text)
    assert link.partition("code=")[2] not in (await operator.see("/admin/users")).text
    said = {"code": link.partition("code=")[2], "username": "eve", "password": PASSWORD, "repeat": PASSWORD}
    assert (await Guest(app.client).send("/invite", said)).status == 303
    assert "eve" in (await operator.see("/admin/users")).text


async def test_an_invitation_is_revoked(app, operator):
    await operator.send("/admin/invites", {"role": "admin"})
    [path] = re.findall(r'action="(/admin/invites/[\w-]+/revoke)"', (await operator.see("/admin/users")).text)
    await operator.send(path)
    assert "/revoke" not in (await operator.see("/admin/users")).text

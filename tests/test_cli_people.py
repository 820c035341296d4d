"""`tsuzuki user` and `tsuzuki token`."""

import asyncio
import os
import re

import pytest
from click.testing import CliRunner, Result

from tests.app import settings_for
from tsuzuki.accounts.devices import AppRequest
from tsuzuki.accounts.sessions import Device
from tsuzuki.app.opening import open_accounts
from tsuzuki.cli import main
from tsuzuki.model.errors import Unauthorized
from tsuzuki.protocols.build import PROTOCOLS
from tsuzuki.protocols.fever import digest


@pytest.fixture
def run(tmp_path, monkeypatch):
    """`run("user", "list")` over a data folder of its own."""
    monkeypatch.setattr("tsuzuki.log.set_up_logging", lambda **_: None)
    for name in [name for name in os.environ if name.startswith("TSUZUKI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TSUZUKI_DATA_DIR", str(tmp_path))

    def run(*arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(main, arguments, input=stdin)

    return run


def sign_in(folder, name: str, password: str) -> str:
    async def attempt() -> str:
        async with open_accounts(settings_for(folder)) as accounts:
            return (await accounts.sign_in.sign_in(name, password, Device("127.0.0.1"))).user.role

    return asyncio.run(attempt())


def test_someone_is_added_with_a_password_from_stdin(run, tmp_path):
    result = run("user", "add", "Bob", "--role", "admin", "--password-stdin", stdin="any pw\n")
    assert (result.exit_code, result.stdout) == (0, "Added bob (admin).\n")
    assert sign_in(tmp_path, "bob", "any pw") == "admin"


def test_a_generated_password_is_shown_for_a_new_user(run, tmp_path):
    found = re.fullmatch(r"Added bob \(reader\)\.\nPassword: (\S{20})\n", run("user", "add", "bob").stdout)
    assert found
    assert sign_in(tmp_path, "bob", found[1]) == "reader"


@pytest.mark.parametrize(
    ("arguments", "stdin", "says"),
    [
        (("user", "add", "a b"), None, "A username must have 1 to 64"),
        (("user", "add", "a", "--password-stdin"), "", "first line of stdin is empty"),
        (("user", "add", "a", "--role", "root"), None, "'root' is not one of"),
        (("user", "disable", "nobody"), None, "There is no user nobody."),
        (("user", "reset-password", "nobody"), None, "There is no user nobody."),
        (("token", "create", "nobody"), None, "There is no user nobody."),
    ],
)
def test_what_cannot_be_is_said_in_one_line(run, arguments, stdin, says):
    result = run(*arguments, stdin=stdin)
    assert result.exit_code != 0
    assert says in result.stderr
    assert "Traceback" not in result.stderr


def test_a_name_is_taken_once(run):
    run("user", "add", "bob")
    assert run("user", "add", "bob").stderr == "Error: The name bob is taken.\n"


def test_people_are_listed_and_disabled(run, tmp_path):
    run("user", "add", "root", "--role", "admin")
    run("user", "add", "bob", "--password-stdin", stdin="any pw")
    assert run("user", "disable", "bob").stdout == "Disabled bob.\n"
    assert run("user", "list").stdout == "root\tadmin\tHome\tactive\nbob\treader\tHome\tdisabled\n"
    with pytest.raises(Unauthorized):
        sign_in(tmp_path, "bob", "any pw")
    assert "last administrator" in run("user", "disable", "root").stderr
    assert run("user", "enable", "bob").stdout == "Enabled bob.\n"
    assert sign_in(tmp_path, "bob", "any pw") == "reader"


def test_the_operators_short_password_is_accepted_with_a_warning(run):
    assert "at least 8 characters" in run("user", "add", "bob", "--password-stdin", stdin="any pw").stderr


def test_a_second_person_has_and_shares_a_shelf(run):
    run("user", "add", "root", "--role", "admin")
    run("user", "add", "bob")
    assert run("user", "shelves", "bob").stdout == "bob\towner\tnobody else\n"
    assert run("user", "shelves", "root").stdout == "Main\towner\tnobody else\n"
    assert run("user", "share", "bob", "root", "--role", "editor").stdout == "Shared bob of bob with root (editor).\n"
    assert run("user", "shelves", "root").stdout == "Main\towner\tnobody else\nbob\teditor\tbob (owner)\n"
    assert "no shelf named Attic" in run("user", "share", "bob", "root", "--shelf", "Attic").stderr
    assert "no such person here" in run("user", "share", "bob", "nobody").stderr
    assert "carol does not have this shelf" in run("user", "unshare", "bob", "carol").stderr
    assert run("user", "unshare", "bob", "root", "--shelf", "bob").stdout == "Stopped sharing bob of bob with root.\n"
    assert run("user", "shelves", "root").stdout == "Main\towner\tnobody else\n"


def test_a_password_is_reset(run, tmp_path):
    run("user", "add", "bob", "--password-stdin", stdin="any pw")
    result = run("user", "reset-password", "bob", "--password-stdin", stdin="other pw\n")
    assert result.stdout == "Reset the password of bob.\n"
    assert sign_in(tmp_path, "bob", "other pw") == "reader"


def test_a_token_is_printed_alone(run, tmp_path):
    run("user", "add", "root", "--role", "admin")
    result = run("token", "create", "root", "--scopes", "read,write,admin", "--days", "1")
    assert re.fullmatch(r"tsz_[\w-]{43}\n", result.stdout)

    async def scopes() -> frozenset[str]:
        async with open_accounts(settings_for(tmp_path)) as accounts:
            caller = await accounts.tokens.resume(result.stdout.strip(), "")
            assert caller is not None
            return caller.scopes

    assert asyncio.run(scopes()) == {"read", "write", "admin"}
    assert "A scope must be one of" in run("token", "create", "root", "--scopes", "root").stderr


def test_a_device_password_is_printed_alone(run, tmp_path):
    run("user", "add", "bob")
    result = run("token", "create", "bob", "--protocols", "fever", "--name", "Phone")
    assert re.fullmatch(r"tsz_[a-z2-7]+\n", result.stdout)

    async def holder() -> str:
        async with open_accounts(settings_for(tmp_path)) as accounts:
            sent = digest("bob", result.stdout.strip())
            found = await accounts.devices.sign_in(AppRequest("fever", "192.0.2.1"), None, sent)
            assert await accounts.tokens.resume(result.stdout.strip(), "") is None
            return found.caller.username

    assert asyncio.run(holder()) == "bob"
    assert "A protocol must be one of fever" in run("token", "create", "bob", "--protocols", "gopher").stderr
    told = " ".join(run("token", "create", "--help").stdout.split())
    assert [one.name for one in PROTOCOLS if one.name not in told] == []
    both = run("token", "create", "bob", "--protocols", "fever", "--scopes", "read")
    assert "either --scopes or --protocols" in both.stderr


def test_a_reader_gets_no_administrators_token(run):
    run("user", "add", "bob")
    assert "Only an administrator's token" in run("token", "create", "bob", "--scopes", "admin").stderr

"""`tsuzuki user ...` and `tsuzuki token create`."""

import asyncio
import secrets
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from tsuzuki.accounts.policy import SHORTEST_PASSWORD
from tsuzuki.cli.start import start
from tsuzuki.cli.transfer import ShelfChoice, own_shelf

if TYPE_CHECKING:
    from tsuzuki.accounts.services import Accounts
    from tsuzuki.accounts.sharing import ShelfUser
    from tsuzuki.accounts.types import Actor, MemberShelf, Role, ShelfRole
    from tsuzuki.accounts.users import Users
    from tsuzuki.model.ids import PublicId

T = TypeVar("T")

REASON = "command line"


def _with_accounts(work: "Callable[[Accounts], Awaitable[T]]") -> T:
    """Do this with the database open."""
    settings = start()
    from tsuzuki.app.bootstrap import open_accounts

    async def run() -> T:
        async with open_accounts(settings) as accounts:
            await accounts.setup.prepare_tenant()
            return await work(accounts)

    return asyncio.run(run())


_password_option = click.option(
    "--password-stdin", is_flag=True, help="Read the password from stdin; without it, one is generated and shown."
)
_shelf_option = click.option("--shelf", help="The name of the shelf; without it, their own.")


def _with_person(name: str, work: "Callable[[Users, Actor, PublicId], Awaitable[object]]") -> None:
    """Do this to somebody, by the operator's hand."""

    async def run(accounts: "Accounts") -> None:
        from tsuzuki.accounts.types import SYSTEM

        await work(accounts.users, SYSTEM, (await accounts.users.find(name)).public_id)

    _with_accounts(run)


def _password(*, from_stdin: bool) -> tuple[str, bool]:
    """The password, and whether it was made up here and must be shown."""
    if not from_stdin:
        return secrets.token_urlsafe(15), True
    password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise click.UsageError("There is no password on the first line of stdin.")
    if len(password) < SHORTEST_PASSWORD:
        click.echo(f"Taken, though it is short: pages ask for {SHORTEST_PASSWORD} characters.", err=True)
    return password, False


@click.group()
def user() -> None:
    """Add, list, disable and enable people; reset passwords; share shelves."""


@user.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(["admin", "reader"]), default="reader", show_default=True)
@_password_option
def add_user(name: str, role: "Role", *, password_stdin: bool) -> None:
    """Add someone to the first tenant, with a shelf of their own."""
    password, made_up = _password(from_stdin=password_stdin)

    async def add(accounts: "Accounts") -> str:
        from tsuzuki.accounts.types import SYSTEM
        from tsuzuki.accounts.users import NewPerson

        new = NewPerson(username=name, role=role, password=password)
        return (await accounts.users.add(SYSTEM, new, is_strict=False)).username

    click.echo(f"Added {_with_accounts(add)} ({role}).")
    if made_up:
        click.echo(f"Password: {password}")


@user.command("list")
def list_users() -> None:
    """Show everyone: name, role, tenant, and whether they are disabled."""

    async def collect(accounts: "Accounts") -> list[str]:
        from tsuzuki.accounts.types import Slice

        found, _ = await accounts.users.list(Slice(most=1_000_000))
        return [
            "\t".join((one.username, one.role, one.tenant_name, "disabled" if one.disabled_at else "active"))
            for one in found
        ]

    for line in _with_accounts(collect):
        click.echo(line)


@user.command("disable")
@click.argument("name")
def disable_user(name: str) -> None:
    """Lock someone out: sessions end, tokens open nothing."""
    _with_person(name, lambda users, system, person: users.disable(system, person, reason=REASON))
    click.echo(f"Disabled {name}.")


@user.command("enable")
@click.argument("name")
def enable_user(name: str) -> None:
    """Let someone in again; sessions and tokens from before stay ended."""
    _with_person(name, lambda users, system, person: users.enable(system, person))
    click.echo(f"Enabled {name}.")


@user.command("reset-password")
@click.argument("name")
@_password_option
def reset_password(name: str, *, password_stdin: bool) -> None:
    """Give someone another password; their sessions, tokens and device passwords end."""
    password, made_up = _password(from_stdin=password_stdin)
    _with_person(name, lambda users, system, person: users.reset_password(system, person, password, is_strict=False))
    click.echo(f"{name} has another password.")
    if made_up:
        click.echo(f"Password: {password}")


@user.command("shelves")
@click.argument("name")
def list_shelves(name: str) -> None:
    """Show someone's shelves: name, their role, and who else has it. The one that they read from is the first."""

    async def collect(accounts: "Accounts") -> list[str]:
        from tsuzuki.accounts.sharing import shelf_user
        from tsuzuki.accounts.types import SYSTEM

        found = await accounts.users.find(name)
        lines = []
        for shelf in await accounts.current_user.shelves_of(found):
            people = await accounts.sharing.people(shelf_user(found, SYSTEM), shelf.public_id)
            others = [f"{one.username} ({one.role})" for one in people if one.user_id != found.id]
            lines.append("\t".join((shelf.name, shelf.role, ", ".join(others) or "nobody else")))
        return lines

    for line in _with_accounts(collect):
        click.echo(line)


@user.command("share")
@click.argument("name")
@click.argument("other", metavar="WITH")
@click.option("--role", type=click.Choice(["owner", "editor", "reader"]), default="reader", show_default=True)
@_shelf_option
def share_shelf(name: str, other: str, role: "ShelfRole", shelf: str | None) -> None:
    """Share a shelf of someone with somebody else of the same tenant, or change that person's role."""

    async def share(accounts: "Accounts") -> str:
        who, found = await _shelf_of(accounts, name, shelf)
        await accounts.sharing.share(who, found.public_id, other, role)
        return found.name

    click.echo(f"{other} has {_with_accounts(share)} of {name} as {role}.")


@user.command("unshare")
@click.argument("name")
@click.argument("other", metavar="WITH")
@_shelf_option
def unshare_shelf(name: str, other: str, shelf: str | None) -> None:
    """Take a shelf of someone from somebody else, with that person's channels of it."""

    async def unshare(accounts: "Accounts") -> str:
        who, found = await _shelf_of(accounts, name, shelf)
        await accounts.sharing.remove(who, found.public_id, other)
        return found.name

    click.echo(f"{other} no longer has {_with_accounts(unshare)} of {name}.")


async def _shelf_of(accounts: "Accounts", name: str, shelf: str | None) -> "tuple[ShelfUser, MemberShelf]":
    """Somebody by the operator's hand, and the shelf of theirs that is meant."""
    from tsuzuki.accounts.sharing import shelf_user
    from tsuzuki.accounts.types import SYSTEM

    person = await accounts.users.find(name)
    shelves = await accounts.current_user.shelves_of(person)
    return shelf_user(person, SYSTEM), own_shelf(shelves, ShelfChoice(name, shelf))


@click.group()
def token() -> None:
    """Make tokens for programs."""


@token.command("create")
@click.argument("username", metavar="USER")
@click.option("--scopes", default="read", show_default=True, help="Any of read, write and admin, separated by commas.")
@click.option("--name", default="command line", show_default=True, help="Its name in the list of tokens.")
@click.option("--days", type=click.IntRange(1, 36_500), help="Days until it expires; without it, never.")
def create_token(username: str, scopes: str, name: str, days: int | None) -> None:
    """Make a token for someone and print it, alone, on stdout. It cannot be shown again."""

    async def create(accounts: "Accounts") -> str:
        from tsuzuki.accounts.tokens import TokenRequest, read_scopes
        from tsuzuki.accounts.types import SYSTEM
        from tsuzuki.model.times import DAY, Millis

        found = await accounts.users.find(username)
        ends = None if days is None else Millis(accounts.deps.clock() + days * DAY)
        wanted = read_scopes([part.strip() for part in scopes.split(",")])
        made = await accounts.tokens.make_for(SYSTEM, found, TokenRequest(name=name, scopes=wanted, expires_at=ends))
        return made.key

    click.echo(_with_accounts(create))

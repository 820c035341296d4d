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
    from tsuzuki.app.opening import open_accounts

    async def run() -> T:
        async with open_accounts(settings) as accounts:
            await accounts.setup.prepare_tenant()
            return await work(accounts)

    return asyncio.run(run())


_password_option = click.option(
    "--password-stdin", is_flag=True, help="Read the password from stdin. Default: generate one and print it."
)
_shelf_option = click.option("--shelf", help="The name of the shelf. Default: the user's own shelf.")


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
        raise click.UsageError("The first line of stdin is empty. Put the password there.")
    if len(password) < SHORTEST_PASSWORD:
        click.echo(
            f"Warning: this password is short; the pages require at least {SHORTEST_PASSWORD} characters.", err=True
        )
    return password, False


@click.group()
def user() -> None:
    """Add, list, disable and enable users; reset passwords; share shelves."""


@user.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(["admin", "reader"]), default="reader", show_default=True)
@_password_option
def add_user(name: str, role: "Role", *, password_stdin: bool) -> None:
    """Add a user with their own shelf to the first tenant."""
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
    """List all users: name, role, tenant, and active or disabled."""

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
    """Disable a user: they are signed out, and their tokens stop working."""
    _with_person(name, lambda users, system, person: users.disable(system, person, reason=REASON))
    click.echo(f"Disabled {name}.")


@user.command("enable")
@click.argument("name")
def enable_user(name: str) -> None:
    """Enable a disabled user. Earlier sessions and tokens stay invalid."""
    _with_person(name, lambda users, system, person: users.enable(system, person))
    click.echo(f"Enabled {name}.")


@user.command("reset-password")
@click.argument("name")
@_password_option
def reset_password(name: str, *, password_stdin: bool) -> None:
    """Set a new password. The user is signed out; their tokens and device passwords are revoked."""
    password, made_up = _password(from_stdin=password_stdin)
    _with_person(name, lambda users, system, person: users.reset_password(system, person, password, is_strict=False))
    click.echo(f"Reset the password of {name}.")
    if made_up:
        click.echo(f"Password: {password}")


@user.command("shelves")
@click.argument("name")
def list_shelves(name: str) -> None:
    """List a user's shelves, the current one first: name, the user's role, and the other members."""

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
    """Share a shelf of user NAME with another user of the same tenant, or change that user's role."""

    async def share(accounts: "Accounts") -> str:
        who, found = await _shelf_of(accounts, name, shelf)
        await accounts.sharing.share(who, found.public_id, other, role)
        return found.name

    click.echo(f"Shared {_with_accounts(share)} of {name} with {other} ({role}).")


@user.command("unshare")
@click.argument("name")
@click.argument("other", metavar="WITH")
@_shelf_option
def unshare_shelf(name: str, other: str, shelf: str | None) -> None:
    """Stop sharing a shelf of user NAME with another user; that user's channels for it are deleted."""

    async def unshare(accounts: "Accounts") -> str:
        who, found = await _shelf_of(accounts, name, shelf)
        await accounts.sharing.remove(who, found.public_id, other)
        return found.name

    click.echo(f"Stopped sharing {_with_accounts(unshare)} of {name} with {other}.")


async def _shelf_of(accounts: "Accounts", name: str, shelf: str | None) -> "tuple[ShelfUser, MemberShelf]":
    """Somebody by the operator's hand, and the shelf of theirs that is meant."""
    from tsuzuki.accounts.sharing import shelf_user
    from tsuzuki.accounts.types import SYSTEM

    person = await accounts.users.find(name)
    shelves = await accounts.current_user.shelves_of(person)
    return shelf_user(person, SYSTEM), own_shelf(shelves, ShelfChoice(name, shelf))


@click.group()
def token() -> None:
    """Create API tokens and device passwords."""


@token.command("create")
@click.argument("username", metavar="USER")
@click.option("--scopes", help="Any of read, write and admin, separated by commas. Default: read.")
@click.option(
    "--protocols",
    help="Create a device password for these instead of a token: fever, greader (Google Reader), komga, koreader, "
    "miniflux, opds, syncyomi.",
)
@click.option("--name", default="command line", show_default=True, help="The token's name in the list of tokens.")
@click.option("--days", type=click.IntRange(1, 36_500), help="Days until it expires. Default: never.")
def create_token(username: str, *, scopes: str | None, protocols: str | None, name: str, days: int | None) -> None:
    """Create a token for a user and print only the token on stdout. It cannot be shown again."""
    if scopes and protocols:
        raise click.UsageError("Choose either --scopes or --protocols.")

    async def create(accounts: "Accounts") -> str:
        from tsuzuki.accounts.tokens import TokenRequest, read_scopes
        from tsuzuki.accounts.types import SYSTEM
        from tsuzuki.model.times import DAY, Millis

        found = await accounts.users.find(username)
        ends = None if days is None else Millis(accounts.deps.clock() + days * DAY)
        request = TokenRequest(
            name=name,
            scopes=() if protocols else read_scopes(_listed(scopes or "read")),
            protocols=tuple(_listed(protocols or "")),
            expires_at=ends,
        )
        return (await accounts.tokens.make_for(SYSTEM, found, request)).key

    click.echo(_with_accounts(create))


def _listed(text: str) -> list[str]:
    """What commas separate."""
    return [part.strip() for part in text.split(",") if part.strip()]

"""`tsuzuki user ...` and `tsuzuki token create`"""

import asyncio
import secrets
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import click

from tsuzuki.cli.start import start

if TYPE_CHECKING:
    from tsuzuki.accounts.nouns import Role
    from tsuzuki.accounts.services import Accounts

T = TypeVar("T")

REASON = "command line"


def _with_accounts(work: "Callable[[Accounts], Awaitable[T]]") -> T:
    """Do this with the database open."""
    settings = start()
    from tsuzuki.bootstrap import open_accounts

    async def run() -> T:
        async with open_accounts(settings) as accounts:
            await accounts.setup.prepare_tenant()
            return await work(accounts)

    return asyncio.run(run())


def _password(*, from_stdin: bool) -> tuple[str, bool]:
    """The password, and whether it was made up here and must be shown."""
    if not from_stdin:
        return secrets.token_urlsafe(15), True
    password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise click.UsageError("There is no password on the first line of stdin.")
    return password, False


@click.group()
def user() -> None:
    """Add, list and disable people; reset passwords."""


@user.command("add")
@click.argument("name")
@click.option("--role", type=click.Choice(["admin", "reader"]), default="reader", show_default=True)
@click.option(
    "--password-stdin", is_flag=True, help="Take the first line of stdin; otherwise one is made up and shown."
)
def add_user(name: str, role: "Role", *, password_stdin: bool) -> None:
    """Add someone to the first tenant."""
    password, made_up = _password(from_stdin=password_stdin)

    async def add(accounts: "Accounts") -> str:
        from tsuzuki.accounts.nouns import SYSTEM
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
        from tsuzuki.accounts.nouns import Slice

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

    async def disable(accounts: "Accounts") -> None:
        from tsuzuki.accounts.nouns import SYSTEM

        found = await accounts.users.find(name)
        await accounts.users.disable(SYSTEM, found.public_id, reason=REASON)

    _with_accounts(disable)
    click.echo(f"Disabled {name}.")


@user.command("reset-password")
@click.argument("name")
@click.option(
    "--password-stdin", is_flag=True, help="Take the first line of stdin; otherwise one is made up and shown."
)
def reset_password(name: str, *, password_stdin: bool) -> None:
    """Give someone another password; their sessions, tokens and device passwords end."""
    password, made_up = _password(from_stdin=password_stdin)

    async def reset(accounts: "Accounts") -> None:
        from tsuzuki.accounts.nouns import SYSTEM

        found = await accounts.users.find(name)
        await accounts.users.reset_password(SYSTEM, found.public_id, password, is_strict=False)

    _with_accounts(reset)
    click.echo(f"{name} has another password.")
    if made_up:
        click.echo(f"Password: {password}")


@click.group()
def token() -> None:
    """Make tokens for programs."""


@token.command("create")
@click.argument("username", metavar="USER")
@click.option("--scopes", default="read", show_default=True, help="Of read, write and admin, with commas between.")
@click.option("--name", default="command line", show_default=True, help="What it is called in the list of tokens.")
@click.option("--days", type=click.IntRange(1, 36_500), help="How long it lives; for ever without.")
def create_token(username: str, scopes: str, name: str, days: int | None) -> None:
    """Make a token for someone and print it, alone, on stdout. It cannot be shown again."""

    async def create(accounts: "Accounts") -> str:
        from tsuzuki.accounts.nouns import SYSTEM
        from tsuzuki.accounts.tokens import Wish, read_scopes
        from tsuzuki.model.times import DAY, Millis

        found = await accounts.users.find(username)
        ends = None if days is None else Millis(accounts.ground.clock() + days * DAY)
        wanted = read_scopes([part.strip() for part in scopes.split(",")])
        made = await accounts.tokens.make_for(SYSTEM, found, Wish(name=name, scopes=wanted, expires_at=ends))
        return made.key

    click.echo(_with_accounts(create))

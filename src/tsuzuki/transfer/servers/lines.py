"""Reads another server, whatever its kind."""

from collections.abc import AsyncIterator, Callable

from tsuzuki.model.errors import Invalid, SourceError
from tsuzuki.model.requests import Parsers
from tsuzuki.model.times import Millis
from tsuzuki.transfer.foreign import ForeignLines
from tsuzuki.transfer.servers.calls import ServerCalls, basic
from tsuzuki.transfer.servers.comics import read_kavita, read_komga
from tsuzuki.transfer.servers.kinds import ServerLogin
from tsuzuki.transfer.servers.miniflux import read_miniflux

ReadServer = Callable[[ServerCalls, ServerLogin, Parsers, Millis], AsyncIterator[ForeignLines]]

SIGN_IN_PAGE = (
    "Suwayomi answered with a page: it asks for a sign-in other than Basic. "
    "Make a backup in Suwayomi and choose its file instead."
)

_READERS: dict[str, ReadServer] = {"miniflux": read_miniflux, "komga": read_komga, "kavita": read_kavita}


def server_lines(calls: ServerCalls, login: ServerLogin, parsers: Parsers, now: Millis) -> AsyncIterator[ForeignLines]:
    """The lines of what this reader has there."""
    if login.kind not in _READERS:
        raise Invalid("There is no such kind of server.")
    return _READERS[login.kind](calls, login, parsers, now)


async def suwayomi_backup(calls: ServerCalls, login: ServerLogin) -> bytes:
    """A backup in Mihon's format, which Suwayomi can make."""
    headers = basic(login) if login.username else {}
    body = await calls.get("/api/v1/backup/export/file", headers)
    if body.lstrip()[:1] == b"<":
        raise SourceError(SIGN_IN_PAGE)
    return body

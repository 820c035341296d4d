"""What a connector asks for (`Ask`, `ReadFile`, `Parse`) and what comes back. Values only; `net` fetches."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from tsuzuki.model.times import Millis

T = TypeVar("T")

DEFAULT_CAP = 10 * 1024 * 1024
LONGEST_CONTENT_TYPE = 1000
_CHARSET = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)


class SourceIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """On whose behalf a request is made: whose cookies, pace, proxy and headers."""

    source: str
    """Owns the cookie jar, where it keeps cookies."""
    watch: str | None = None
    """Owns the penalties (R21); the source when None."""
    home_url: str | None = None
    """Headers that may be credentials go to this host and below it only; everywhere when None."""
    ratelimit: float | None = None
    """Requests a second to one host; the client's default when None."""
    proxy: str | None = None
    headers: Mapping[str, str] = {}
    keeps_cookies: bool = False
    """R95: sources of comics have a jar of their own; whoever else asks is sent no cookie, and none is taken."""
    apart: str | None = None
    """Its own places and pace at every host, under this name: what lasts for hours must not keep polls waiting."""
    places: int | None = None
    """How many of its requests a host may have at the same time; the client's default when None."""
    solve_challenges: bool = False
    """True lets FlareSolverr pass a browser check; not for sources that demand an honest User-Agent."""

    @property
    def has_jar(self) -> bool:
        """A solved browser check is a cookie."""
        return self.keeps_cookies or self.solve_challenges

    @property
    def who(self) -> str:
        """Whom a Retry-After concerns."""
        return self.watch or self.source


class Validators(msgspec.Struct, frozen=True):
    """What to echo in a conditional request, byte for byte as the source sent it (R26)."""

    etag: str | None = None
    last_modified: str | None = None
    url: str | None = None
    """Whose they are, which is who is asked at the end of all redirects; None is the address that is asked first."""


class RateHeaders(msgspec.Struct, frozen=True):
    """How a source says in its answers that the allowance is used up; names in lower case."""

    remaining: str = "x-ratelimit-remaining"
    reset: str = "x-ratelimit-reset"
    unit: Literal["seconds", "epoch_seconds", "epoch_millis"] = "seconds"
    """What `reset` counts: seconds from now, or the moment itself."""


class CallPace(msgspec.Struct, frozen=True):
    """A limit of its own for one kind of call, beside the host's: at most `per_second` requests."""

    name: str
    per_second: float


class Ask(msgspec.Struct, frozen=True):
    """One request, wanted by a connector. `net` adds the User-Agent, paces it, guards it and caps it."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = {}
    body: bytes | None = None
    validators: Validators = Validators()
    max_bytes: int = DEFAULT_CAP
    """After decoding; the cap on the wire is the same."""
    accept_statuses: frozenset[int] = frozenset()
    """Statuses beyond 2xx and 304 that the connector reads itself instead of having them raised."""
    rate_headers: RateHeaders | None = None
    """The headers with this source's limits, if it does not use Retry-After."""
    pace: CallPace | None = None
    """Where this call has a limit of its own."""


class Hop(msgspec.Struct, frozen=True):
    """One redirect that was followed."""

    status: int
    url: str
    """Where it led."""
    retry_after: str | None = None
    """The header of that answer, as sent."""


class Reply(msgspec.Struct, frozen=True):
    """What came back, decoded and within its caps. `headers` has lower-case names; repeated ones are joined by ', '."""

    url: str
    """The final address, after redirects."""
    status: int
    headers: Mapping[str, str]
    body: bytes
    received_at: Millis
    hops: tuple[Hop, ...] = ()
    retried: tuple[tuple[int, int], ...] = ()
    """Rate limits that were waited out before this came: the status, and for how many milliseconds."""

    @property
    def validators(self) -> Validators:
        """As received; None where the answer had none."""
        etag, last_modified = self.headers.get("etag"), self.headers.get("last-modified")
        return Validators() if etag is None and last_modified is None else Validators(etag, last_modified, self.url)

    @property
    def charset(self) -> str | None:
        """The charset that the answer's header names."""
        return charset_of(self.headers.get("content-type", ""))


def charset_of(content_type: str) -> str | None:
    """The charset parameter of a Content-Type header."""
    found = _CHARSET.search(content_type[:LONGEST_CONTENT_TYPE])
    return found.group(1) if found else None


class ReadFolder(msgspec.Struct, frozen=True):
    """List a folder below the source's root; answered by a tuple of `FileEntry`."""

    path: str


class ReadFile(msgspec.Struct, frozen=True):
    """The bytes of a file below the source's root, or of one entry of the archive at that path."""

    path: str
    entry: str | None = None
    max_bytes: int = DEFAULT_CAP


class ReadArchive(msgspec.Struct, frozen=True):
    """List the entries of a CBZ or ZIP below the source's root; answered by a tuple of `FileEntry`."""

    path: str


class DigestFile(msgspec.Struct, frozen=True):
    """By what devices know a file below the source's root; answered by its partial MD5."""

    path: str


class FileEntry(msgspec.Struct, frozen=True):
    """One file or folder, by its path relative to what was listed."""

    name: str
    is_folder: bool
    size: int
    modified_at: Millis


class Parse(msgspec.Struct, frozen=True):
    """Run a module-level function in the bounded process pool; answered by what it returns."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class Parsers(Protocol):
    """Runs module-level functions in other processes, each call within bounds of computing time and memory."""

    async def run(self, function: Callable[..., T], arguments: tuple[Any, ...]) -> T:
        """What the function returns. A SourceError when it raises one, or when it had to be ended."""


ReadLocal = ReadFolder | ReadFile | ReadArchive | DigestFile
LocalAnswer = bytes | str | tuple[FileEntry, ...]
Want = Ask | ReadLocal | Parse

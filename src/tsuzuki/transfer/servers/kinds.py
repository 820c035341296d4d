"""Which servers can be asked, and how somebody signs in there."""

from collections.abc import Mapping

import msgspec

SERVER_KINDS: Mapping[str, str] = {
    "miniflux": "Miniflux",
    "suwayomi": "Suwayomi",
    "komga": "Komga",
    "kavita": "Kavita",
}


class ServerLogin(msgspec.Struct, frozen=True, kw_only=True):
    """A server and who asks; used once, and stored nowhere."""

    kind: str
    url: str
    username: str = ""
    password: str

    def __repr__(self) -> str:
        """Without the secrets: this may appear in tracebacks and log lines."""
        return f"ServerLogin({self.kind})"

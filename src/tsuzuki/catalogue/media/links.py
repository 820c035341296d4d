"""Where a page gets a sound or a film from: addresses of ours, signed, good for a day or two.

The signature says that we have seen the address in an article, and when. It opens nothing by itself: the guard judges
every address when it is called, redirects included (CVE-2026-21885).
"""

from collections.abc import Callable

import msgspec

from tsuzuki.catalogue.images.store import secret_tx
from tsuzuki.catalogue.media.policy import Kind
from tsuzuki.catalogue.signing import KEY_SIZE, Signer, read_written, written
from tsuzuki.db import Database
from tsuzuki.model.errors import NotFound
from tsuzuki.model.times import DAY, Millis

PREFIX = "/api/v1/media/"
SECRET = "articles' media"  # noqa: S105  its name; the secret itself is nobody's to write down
NO_MEDIA = "There is no such recording."
TOO_OLD = "This link is too old. Open the article again."

_KINDS: dict[str, Kind] = {"audio": "audio", "video": "video"}


class Link(msgspec.Struct, frozen=True):
    """A sound or a film of an article."""

    kind: Kind
    """What its feed or its article says that it is."""
    address: str


class MediaLinks:
    """Makes and reads such addresses. They name a day, so that they stay the same while a page is looked at again."""

    def __init__(self, secret: bytes, clock: Callable[[], Millis]) -> None:
        self._signer = Signer(secret)
        self._clock = clock

    @classmethod
    async def open(
        cls, db: Database, random_bytes: Callable[[int], bytes], clock: Callable[[], Millis]
    ) -> "MediaLinks":
        """With the server's secret, made at its first start."""
        fresh = random_bytes(KEY_SIZE)
        return cls(await db.with_tx(lambda tx: secret_tx(tx, SECRET, fresh, clock())), clock)

    def url(self, link: Link) -> str:
        """Where a browser gets it."""
        terms = f"{link.kind}-{self._clock() // DAY + 2}"
        return f"{PREFIX}{terms}/{self._signer.sign(f'{terms} {link.address}')}/{written(link.address)}"

    def read(self, terms: str, seal: str, medium: str) -> Link:
        """What the parts of a URL of ours stand for; NotFound for one that we did not make, or that is too old."""
        address = read_written(medium)
        if address is None or not self._signer.is_ours(f"{terms} {address}", seal):
            raise NotFound(NO_MEDIA)
        kind, _, day = terms.partition("-")
        if self._clock() >= int(day) * DAY:
            raise NotFound(TOO_OLD)
        return Link(_KINDS[kind], address)

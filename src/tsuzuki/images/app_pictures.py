"""Addresses of pictures for apps: they work without a cookie, for as long as the device password they were made for."""

from collections.abc import Callable

import msgspec

from tsuzuki.db import Database
from tsuzuki.db.server_secrets import KEY_SIZE, secret_tx
from tsuzuki.images.articles import Signer, read_written, written
from tsuzuki.images.files import ImageSubject, at_address, cover_of, page_of
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import PublicId, ReleaseId, SeriesSourceId, read_id, read_number, show_id
from tsuzuki.model.times import Millis

PREFIX = "/pictures/"
SECRET = "apps' pictures"  # noqa: S105  its name; the secret itself is nobody's to write down
_NONE = "There is no such picture."


class AppPicture(msgspec.Struct, frozen=True):
    """What an address stands for, and the device password that it was made for."""

    password_id: PublicId
    subject: ImageSubject
    name: str
    """The name of a file made of it."""
    address: str = ""
    """The address of the picture in the article."""
    page: tuple[ReleaseId, int] | None = None


class AppPictures:
    """Signs and reads addresses with a secret that every process of this server shares."""

    def __init__(self, secret: bytes) -> None:
        self._signer = Signer(secret)

    @classmethod
    async def open(cls, db: Database, random_bytes: Callable[[int], bytes], now: Millis) -> "AppPictures":
        """Open it with the server's secret, which the first start makes."""
        fresh = random_bytes(KEY_SIZE)
        return cls(await db.with_tx(lambda tx: secret_tx(tx, SECRET, fresh, now)))

    def page(self, password_id: PublicId, release_id: ReleaseId, position: int) -> str:
        """The path of a page, counted from 0."""
        return self._path(password_id, "page", f"{release_id}-{position}")

    def cover(self, password_id: PublicId, series_source_id: int) -> str:
        """The path of a cover."""
        return self._path(password_id, "cover", str(series_source_id))

    def in_article(self, password_id: PublicId, address: str) -> str:
        """The path of a picture that an article shows."""
        return self._path(password_id, "article", written(address))

    def read(self, password: str, signature: str, kind: str, what: str) -> AppPicture:
        """What the parts of a path of ours stand for; NotFound for one that we did not make."""
        password_id = read_id(password)
        if password_id is None or not self._signer.is_ours(f"{password} {kind} {what}", signature):
            raise NotFound(_NONE)
        if kind == "article":
            address = read_written(what) or ""
            return AppPicture(password_id, at_address(address), "image", address)
        if kind == "cover":
            return AppPicture(password_id, cover_of(SeriesSourceId(_number(what))), f"cover-{what}")
        release, _, position = what.partition("-")
        page = ReleaseId(_number(release)), _number(position)
        return AppPicture(password_id, page_of(*page), f"{page[0]}-{page[1]:03}", page=page)

    def _path(self, password_id: PublicId, kind: str, what: str) -> str:
        password = show_id(password_id)
        return f"{PREFIX}{password}/{self._signer.sign(f'{password} {kind} {what}')}/{kind}/{what}"


def _number(text: str) -> int:
    number = read_number(text)
    if number is None:
        raise NotFound(_NONE)
    return number

"""Static files, read once and named by their content, so that a browser may keep them for ever.

Only a name that was found at the start is answered; no path is ever made out of a request (SEC-43).
"""

import hashlib
import mimetypes
from collections.abc import Iterator, Mapping
from importlib.resources.abc import Traversable

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.edge.routing import Resource, page
from tsuzuki.model.errors import NotFound

PREFIX = "/static/"
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "public, no-cache"


class Asset(msgspec.Struct, frozen=True):
    """One file."""

    content: bytes
    media_type: str
    etag: str
    hashed_name: str


class Assets:
    """The files below a folder: `url("app.css")` is `/static/app.0a1b2c3d4e5f.css`."""

    def __init__(self, folder: Traversable) -> None:
        self._by_name = {name: _asset(name, content) for name, content in _files(folder, "")}
        self._by_hashed_name: Mapping[str, Asset] = {asset.hashed_name: asset for asset in self._by_name.values()}

    def url(self, name: str) -> str:
        """Where a browser gets this file; KeyError for a file that we do not bring."""
        return PREFIX + self._by_name[name].hashed_name

    def resource(self) -> Resource:
        """All of them, below `/static/`."""
        return page(PREFIX + "{name:path}", self._answer)

    async def _answer(self, request: Request) -> Response:
        name = request.path_params["name"]
        if asset := self._by_hashed_name.get(name):
            return _respond(request, asset, _FOR_EVER)
        if asset := self._by_name.get(name):
            return _respond(request, asset, _ASK_AGAIN)
        raise NotFound("There is no such file.")


def _respond(request: Request, asset: Asset, cache: str) -> Response:
    headers = {"etag": asset.etag, "cache-control": cache}
    if asset.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(asset.content, headers=headers, media_type=asset.media_type)


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry.read_bytes()


def _asset(name: str, content: bytes) -> Asset:
    digest = hashlib.sha256(content).hexdigest()[:12]
    stem, dot, suffix = name.rpartition(".")
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Asset(content, media_type, f'"{digest}"', f"{stem}.{digest}{dot}{suffix}" if stem else f"{name}.{digest}")

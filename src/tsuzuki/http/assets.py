"""Static files, read once and named by their content, so that a browser may keep them for ever.

Only a name that was found at the start is answered; no path is ever made out of a request (SEC-43).
"""

import gzip
import hashlib
import mimetypes
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from importlib.resources.abc import Traversable

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import NotFound

PREFIX = "/static/"
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "public, no-cache"
_SMALL = 1024
_TEXTS = ("text/", "application/javascript", "application/json", "image/svg+xml")
_IMPORT = re.compile(rb'(\b(?:from|import)\s*)"(\.{1,2}/[\w./-]+\.js)"')


class Asset(msgspec.Struct, frozen=True):
    """One file; `packed` is its gzip, where that is worth it."""

    content: bytes
    media_type: str
    etag: str
    hashed_name: str
    packed: bytes | None


class Assets:
    """The files below a folder: `url("app.css")` is `/static/app.0a1b2c3d4e5f.css`."""

    def __init__(self, folder: Traversable) -> None:
        self._by_name = _Linker(dict(_files(folder, ""))).assets()
        self._by_hashed_name: Mapping[str, Asset] = {asset.hashed_name: asset for asset in self._by_name.values()}

    def url(self, name: str) -> str:
        """Where a browser gets this file; KeyError for a file that we do not bring."""
        return PREFIX + self._by_name[name].hashed_name

    def names(self, beginning: str = "") -> list[str]:
        """The files whose names begin so."""
        return [name for name in self._by_name if name.startswith(beginning)]

    def get(self, name: str) -> Asset:
        """The file itself; KeyError for one that we do not bring."""
        return self._by_name[name]

    def resource(self, made: Callable[[str], Asset | None] = lambda _: None) -> Resource:
        """The route of all assets, `/static/`; `made` has what is made in the language of the request, by its name."""

        async def answer(request: Request) -> Response:
            name = request.path_params["name"]
            if asset := self._by_hashed_name.get(name):
                return _respond(request, asset, _FOR_EVER)
            if asset := self._by_name.get(name):
                return _respond(request, asset, _ASK_AGAIN)
            if asset := made(name):
                shown = _respond(request, asset, _FOR_EVER if name == asset.hashed_name else _ASK_AGAIN)
                shown.headers.add_vary_header("accept-language")
                return shown
            raise NotFound("There is no such file.")

        return page(PREFIX + "{name:path}", answer)


class _Linker:
    """Names each file by its content. A script's name covers what it imports: it asks for that by its full name."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._done: dict[str, Asset] = {}

    def assets(self) -> dict[str, Asset]:
        return {name: self._asset(name, ()) for name in self._files}

    def _asset(self, name: str, importers: tuple[str, ...]) -> Asset:
        if name in importers:
            raise ValueError(f"Scripts import each other in a circle: {' > '.join((*importers, name))}.")
        if name not in self._done:
            self._done[name] = asset_of(name, self._linked(name, (*importers, name)))
        return self._done[name]

    def _linked(self, name: str, importers: tuple[str, ...]) -> bytes:
        content = self._files[name]
        if not name.endswith(".js"):
            return content

        def link(found: re.Match[bytes]) -> bytes:
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), found[2].decode()))
            if target not in self._files:
                raise ValueError(f"{name} imports {target}, which is not there.")
            return found[1] + f'"{PREFIX}{self._asset(target, importers).hashed_name}"'.encode()

        return _IMPORT.sub(link, content)


def _respond(request: Request, asset: Asset, cache: str) -> Response:
    headers = {"etag": asset.etag, "cache-control": cache}
    if asset.packed is not None:
        headers["vary"] = "accept-encoding"
    if asset.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if asset.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.packed, headers=headers | {"content-encoding": "gzip"}, media_type=asset.media_type)
    return Response(asset.content, headers=headers, media_type=asset.media_type)


def _files(folder: Traversable, prefix: str) -> Iterator[tuple[str, bytes]]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _files(entry, f"{prefix}{entry.name}/")
        else:
            yield prefix + entry.name, entry.read_bytes()


def asset_of(name: str, content: bytes) -> Asset:
    """A file of this name."""
    digest = hashlib.sha256(content).hexdigest()[:12]
    stem, dot, suffix = name.rpartition(".")
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    hashed = f"{stem}.{digest}{dot}{suffix}" if stem else f"{name}.{digest}"
    return Asset(content, media_type, f'"{digest}"', hashed, _packed(content, media_type))


def _packed(content: bytes, media_type: str) -> bytes | None:
    if len(content) < _SMALL or not media_type.startswith(_TEXTS):
        return None
    packed = gzip.compress(content, 9, mtime=0)
    return packed if len(packed) < len(content) else None

"""Names of files: which are pages or archives, and as addresses."""

from urllib.parse import parse_qsl, quote, unquote, urlencode

from tsuzuki.model.errors import Invalid
from tsuzuki.model.fetching import ReadFile

SCHEME = "local:"
IMAGES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".avif", ".jxl")
ARCHIVES = (".cbz", ".zip")
COVERS = ("cover", "folder", "poster", "thumbnail")
_HIDDEN = ("__MACOSX", "@eaDir")


def is_image(name: str) -> bool:
    """A page by its name; hidden files and what some systems strew about are none."""
    return name.lower().endswith(IMAGES) and not is_hidden(name)


def is_archive(name: str) -> bool:
    """A chapter in one file."""
    return name.lower().endswith(ARCHIVES) and not is_hidden(name)


def is_hidden(name: str) -> bool:
    """Any part of the path begins with a dot, or is known rubbish."""
    return any(part.startswith(".") or part in _HIDDEN for part in name.split("/"))


def stem(name: str) -> str:
    """The last part of a path without the ending of a page or archive."""
    last = name.rpartition("/")[2]
    return last[: last.rindex(".")] if last.lower().endswith((*IMAGES, *ARCHIVES)) else last


def address(path: str, entry: str | None = None) -> str:
    """`local:Series/Chapter%201.cbz?entry=001.jpg`: never an address that is fetched."""
    query = f"?{urlencode({'entry': entry}, quote_via=quote)}" if entry is not None else ""
    return f"{SCHEME}{quote(path)}{query}"


def read_of(url: str, max_bytes: int) -> ReadFile:
    """What to read for an address of ours; `Invalid` for any other. Whether it is below the root, the reader checks."""
    path, entry = parts(url)
    return ReadFile(path, entry=entry, max_bytes=max_bytes)


def parts(url: str) -> tuple[str, str | None]:
    """Path and entry of an address of ours."""
    if not url.startswith(SCHEME):
        raise Invalid(f"{url[:200]!r} is not an address of a local file.")
    path, _, query = url.removeprefix(SCHEME).partition("?")
    return unquote(path), dict(parse_qsl(query)).get("entry")

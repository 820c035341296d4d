"""The guide's sample site, out of its files."""

from pathlib import Path
from urllib.parse import urlsplit

from tests.connectors.builders import a_reply
from tsuzuki.model.errors import Unreachable

SITE = Path(__file__).parents[2] / "docs" / "sample-site"


def from_files(want):
    """What `python3 -m http.server` would answer."""
    path = SITE / urlsplit(want.url).path.lstrip("/")
    file = path / "index.html" if path.is_dir() else path
    if not file.is_file():
        raise Unreachable(f"{want.url} is not there.")
    return a_reply(file.read_bytes(), url=want.url)

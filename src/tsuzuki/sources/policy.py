"""Decisions about sources: matching of series, addresses, languages, health. Pure."""

import re
import unicodedata
from collections.abc import Callable
from typing import Literal

from tsuzuki.connectors.protocol import ConnectorInfo
from tsuzuki.model.errors import Problem
from tsuzuki.sources.types import Source

_SEPARATOR = "\x1f"


def match_key(title: str, author: str | None) -> str:
    """Title and author without case, accents, punctuation and spaces: equal keys mean the same work.

    A series whose author nobody names ends in the separator; `is_matchable` says that it matches nothing.
    """
    return f"{_plain(title)}{_SEPARATOR}{_plain(author or '')}"


def title_part(key: str) -> str:
    """What of such a key is the title's: that of a list which names no authors is compared with it alone."""
    return key.partition(_SEPARATOR)[0]


def is_matchable(key: str) -> bool:
    """Two works of one title differ by their authors, so an unknown author is no match."""
    title, _, author = key.partition(_SEPARATOR)
    return bool(title and author)


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return "".join(letter for letter in folded if letter.isalnum())


MOST_NAME = 100
MOST_SLUG = 120
MOST_CONNECTOR = 200
SLUG = r"^[a-z0-9-]+\Z"
CONNECTOR = r"^[a-z][a-z0-9-]*(\.[a-z0-9][a-z0-9_-]*)+\Z"
"""Reverse-domain: `com.example.name`."""
BAD_BASE_URL = "BaseURL must be a valid HTTPS URL"
BAD_SOURCE_URL = "SourceURL must be a valid HTTPS URL"

_LOCAL = "local:"
_IN_NAME = re.compile(r"\(([A-Za-z-]{2,10})\)\s*\Z")

Standing = Literal["ok", "failing", "disabled", "paused", "not_installed"]

IsCallable = Callable[[str], bool]
"""Whether a web address may be a source's: https, or http on a loopback that the operator opened."""


def address_problem(url: str, field: str, *, message: str, is_callable: IsCallable, is_local: bool) -> Problem | None:
    """What is wrong with an address; a folder's begins with `local:`."""
    fits = url.startswith(_LOCAL) if is_local else is_callable(url)
    return None if fits else Problem(field, message)


def is_folder(info: ConnectorInfo | None) -> bool:
    """Whether its sources are folders, which have no web addresses."""
    return info is not None and info.base_url.startswith(_LOCAL)


def source_standing(source: Source, *, is_installed: bool, is_paused: bool) -> Standing:
    """The state of a source, in one word for readers."""
    if not source.is_enabled:
        return "disabled"
    if not is_installed:
        return "not_installed"
    if is_paused:
        return "paused"
    return "failing" if source.consecutive_fails else "ok"


def language_of(name: str, info: ConnectorInfo | None, asked: str | None = None) -> str:
    """R9: a source has one language: the one that its config asks for, else the one that its name ends with, as in
    "MangaDex (EN)", else the connector's first.
    """
    if info is None:
        return "all"
    if asked is not None:
        return asked
    said = _IN_NAME.search(name)
    known = {language.lower(): language for language in info.languages}
    if said and said[1].lower() in known:
        return known[said[1].lower()]
    return "all" if "all" in info.languages else info.languages[0]

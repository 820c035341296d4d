"""Which comic a discovered series is. Pure."""

import unicodedata

_SEPARATOR = "\x1f"


def match_key(title: str, author: str | None) -> str:
    """Title and author without case, accents, punctuation and spaces: equal keys mean the same work.

    A series whose author nobody names ends in the separator; `is_matchable` says that it matches nothing.
    """
    return f"{_plain(title)}{_SEPARATOR}{_plain(author or '')}"


def is_matchable(key: str) -> bool:
    """Two works of one title are told apart by their authors, so an unknown author is no match."""
    title, _, author = key.partition(_SEPARATOR)
    return bool(title and author)


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    return "".join(letter for letter in folded if letter.isalnum())

"""XML as text: whatever a title or a name contains, what comes out is well-formed."""

import re
from collections.abc import Iterable, Mapping
from html import escape

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Everything that is no character of XML 1.0."""


def text(content: str, *, quote: bool = False) -> str:
    """The text, escaped; `quote` for an attribute."""
    return escape(_FORBIDDEN.sub("\ufffd", content), quote=quote)


def element(name: str, content: str, **attributes: str | int | None) -> str:
    """An element with a text in it."""
    return f"<{name}{attributes_of(attributes)}>{text(content)}</{name}>"


def empty(name: str, **attributes: str | int | None) -> str:
    """An element without content."""
    return f"<{name}{attributes_of(attributes)}/>"


def attributes_of(attributes: Mapping[str, str | int | None]) -> str:
    """These attributes, each after a blank; those that are None are left out."""
    return "".join(
        f' {name}="{text(str(value), quote=True)}"' for name, value in attributes.items() if value is not None
    )


def document(parts: Iterable[str]) -> bytes:
    """The whole document, a part on each line."""
    return ("<?xml version='1.0' encoding='utf-8'?>\n" + "\n".join(parts) + "\n").encode()

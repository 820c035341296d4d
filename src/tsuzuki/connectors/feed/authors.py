"""Who wrote it, out of the ways feeds say so."""

import re

from tsuzuki.connectors.feed.text import looks_like_html
from tsuzuki.connectors.html.safe import plain_text

MAX_AUTHOR = 2000
"""Characters that are looked at."""
_EMAIL = re.compile(r"(?:mailto:)?([\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8})")


def author_of(text: str) -> str | None:
    """The name in `mail@example.org (Name)` and its relatives; the address itself where there is no name."""
    text = text[:MAX_AUTHOR]
    if ("<" in text or "&" in text) and looks_like_html(text):
        text = plain_text(text)
    found = _EMAIL.search(text) if "@" in text else None
    if found is None:
        return text.strip() or None
    name = text.replace(found.group(), "")
    for empty in ("()", "<>", "[]"):
        name = name.replace(empty, "")
    name = name.strip().removeprefix("(").removesuffix(")").strip()
    return name or found.group(1)

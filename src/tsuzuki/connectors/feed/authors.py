"""Who wrote it, out of the ways feeds say so."""

import re

_EMAIL = re.compile(r"[\w.+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}")


def author_of(text: str) -> str | None:
    """The name in `mail@example.org (Name)` and its relatives; the address itself where there is no name."""
    found = _EMAIL.search(text)
    if found is None:
        return text.strip() or None
    name = text.replace(found.group(), "")
    for empty in ("()", "<>", "&lt;&gt;", "mailto:"):
        name = name.replace(empty, "")
    name = name.strip().removeprefix("(").removesuffix(")").strip()
    return name or found.group()


def add_author(authors: list[str], name: str | None) -> None:
    """Note a name, once."""
    if name and name not in authors:
        authors.append(name)

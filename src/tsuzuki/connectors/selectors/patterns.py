"""Patterns of a definition. RE2 reads them in time linear in the text, whatever they say (SEC-21, SEC-26)."""

import re2

MAX_SUBJECT = 20_000


def pattern_problem(pattern: str) -> str | None:
    """Why RE2 does not take this pattern; None when it does and has at most one group."""
    try:
        groups = int(_compiled(pattern).groups)
    except re2.error as error:
        reason = error.args[0] if error.args else "not readable"
        return f"Not a pattern: {reason.decode(errors='replace') if isinstance(reason, bytes) else reason}."
    return "A pattern has at most one (group): the part that is wanted." if groups > 1 else None


def first_match(pattern: str, text: str) -> str | None:
    """What the pattern's group matches, or the whole match where it has none; None when nothing does."""
    compiled = _compiled(pattern)
    found = compiled.search(text[:MAX_SUBJECT])
    if found is None:
        return None
    matched: str | None = found.group(1 if compiled.groups else 0)
    return matched


def _compiled(pattern: str) -> "re2._Regexp":
    """RE2 keeps the last patterns compiled by itself."""
    options = re2.Options()
    options.max_mem = 1 << 20
    options.log_errors = False
    return re2.compile(pattern, options)

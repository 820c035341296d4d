"""Texts that are looked for within others."""


def like(text: str) -> str:
    """The pattern that finds this text anywhere, in any case, where a backslash escapes."""
    plain = text.lower().replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{plain}%"

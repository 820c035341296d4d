"""Character references of HTML as the characters that they stand for."""

import html
import re

_NO_CHARACTER = re.compile(r"&#(?:[0-9]{10,}|[xX][0-9a-fA-F]{9,});?")


def unescaped(text: str) -> str:
    """The text with `&amp;`, `&#38;` and their like read. Python refuses to read a number of thousands of digits."""
    if "&#" in text:
        text = _NO_CHARACTER.sub("\ufffd", text)
    return html.unescape(text)

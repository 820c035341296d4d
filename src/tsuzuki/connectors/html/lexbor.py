"""Markup as a tree. Its library, as all that reads what others wrote, is imported by parser processes alone."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

LIBRARIES = ("lxml.etree", "nh3", "selectolax.lexbor")
"""For `FOR_PARSERS` of modules whose functions run there."""


def parse_html(text: str, *, is_fragment: bool = False) -> "LexborHTMLParser":
    """The tree of a page, or of a part of one."""
    from selectolax.lexbor import LexborHTMLParser

    return LexborHTMLParser(text, is_fragment=is_fragment)

"""Comic-aware: an entry that is mostly images is a strip or a chapter, and its images are its pages."""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from tsuzuki.connectors.html.safe import SafeHtml, plain_text

WORDS_PER_IMAGE = 140
"""Characters of text that one image carries before the entry counts as an article."""
MAX_WORDS = 1000
_SMALL = 100
_DECORATION = re.compile(
    r"[/_.-](?:emojis?|avatars?|gravatar|smileys?|smilies|icons?|buttons?|badges?|share|logo)(?:[/_.\d-]|$)",
    re.IGNORECASE,
)
_ARTICLE = "video, audio, table, pre, h2, h3"


def pages_of(content: SafeHtml) -> tuple[str, ...]:
    """The addresses of an entry's pages, in order; none for an article that has pictures."""
    if "<img" not in content:
        return ()
    tree = LexborHTMLParser(content, is_fragment=True)
    if tree.css_first(_ARTICLE) is not None:
        return ()
    images = dict.fromkeys(source for image in tree.css("img") if (source := _page(image)))
    if not images or len(plain_text(content)) > min(WORDS_PER_IMAGE * len(images), MAX_WORDS):
        return ()
    return tuple(images)


def _page(image: LexborNode) -> str | None:
    """The address of an image large enough to be a page."""
    attributes = image.attributes
    source = attributes.get("src")
    if not source or _DECORATION.search(source.partition("://")[2]):
        return None
    sizes = (attributes.get("width") or "", attributes.get("height") or "")
    if any(size.isdecimal() and int(size) < _SMALL for size in sizes):
        return None
    return source

"""Comic-aware: an entry that is mostly images is a strip or a chapter, and its images are its pages."""

import re

from tsuzuki.connectors.html.safe import SafeHtml
from tsuzuki.model.entities import unescaped

WORDS_PER_IMAGE = 140
"""Characters of text that one image carries before the entry counts as an article."""
MAX_WORDS = 1000
_SMALL = 100
_DECORATION = re.compile(
    r"[/_.-](?:emojis?|avatars?|gravatar|smileys?|smilies|icons?|buttons?|badges?|share|logo)(?:[/_.\d-]|\Z)",
    re.IGNORECASE,
)
# The sanitiser writes one form of markup only, lower case and every value in double quotes: patterns can read it.
_ARTICLE = re.compile(r"<(?:video|audio|table|pre|h2|h3)[ >]")
_TAG = re.compile(r'<[^"<>]*+(?:"[^"]*+"[^"<>]*+)*+>')
_IMAGE = re.compile(r'<img((?: [a-z]+="[^"]*")*)>')
_ATTRIBUTE = re.compile(r' ([a-z]+)="([^"]*)"')


def pages_of(content: SafeHtml) -> tuple[str, ...]:
    """The addresses of an entry's pages, in order; none for an article that has pictures."""
    if "<img" not in content or _ARTICLE.search(content):
        return ()
    images = dict.fromkeys(source for image in _IMAGE.findall(content) if (source := _page(image)))
    most = min(WORDS_PER_IMAGE * len(images), MAX_WORDS)
    if not images or (len(content) > 6 * most and _length(content[: 6 * most]) > most) or _length(content) > most:
        return ()  # a long article shows in its beginning what it is, and need not be measured whole
    return tuple(images)


def _length(html: str) -> int:
    """How much there is to read."""
    return len(" ".join(unescaped(_TAG.sub(" ", html)).split()))


def _page(image: str) -> str | None:
    """The address of an image large enough to be a page."""
    attributes = dict(_ATTRIBUTE.findall(image))
    source = unescaped(attributes.get("src", ""))
    if not source or _DECORATION.search(source.partition("://")[2]):
        return None
    sizes = (attributes.get("width", ""), attributes.get("height", ""))
    return None if any(size.isdecimal() and int(size) < _SMALL for size in sizes) else source

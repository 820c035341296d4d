"""What a reader of elements needs to know of the document around them."""

from urllib.parse import urljoin

from lxml.etree import _Element as Element

from tsuzuki.connectors.feed.authors import author_of
from tsuzuki.connectors.feed.names import XML_BASE, Names
from tsuzuki.connectors.feed.raw import RawText
from tsuzuki.connectors.feed.text import text_of, words
from tsuzuki.connectors.html.addresses import http_url


class DocumentScope:
    """The document's kind and address, and the base that xml:base has set so far. Made once per document or entry."""

    __slots__ = ("base", "has_bases", "is_rss", "names", "url")

    def __init__(self, url: str, *, is_rss: bool, has_bases: bool, names: Names, base: str | None = None) -> None:
        self.url = url
        self.is_rss = is_rss
        self.has_bases = has_bases
        self.names = names
        self.base = base

    def within(self, element: Element) -> "DocumentScope":
        """The scope of an element's children."""
        if not self.has_bases or element.get(XML_BASE) is None:
            return self
        base = self.explicit_base(element)
        return DocumentScope(self.url, is_rss=self.is_rss, has_bases=True, names=self.names, base=base)

    def explicit_base(self, element: Element) -> str | None:
        """The base that the document itself sets for this element; None when it sets none."""
        own = element.get(XML_BASE) if self.has_bases else None
        if own is None:
            return self.base
        return http_url(own, self.base or self.url) or self.base

    def base_of(self, element: Element) -> str:
        """What addresses in this element are relative to."""
        return self.explicit_base(element) or self.url

    def address(self, text: str, element: Element) -> str | None:
        """The address that some text is, made absolute where it is relative; of any scheme."""
        if not text:
            return None
        base = self.base_of(element)
        try:
            return http_url(text, base) or urljoin(base, text)
        except ValueError:
            return text

    def text(self, element: Element, default: str, *, guess: bool = False) -> RawText | None:
        """A text construct. RSS has no types, so its plain text may turn out to be markup."""
        base = self.explicit_base(element)
        return text_of(element, self.names, default=default, base=base, guess=guess or self.is_rss)

    def person(self, element: Element) -> str | None:
        """An Atom person's name, else address; or the text of an RSS author."""
        if not len(element):
            return author_of(words(element))
        found = {self.names[child.tag].rpartition(":")[2]: child for child in element}
        said = [words(found[name]) for name in ("name", "email") if name in found]
        if not said and "uri" not in found and "url" not in found:
            return author_of(words(element))
        return next((author for text in said if (author := author_of(text))), None)

"""Articles as an EPUB 3: one document for each, a table of contents, and the pictures that were had."""

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from tsuzuki.books.archives import Archive, ArchiveMember, pack
from tsuzuki.books.comic_info import file_name
from tsuzuki.images.files import Image
from tsuzuki.images.formats import EXTENSIONS
from tsuzuki.model import xml
from tsuzuki.model.times import Millis, iso

EPUB: Final = "application/epub+zip"
_CONTAINER = (
    '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="EPUB/package.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
_END = "∎"
_STYLE = b"""body { line-height: 1.5; margin: 0 5%; }
h1 { line-height: 1.2; }
img { max-width: 100%; height: auto; }
pre { white-space: pre-wrap; }
.about { color: #555; font-size: .9em; }
"""


class BookArticle(msgspec.Struct, frozen=True, kw_only=True):
    """An article as it stands in a book."""

    title: str
    about: str
    """The line below the title: site, author and date."""
    link: str | None
    body: str
    """XHTML."""


class Book(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes an EPUB."""

    identifier: str
    title: str
    author: str
    changed_at: Millis
    """When its newest part changed, so that the same articles give the same bytes."""
    articles: Sequence[BookArticle]
    pictures: Sequence[Image]


def picture_path(place: int, picture: Image) -> str:
    """The path of a picture, relative to the documents of the book."""
    return f"images/{place:03}.{EXTENSIONS[picture.media_type]}"


def end_of_book(articles: int) -> str:
    """The place of its last line, as KOReader names places."""
    documents = articles + (articles > 1)
    return f"/body/DocFragment[{documents}]/body/p[2]"


def write_epub(book: Book) -> Archive:
    """The file; `mimetype` stands first in it, as readers that look at no more want it."""
    members = [
        ArchiveMember("mimetype", EPUB.encode()),
        ArchiveMember("META-INF/container.xml", xml.document([_CONTAINER])),
        ArchiveMember("EPUB/package.opf", xml.document(_package(book))),
        ArchiveMember("EPUB/nav.xhtml", xml.document(_page(book.title, _contents(book)))),
        ArchiveMember("EPUB/style.css", _STYLE),
    ]
    members += [
        ArchiveMember(f"EPUB/{_document_name(place)}", xml.document(_page(one.title, _article(one))))
        for place, one in enumerate(book.articles, 1)
    ]
    members += [ArchiveMember(f"EPUB/{picture_path(place, one)}", one) for place, one in enumerate(book.pictures, 1)]
    return pack(file_name(book.title, ".epub"), EPUB, members)


def _document_name(place: int) -> str:
    return f"article-{place:03}.xhtml"


def _package(book: Book) -> Iterator[str]:
    yield '<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">'
    yield '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
    yield xml.element("dc:identifier", book.identifier, id="id")
    yield xml.element("dc:title", book.title)
    yield xml.element("dc:language", "und")  # feeds do not say it of each article
    yield xml.element("dc:creator", book.author)
    yield xml.element("meta", f"{iso(book.changed_at)[:19]}Z", property="dcterms:modified")
    yield "</metadata><manifest>"
    yield '<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
    yield '<item id="style" href="style.css" media-type="text/css"/>'
    for place, _ in enumerate(book.articles, 1):
        yield _item(f"a{place}", _document_name(place), "application/xhtml+xml")
    for place, picture in enumerate(book.pictures, 1):
        yield _item(f"p{place}", picture_path(place, picture), picture.media_type)
    yield "</manifest><spine>"
    if len(book.articles) > 1:
        yield '<itemref idref="nav"/>'
    yield from (f'<itemref idref="a{place}"/>' for place, _ in enumerate(book.articles, 1))
    yield "</spine></package>"


def _item(identifier: str, href: str, media_type: str) -> str:
    return xml.empty("item", **{"id": identifier, "href": href, "media-type": media_type})


def _page(title: str, body: Iterator[str]) -> Iterator[str]:
    yield "<!DOCTYPE html>"
    yield '<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops">'
    yield f'<head>{xml.element("title", title)}<link rel="stylesheet" type="text/css" href="style.css"/></head><body>'
    yield from body
    yield "</body></html>"


def _contents(book: Book) -> Iterator[str]:
    yield xml.element("h1", book.title)
    yield '<nav epub:type="toc"><ol>'
    for place, one in enumerate(book.articles, 1):
        yield f"<li>{xml.element('a', one.title, href=_document_name(place))}</li>"
    yield "</ol></nav>"


def _article(one: BookArticle) -> Iterator[str]:
    yield xml.element("h1", one.title)
    yield xml.element("p", one.about, **{"class": "about"})
    yield one.body
    # There always is a last line (`end_of_book`).
    yield f"<p>{xml.element('a', one.link, href=one.link) if one.link else _END}</p>"

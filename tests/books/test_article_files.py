"""Articles as EPUB: valid files of whatever their publishers wrote, with the pictures that can be had."""

import zipfile
from io import BytesIO

import pytest
from lxml import etree

from tests.api.people import Visitor
from tests.app import Answer
from tests.images.builders import a_gallery, a_picture, on_sqlite
from tests.protocols.people import AppReader, an_app_reader
from tsuzuki.books.xhtml import to_xhtml
from tsuzuki.connectors.html.sanitiser import MAX_NESTING, sanitise
from tsuzuki.inbox.entries import EntryFilter
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.model.times import DAY, HOUR, Millis, iso

XHTML = "{http://www.w3.org/1999/xhtml}"
OPF = "{http://www.idpf.org/2007/opf}"


def opened(answer: Answer) -> zipfile.ZipFile:
    """The book, once it is known to be one."""
    assert answer.status == 200, answer.text
    assert answer.headers["content-type"] == "application/epub+zip"
    assert answer.body[30:58] == b"mimetypeapplication/epub+zip"  # where programs look that read no more
    archive = zipfile.ZipFile(BytesIO(answer.body))
    assert archive.testzip() is None
    for name in archive.namelist():
        if name.endswith((".xhtml", ".opf", ".xml")):
            etree.fromstring(archive.read(name))
    package = etree.fromstring(archive.read("EPUB/package.opf"))
    listed = {f"EPUB/{item.get('href')}" for item in package.iter(f"{OPF}item")}
    assert listed | {"mimetype", "META-INF/container.xml", "EPUB/package.opf"} == set(archive.namelist())
    ids = [item.get("id") for item in package.iter(f"{OPF}item")]
    assert len(ids) == len(set(ids))
    assert {item.get("idref") for item in package.iter(f"{OPF}itemref")} <= set(ids)
    return archive


async def a_visitor(reader: AppReader) -> Visitor:
    return await reader.app.signed_in(reader.user)


async def item_ids(reader: AppReader) -> list[int]:
    """Of its articles, the newest first."""
    wanted = EntryFilter(kind="item")
    page = await reader.app.inbox.list(reader.shelf, wanted, after=FROM_THE_TOP, most=100)
    return [entry.item_id for entry in page.rows if entry.item_id is not None]


async def test_an_article_is_a_book_with_its_pictures(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        ann = await an_app_reader(gallery.app, "fever")
        gallery.site.pictures["/pier.png"] = picture = a_picture(size=(300, 200))
        gallery.site.pictures["/gull.png"] = a_picture("WEBP", size=(1300, 200))
        shown = "".join(
            f'<img src="{gallery.site.url}/{name}.png" alt="a {name}">' for name in ("pier", "gull", "gone")
        )
        feed = await ann.add_feed("The Gull Letters")
        await ann.release(feed, 1, title="Wind & <i>waves</i>", author="Mara Quill", content=f"<p>Hello{shown}</p>")
        [item] = await item_ids(ann)
        answer = await (await a_visitor(ann)).get(f"/items/{item}/file")
        with opened(answer) as archive:
            assert archive.read("EPUB/images/001.png") == picture
            assert archive.read("EPUB/images/002.jpg")[:3] == b"\xff\xd8\xff"  # old readers know no WebP
            document = etree.fromstring(archive.read("EPUB/article-001.xhtml"))
        assert [image.get("src") for image in document.iter(f"{XHTML}img")] == ["images/001.png", "images/002.jpg"]
        text = str(document.xpath("string()"))
        assert "[a gone]" in text
        assert "The Gull Letters, Mara Quill, " in text
        page = await gallery.app.client.get(f"/items/{item}", headers=(await a_visitor(ann)).headers)
        assert f'href="/api/v1/items/{item}/file" download' in page.text
        again = await (await a_visitor(ann)).get(f"/items/{item}/file")
        assert again.body == answer.body
        assert 'filename="Wind &' in answer.headers["content-disposition"]
        other = await gallery.app.signed_in(await gallery.app.add())
        assert (await other.get(f"/items/{item}/file")).status == 404  # I8


async def test_the_articles_of_a_day_are_one_book(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        ann = await an_app_reader(gallery.app, "fever")
        feed = await ann.add_feed("The Gull Letters")
        await ann.release(feed, 3)
        gallery.app.time.pass_(DAY)
        begin = gallery.app.time()
        await ann.release(feed, 2, prefix="late", title="Late")
        visitor = await a_visitor(ann)
        page = await gallery.app.client.get("/import", headers=visitor.headers)
        assert 'href="/api/v1/items/-/digest" download' in page.text
        answer = await visitor.get("/items/-/digest")
        with opened(answer) as archive:
            assert [name for name in archive.namelist() if "article" in name] == [
                "EPUB/article-001.xhtml",
                "EPUB/article-002.xhtml",
            ]
            contents = etree.fromstring(archive.read("EPUB/nav.xhtml"))
        assert [link.text for link in contents.iter(f"{XHTML}a")] == ["Late", "Late"]
        early = await visitor.get(
            f"/items/-/digest?until={iso(Millis(begin - 1))}&since={iso(Millis(begin - 2 * DAY))}"
        )
        with opened(early) as archive:
            assert len([name for name in archive.namelist() if "article" in name]) == 3
        assert (await visitor.get(f"/items/-/digest?until={iso(Millis(begin - 3 * DAY))}")).status == 404
        assert (await visitor.get("/items/-/digest?until=0001-01-01T00:00:00Z")).status == 404
        assert (await visitor.get(f"/items/-/digest?since={iso(Millis(begin + HOUR))}")).status == 404


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ("<p>A &amp; B<br>C &lt; D</p>", "<p>A &amp; B<br/>C &lt; D</p>"),
        ("<center><tt>x</tt></center>", "<div><code>x</code></div>"),
        ('<a href="https://example.org/?a=1&amp;b=2">x</a>', '<a href="https://example.org/?a=1&amp;b=2">x</a>'),
        ('<img src="https://example.org/x.png" alt="a &quot;b&quot;">', "[a &quot;b&quot;]"),
        ('<img src="https://example.org/y.png" alt="y">', '<img src="images/001.png" alt="y"/>'),
        (
            '<video controls=""><source src="https://example.org/v.mp4"></video>',
            '<a href="https://example.org/v.mp4">https://example.org/v.mp4</a>',
        ),
        ("a&nbsp;b", "a\xa0b"),
    ],
)
def test_markup_becomes_xhtml(html, written):
    made = to_xhtml(sanitise(html, "https://example.org/"), {"https://example.org/y.png": "images/001.png"})
    assert made.replace("&quot;", '"') == f"<div>{written}</div>".replace("&quot;", '"')


def test_an_id_stands_once_in_a_document():
    assert to_xhtml('<p id="a">1</p><p id="a">2</p>', {}) == '<div><p id="a">1</p><p>2</p></div>'


def test_deep_and_broken_markup_is_well_formed():
    for html in (
        "<div>" * (MAX_NESTING - 5) + "deep",
        "<p><b>a<p>b</i>]]>\x01<!-- c --><svg><script>x</script></svg>",
        "<table><td>1<td>2<tr>3",
        "𠮷 &#0; &#xFFFF; <a href='javascript:x'>x</a>",
    ):
        etree.fromstring(to_xhtml(sanitise(html, "https://example.org/"), {}))


@on_sqlite
async def test_what_is_no_article_is_not_found(tmp_path, database_url):
    async with a_gallery(tmp_path, database_url) as gallery:
        for number in ("0", "-1", "x", "9" * 30, str(2**62)):
            assert (await gallery.reader.get(f"/items/{number}/file")).status == 404
        assert (await gallery.reader.get("/items/-/digest")).status == 404

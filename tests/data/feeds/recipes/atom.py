"""Atom 0.3 and 1.0: text constructs, links, people and bases."""

from tests.data.feeds.recipes.shapes import atom, atom03, entry, entry03

XHTML = '<div xmlns="http://www.w3.org/1999/xhtml"><p>A <b>bold</b> start &amp; <img src="i.png" alt="x"/></p></div>'


def _constructs() -> dict[str, bytes]:
    contents = {
        "text": "<content>1 &lt; 2 &amp; so on</content>",
        "text-typed": '<content type="text">plain &lt;b&gt; words</content>',
        "html": '<content type="html">&lt;p&gt;A &lt;b&gt;bold&lt;/b&gt; start&lt;/p&gt;</content>',
        "html-cdata": '<content type="html"><![CDATA[<p>A <b>bold</b> start</p>]]></content>',
        "xhtml": f'<content type="xhtml">{XHTML}</content>',
        "xhtml-prefixed": '<content type="xhtml"><h:div xmlns:h="http://www.w3.org/1999/xhtml"><h:p>x <h:br/>y</h:p>'
        "</h:div></content>",
        "mime-html": '<content type="text/html">&lt;p&gt;A&lt;/p&gt;</content>',
        "mime-plain": '<content type="text/plain">a &lt; b</content>',
        "src": '<content type="text/html" src="https://comic.example/full"/><summary>short</summary>',
        "summary-only": "<summary>short words</summary>",
        "summary-html": '<summary type="html">&lt;i&gt;short&lt;/i&gt;</summary>',
        "both": '<summary>short words</summary><content type="html">&lt;p&gt;long&lt;/p&gt;</content>',
        "empty": '<content type="html"></content>',
        "two-divs": '<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><div>one</div><div>two</div></div>'
        "</content>",
    }
    titles = {
        "html": '<title type="html">Salt &amp;amp; &lt;b&gt;Pepper&lt;/b&gt;</title>',
        "xhtml": '<title type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">The <i>Lamp</i></div></title>',
        "text": '<title type="text">1 &lt; 2 &amp;amp; 3</title>',
        "missing": "",
    }
    files = {f"atom10-content-{name}": atom(entry(inside)) for name, inside in contents.items()}
    for name, title in titles.items():
        files[f"atom10-title-{name}"] = atom(entry().replace("<title>Part 1</title>", title))
    return files


def _links() -> dict[str, bytes]:
    def linked(inside: str) -> bytes:
        return atom(entry().replace('<link href="https://comic.example/part/1"/>', inside))

    return {
        "atom10-link-relative": linked('<link href="part/1"/>'),
        "atom10-link-typed": linked('<link rel="alternate" type="text/html" href="https://comic.example/1"/>'),
        "atom10-link-other-type": linked(
            '<link rel="alternate" type="application/pdf" href="https://comic.example/1.pdf"/>'
        ),
        "atom10-link-many": linked('<link rel="edit" href="/e"/><link rel="self" href="/s"/><link href="/part/1"/>'),
        "atom10-link-enclosure": linked(
            '<link href="/1"/><link rel="enclosure" type="audio/mpeg" length="99" title="Sound" href="/1.mp3"/>'
        ),
        "atom10-link-replies": linked('<link href="/1"/><link rel="replies" type="text/html" href="/1#talk"/>'),
        "atom10-link-related": linked('<link href="/1"/><link rel="related" href="https://other.example/"/>'),
        "atom10-link-missing": linked("").replace(b"tag:comic.example,2024:1", b"https://comic.example/part/1"),
        "atom10-link-missing-tag-id": linked(""),
        "atom10-link-html-type": linked('<link rel="alternate" type="application/xhtml+xml" href="/x"/>'),
        "atom10-id-upper": linked('<link href="/1"/>').replace(b"tag:comic", b"TAG:comic"),
        "atom10-id-spaces": linked('<link href="/1"/>').replace(b"<id>tag", b"<id>\n  tag"),
    }


def _bases() -> dict[str, bytes]:
    picture = '<content type="html">&lt;img src="i.png"&gt; and words that follow</content>'
    return {
        "atom10-base-feed": atom(entry(picture), attributes=' xml:base="https://cdn.example/feed/"'),
        "atom10-base-entry": atom(entry(picture).replace("<entry>", '<entry xml:base="https://cdn.example/entry/">')),
        "atom10-base-content": atom(entry(picture.replace("<content", '<content xml:base="https://cdn.example/c/"'))),
        "atom10-base-nested": atom(
            entry(picture).replace("<entry>", '<entry xml:base="deeper/">'),
            attributes=' xml:base="https://cdn.example/a/"',
        ),
        "atom10-base-unsafe": atom(entry(picture), attributes=' xml:base="javascript:alert(1)"'),
        "atom10-base-link": atom(
            entry().replace("https://comic.example/part/1", "part/1"), attributes=' xml:base="https://cdn.example/b/"'
        ),
        "atom10-base-none": atom(entry(picture)),
    }


def _people() -> dict[str, bytes]:
    people = {
        "name": "<author><name>Ada Lamp</name></author>",
        "all": "<author><name>Ada Lamp</name><email>ada@comic.example</email><uri>https://ada.example/</uri></author>",
        "mail-only": "<author><email>ada@comic.example</email></author>",
        "two": "<author><name>Ada</name></author><author><name>Bo</name></author>",
        "contributor": "<author><name>Ada</name></author><contributor><name>Cy</name></contributor>",
        "empty": "<author><name></name></author>",
    }
    files = {f"atom10-author-{name}": atom(entry(inside)) for name, inside in people.items()}
    files["atom10-author-of-feed"] = atom(entry(), feed=people["all"])
    return files


def _rest() -> dict[str, bytes]:
    return {
        "atom10-empty": atom(),
        "atom10-many": atom(*(entry(number=n) for n in range(1, 9))),
        "atom10-language": atom(entry(), attributes=' xml:lang="pt_BR"'),
        "atom10-icon-and-logo": atom(entry(), feed="<icon>/favicon.png</icon><logo>/logo.png</logo>"),
        "atom10-logo": atom(entry(), feed="<logo>https://comic.example/logo.png</logo>"),
        "atom10-subtitle": atom(entry(), feed='<subtitle type="html">A &lt;b&gt;slow&lt;/b&gt; comic</subtitle>'),
        "atom10-generator": atom(entry(), feed='<generator uri="https://gen.example/" version="1">Gen</generator>'),
        "atom10-rights": atom(entry("<rights>mine</rights>"), feed="<rights>all mine</rights>"),
        "atom10-hub": atom(
            entry(), feed='<link rel="hub" href="https://hub.example/"/><link rel="self" href="https://comic.example/f"/>'
        ),
        "atom10-categories": atom(entry('<category term="c1" label="Comics"/><category term="slow"/>')),
        "atom10-category-text": atom(entry("<category>loose words</category>")),
        "atom10-source": atom(entry("<source><title>Elsewhere</title><id>x:1</id><updated>2001-01-01</updated>"
                                    '<link href="https://other.example/"/></source>')),
        "atom10-prefixed": atom(entry()).replace(b"<feed xmlns=", b"<a:feed xmlns:a=").replace(b"</feed>", b"</a:feed>")
        .replace(b"<entry>", b"<a:entry>").replace(b"</entry>", b"</a:entry>").replace(b"<title>", b"<a:title>")
        .replace(b"</title>", b"</a:title>").replace(b"<id>", b"<a:id>").replace(b"</id>", b"</a:id>")
        .replace(b"<link", b"<a:link").replace(b"<updated>", b"<a:updated>").replace(b"</updated>", b"</a:updated>"),
        "atom03-escaped": atom03(entry03('<content type="text/html" mode="escaped">&lt;p&gt;x&lt;/p&gt;</content>'
                                         "<issued>2004-03-01T10:00:00Z</issued><modified>2004-03-02T10:00:00Z</modified>")),
        "atom03-xml": atom03(entry03('<content type="application/xhtml+xml" mode="xml">'
                                     '<div xmlns="http://www.w3.org/1999/xhtml"><p>x</p></div></content>')),
        "atom03-base64": atom03(entry03('<content type="text/html" mode="base64">PHA+cGFja2VkPC9wPg==</content>')),
        "atom03-plain": atom03(entry03("<summary>words</summary><created>2004-03-01T09:00:00Z</created>")),
        "atom03-tagline": atom03(entry03(""), feed="<tagline>A slow comic</tagline><author><name>Ada</name></author>"),
    }  # fmt: skip


def recipes() -> dict[str, bytes]:
    files = _constructs() | _links() | _bases() | _people() | _rest()
    return {f"{name}.xml": body for name, body in files.items()}

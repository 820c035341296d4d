"""RSS 0.9x, 1.0 and 2.0: where titles, links, texts, authors and identities stand."""

from tests.data.feeds.recipes.shapes import XML, item, rdf, rdf_item, rss

ESCAPED = "&lt;p&gt;A &lt;b&gt;bold&lt;/b&gt; start.&lt;/p&gt;"
CDATA = "<![CDATA[<p>A <em>quiet</em> start &amp; more.</p>]]>"


def _bare(*items: str) -> bytes:
    return rss(*(f"<item>{inside}</item>" for inside in items))


def _text(value: str) -> bytes:
    return rss(item(f"<description>{value}</description>"))


def _titles() -> dict[str, bytes]:
    titles = {
        "plain": "A plain title",
        "ampersand": "Salt &amp; Pepper",
        "double-escaped": "Salt &amp;amp; Pepper",
        "less-than": "1 &lt; 2",
        "markup": "The &lt;i&gt;Lamp&lt;/i&gt;lighter",
        "cdata": "<![CDATA[Salt & Pepper]]>",
        "cdata-markup": "<![CDATA[The <b>Lamp</b>lighter]]>",
        "numeric": "Caf&#233; &#x2014; closed",
        "spread": "\n   Over\n   two lines  \n",
        "generic": "List&lt;String&gt; explained",
        "empty": "",
        "japanese": "第12話　続き",
        "emoji": "Rain \U0001f327 again",
        "rtl": "פרק ראשון",
    }
    return {f"rss20-title-{name}": _bare(f"<title>{title}</title><link>https://comic.example/1</link>")
            for name, title in titles.items()}  # fmt: skip


def _texts() -> dict[str, bytes]:
    texts = {
        "plain": "Just words.",
        "escaped": ESCAPED,
        "cdata": CDATA,
        "entities": "&amp;lt;not a tag&amp;gt; &amp;amp; so on",
        "newlines": "One line\nanother line\n\nand a paragraph",
        "split-cdata": "<![CDATA[<p>one ]]>&lt;b&gt;two&lt;/b&gt;<![CDATA[</p>]]>",
        "comment-inside": "before<!-- never shown -->after",
        "table": "<![CDATA[<table><tr><td>1</td><td>2</td></tr></table>]]>",
        "code": "<![CDATA[<pre><code>if a &lt; b:\n    pass</code></pre>]]>",
        "relative-images": '<![CDATA[<p>see <img src="/img/1.png" alt="One"> and <a href="../up">up</a></p>]]>',
        "unclosed-tags": "<![CDATA[<p>one<p>two<li>three]]>",
        "empty": "",
        "nbsp": "<![CDATA[a&nbsp;b &mdash; c&hellip;]]>",
        "inline-html": "<p>real <b>elements</b> here</p>",
    }
    return {f"rss20-description-{name}": _text(text) for name, text in texts.items()}


def _links() -> dict[str, bytes]:
    return {
        "rss20-link-relative": _bare("<title>x</title><link>/part/1</link>"),
        "rss20-link-spaces": _bare("<title>x</title><link>\n  https://comic.example/part/1  \n</link>"),
        "rss20-link-cdata": _bare("<title>x</title><link><![CDATA[https://comic.example/?a=1&b=2]]></link>"),
        "rss20-link-missing-guid-permalink": _bare("<title>x</title><guid>https://comic.example/part/1</guid>"),
        "rss20-link-missing-guid-opaque": _bare('<title>x</title><guid isPermaLink="false">abc-1</guid>'),
        "rss20-link-atom": rss(
            "<item><title>x</title><atom:link href='https://comic.example/part/1'/></item>", use=("atom",)
        ),
        "rss20-link-ftp": _bare("<title>x</title><link>ftp://comic.example/part/1</link><guid>g1</guid>"),
        "rss20-link-javascript": _bare("<title>x</title><link>javascript:alert(1)</link><guid>g1</guid>"),
        "rss20-link-fragment": _bare("<title>x</title><link>https://comic.example/#part-1</link>"),
        "rss20-link-unicode": _bare("<title>x</title><link>https://comic.example/第1話</link>"),
        "rss20-link-ipv6-broken": _bare("<title>x</title><link>https://[broken/part</link><guid>g1</guid>"),
        "rss20-guid-relative": _bare("<title>x</title><guid>/part/1</guid>"),
        "rss20-guid-case": _bare('<title>x</title><guid ispermalink="FALSE">abc</guid>'),
        "rss20-guid-empty": _bare("<title>x</title><guid></guid><link>https://comic.example/part/1</link>"),
        "rss20-guid-same-on-all": _bare(
            *(f"<title>{n}</title><link>https://comic.example/{n}</link><guid isPermaLink='false'>7</guid>"
              for n in range(3))
        ),
        "rss20-guid-tracking": _bare("<title>x</title><guid>http://comic.example/1?utm_source=rss&amp;id=4</guid>"),
        "rss20-guid-session": _bare("<title>x</title><guid>http://comic.example/1;jsessionid=A1B2?id=4</guid>"),
        "rss20-no-identity": _bare("<title>Only a title</title><description>and words</description>"),
        "rss20-item-repeated": rss(item(), item()),
        "rss20-nothing-in-item": _bare("", "<title>x</title>"),
    }  # fmt: skip


def _authors() -> dict[str, bytes]:
    authors = {
        "mail-and-name": "<author>ada@comic.example (Ada Lamp)</author>",
        "name-and-mail": "<author>Ada Lamp &lt;ada@comic.example&gt;</author>",
        "mail-only": "<author>ada@comic.example</author>",
        "name-only": "<author>Ada Lamp</author>",
        "creator": "<dc:creator>Ada Lamp</dc:creator>",
        "creator-cdata": "<dc:creator><![CDATA[Ada & Bo]]></dc:creator>",
        "two-creators": "<dc:creator>Ada Lamp</dc:creator><dc:creator>Bo Wick</dc:creator>",
        "atom-person": "<atom:author><atom:name>Ada Lamp</atom:name></atom:author>",
    }
    return {f"rss20-author-{name}": rss(item(inside), use=("dc", "atom")) for name, inside in authors.items()}


def _feeds() -> dict[str, bytes]:
    channel = {
        "language": "<language>ja_JP</language>",
        "image": "<image><url>/logo.png</url><title>T</title><link>https://comic.example/</link></image>",
        "ttl": "<ttl>90</ttl>",
        "ttl-broken": "<ttl>soon</ttl>",
        "syndication": "<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>",
        "hub-and-self": '<atom:link rel="hub" href="https://hub.example/"/>'
        '<atom:link rel="self" href="https://comic.example/rss" type="application/rss+xml"/>',
        "editor": "<managingEditor>ed@comic.example (Ed Itor)</managingEditor><webMaster>w@comic.example</webMaster>",
        "skip": "<skipHours><hour>1</hour></skipHours><skipDays><day>Sunday</day></skipDays><cloud domain='x'/>",
        "text-input": "<textInput><title>Search</title><name>q</name><link>https://comic.example/s</link></textInput>",
    }
    files = {
        f"rss20-channel-{name}": rss(item(), channel=inside, use=("sy", "atom")) for name, inside in channel.items()
    }
    return files | {
        "rss20-empty-channel": rss(),
        "rss20-many": rss(*(item(f"<description>{CDATA}</description>", number=n) for n in range(1, 9))),
        "rss20-categories": rss(item("<category>Comics</category><category domain='x'>Slow &amp; sad</category>")),
        "rss20-category-repeated": rss(item("<category>Comics</category><category>Comics</category><category/>")),
        "rss20-comments": rss(item("<comments>https://comic.example/part/1#talk</comments>")),
        "rss20-enclosure": rss(item('<enclosure url="https://cdn.example/1.mp3" length="1234" type="audio/mpeg"/>')),
        "rss20-enclosure-broken-length": rss(item('<enclosure url="/1.mp3" length="many" type="AUDIO/MPEG"/>')),
        "rss20-enclosure-image": rss(item('<enclosure url="https://cdn.example/1.jpg" length="0" type="image/jpeg"/>')),
        "rss20-enclosure-without-url": rss(item('<enclosure length="1" type="audio/mpeg"/>')),
        "rss20-enclosures-two": rss(item('<enclosure url="/1.mp3"/><enclosure url="/1.ogg" type="audio/ogg"/>')),
        "rss20-source": rss(item('<source url="https://other.example/rss">Another title</source>')),
        "rss20-encoded": rss(item(f"<description>short</description><content:encoded>{CDATA}</content:encoded>"),
                             use=("content",)),
        "rss20-encoded-first": rss(item(f"<content:encoded>{CDATA}</content:encoded><description>short</description>"),
                                   use=("content",)),
        "rss20-encoded-same": rss(item(f"<description>{CDATA}</description><content:encoded>{CDATA}</content:encoded>"),
                                  use=("content",)),
        "rss20-upper-case-tags": rss("<ITEM><TITLE>Loud</TITLE><LINK>https://comic.example/1</LINK></ITEM>"),
        "rss20-unknown-elements": rss(item("<price currency='eur'>3</price><x><title>inner</title></x>")),
        "rss20-default-namespace": rss(item()).replace(b"<rss ", b'<rss xmlns="http://backend.userland.com/rss2" '),
        "rss20-xml-base": rss(item('<description>&lt;img src="a.png"&gt; text</description>')).replace(
            b"<item>", b'<item xml:base="https://cdn.example/dir/">'),
        "rss20-doctype": rss(item()).replace(
            b"<rss", b'<!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://my.netscape.com/rss-0.91.dtd">\n<rss'),
        "rss20-stylesheet": rss(item()).replace(b"<rss", b'<?xml-stylesheet type="text/xsl" href="/x.xsl"?>\n<rss'),
        "rss20-comment-before": rss(item()).replace(b"<rss", b"<!-- made by hand -->\n<rss"),
        "rss20-items-outside-channel": rss().replace(b"</channel>", b"</channel>" + item().encode()),
        "rss091": rss(item(), version="0.91"),
        "rss092": rss(item('<enclosure url="/1.mp3" length="3" type="audio/mpeg"/>'), version="0.92"),
        "rss093": rss(item("<pubDate>Fri, 01 Mar 2024 10:00:00 GMT</pubDate>"), version="0.93"),
        "rss094": rss(item(), version="0.94"),
        "rss-without-version": rss(item()).replace(b' version="2.0"', b""),
    }  # fmt: skip


def _rdf() -> dict[str, bytes]:
    rss090 = rdf("<item><title>Part 1</title><link>https://comic.example/1</link></item>").replace(
        b'"http://purl.org/rss/1.0/"', b'"http://my.netscape.com/rdf/simple/0.9/"'
    )
    return {
        "rss090": rss090,
        "rss10-plain": rdf(rdf_item(), rdf_item(number=2)),
        "rss10-dublin-core": rdf(
            rdf_item("<dc:creator>Ada</dc:creator><dc:date>2024-03-01T10:00:00+01:00</dc:date>"
                     "<dc:subject>Comics</dc:subject>"),
            use=("dc",), channel="<dc:language>de</dc:language><dc:creator>Ed</dc:creator>",
        ),
        "rss10-encoded": rdf(rdf_item(f"<description>s</description><content:encoded>{CDATA}</content:encoded>"),
                             use=("content",)),
        "rss10-syndication": rdf(rdf_item(), use=("sy",), channel="<sy:updatePeriod>hourly</sy:updatePeriod>"),
        "rss10-image": rdf('<image rdf:about="x"><title>t</title><url>https://comic.example/i.png</url></image>',
                           rdf_item()),
        "rss10-without-about": rdf("<item><title>Part 1</title><link>https://comic.example/1</link></item>"),
    }  # fmt: skip


def recipes() -> dict[str, bytes]:
    files = _titles() | _texts() | _links() | _authors() | _feeds() | _rdf()
    files["rss20-declaration-late"] = b"\n\n" + rss(item())
    files["rss20-no-declaration"] = rss(item()).removeprefix(XML.encode())
    return {f"{name}.xml": body for name, body in files.items()}

"""Media RSS, podcasts, YouTube, and bodies that are comics or carry trackers."""

from tests.data.feeds.recipes.shapes import atom, entry, item, rss

STRIP = '<![CDATA[<p><img src="/strips/{n}.png" alt="strip" title="hidden joke"></p>]]>'


def _media() -> dict[str, bytes]:
    cases = {
        "thumbnail": '<media:thumbnail url="https://cdn.example/t.jpg" width="75"/>',
        "thumbnails-two": '<media:thumbnail url="/a.jpg"/><media:thumbnail url="/b.jpg"/>',
        "thumbnail-text": "<media:thumbnail>https://cdn.example/t.jpg</media:thumbnail>",
        "content-image": '<media:content url="https://cdn.example/i.jpg" medium="image" type="image/jpeg"/>',
        "content-video": '<media:content url="/v.mp4" type="video/mp4" fileSize="99" duration="61" medium="video"/>',
        "content-nested": '<media:content url="/i.jpg" medium="image"><media:thumbnail url="/t.jpg"/></media:content>',
        "group": '<media:group><media:content url="/v.mp4"/><media:thumbnail url="/t.jpg"/></media:group>',
        "keywords": "<media:keywords>ink, rain,,  lamps</media:keywords>",
        "category": "<media:category>comic/strip</media:category>",
        "title-beside": "<media:title>Not the title</media:title>",
        "description-only": "<media:description>Words about the picture</media:description>",
        "description-beside": "<description>own words</description><media:description>other words</media:description>",
        "old-namespace": '<media:thumbnail url="https://cdn.example/t.jpg"/>',
        "credit": '<media:credit role="artist">Ada</media:credit><media:rating>nonadult</media:rating>',
        "javascript": '<media:thumbnail url="javascript:alert(1)"/><media:content url="data:image/png;base64,AA"/>',
    }
    files = {f"media-{name}": rss(item(inside), use=("media",)) for name, inside in cases.items()}
    files["media-old-namespace"] = files["media-old-namespace"].replace(b"/mrss/", b"/mrss")
    return files


def _podcasts() -> dict[str, bytes]:
    sound = '<enclosure url="https://cdn.example/1.mp3" length="1000" type="audio/mpeg"/>'
    cases = {
        "episode": sound + "<itunes:episode>12</itunes:episode><itunes:duration>1:02:03</itunes:duration>",
        "duration-seconds": sound + "<itunes:duration>3723</itunes:duration>",
        "duration-minutes": sound + "<itunes:duration>62:03</itunes:duration>",
        "duration-broken": sound + "<itunes:duration>long</itunes:duration>",
        "image": sound + '<itunes:image href="https://cdn.example/e.jpg"/>',
        "keywords": sound + "<itunes:keywords>talk, lamps</itunes:keywords>",
        "author": sound + "<itunes:author>Ada Lamp</itunes:author>",
        "summary-only": sound + "<itunes:summary>What it is about</itunes:summary>",
        "summary-beside": sound + "<description>own words</description><itunes:summary>other words</itunes:summary>",
        "subtitle": sound + "<itunes:subtitle>In short</itunes:subtitle>",
        "title-beside": sound + "<itunes:title>Without number</itunes:title>",
        "explicit": sound + "<itunes:explicit>yes</itunes:explicit><itunes:block>no</itunes:block>",
        "index-episode": sound + "<podcast:episode>204.5</podcast:episode>",
        "chapters": sound + '<podcast:chapters url="https://cdn.example/c.json" type="application/json+chapters"/>',
    }
    files = {f"podcast-{name}": rss(item(inside), use=("itunes", "podcast")) for name, inside in cases.items()}
    channel = {
        "image": '<itunes:image href="https://cdn.example/p.jpg"/>',
        "author": "<itunes:author>Ada Lamp</itunes:author>",
        "owner": "<itunes:owner><itunes:name>Own Er</itunes:name><itunes:email>o@x.org</itunes:email></itunes:owner>",
        "summary": "<itunes:summary>All about lamps</itunes:summary>",
        "subtitle": "<itunes:subtitle>All about lamps</itunes:subtitle>",
        "categories": '<itunes:category text="Arts"><itunes:category text="Design"/></itunes:category>',
    }
    for name, inside in channel.items():
        files[f"podcast-channel-{name}"] = rss(item(sound), channel=inside, use=("itunes",))
    return files


def _youtube() -> dict[str, bytes]:
    group = (
        '<media:group><media:title>Part 1</media:title><media:content url="https://www.youtube.com/v/abc?version=3" '
        'type="application/x-shockwave-flash" width="640" height="390"/><media:thumbnail '
        'url="https://i1.ytimg.com/vi/abc/hqdefault.jpg" width="480" height="360"/><media:description>First line\n\n'
        'Second paragraph</media:description><media:community><media:starRating count="1" average="5.00"/>'
        "</media:community></media:group>"
    )
    video = entry(
        f"<yt:videoId>abc</yt:videoId><yt:channelId>UC1</yt:channelId><author><name>Lamp TV</name></author>{group}"
    )
    return {"youtube-channel": atom(video, use=("yt", "media"), feed="<yt:channelId>UC1</yt:channelId>")}


def _comics() -> dict[str, bytes]:
    lazy = '<![CDATA[<img src="data:image/gif;base64,R0lGOD" data-src="/p/1.jpg"><img data-lazy-src="/p/2.jpg">]]>'
    fallback = '<![CDATA[<img class="lazy" src="/blank.gif"><noscript><img src="/p/1.jpg"></noscript>]]>'
    pixel = '<![CDATA[<p>words</p><img src="https://pixel.wp.com/b.gif?x=1" width="1" height="1">]]>'
    article = "<![CDATA[<p>" + "Many words about a picture. " * 20 + '</p><img src="/one.jpg">]]>'
    bodies = {
        "comic-strip": STRIP.format(n=1),
        "comic-pages": "<![CDATA[" + "".join(f'<img src="/p/{n}.jpg">' for n in range(1, 6)) + "]]>",
        "comic-lazy": lazy,
        "comic-noscript": fallback,
        "comic-srcset": '<![CDATA[<img srcset="/p/1-400.jpg 400w, /p/1-1600.jpg 1600w" sizes="100vw">]]>',
        "comic-article": article,
        "body-pixel": pixel,
        "body-script": "<![CDATA[<p onclick='x()'>words</p><script>alert(1)</script><style>p{}</style>]]>",
        "body-frame": '<![CDATA[<iframe src="https://www.youtube.com/embed/abc"></iframe><iframe src="//x.org/">]]>',
        "body-form": '<![CDATA[<form action="/x"><input name="a"><button>Go</button>words</form>]]>',
        "body-video": '<![CDATA[<video poster="p.jpg" src="v.mp4" autoplay></video>]]>',
    }
    return {name: rss(item(f"<description>{body}</description>")) for name, body in bodies.items()}


def _wordpress() -> dict[str, bytes]:
    inside = (
        "<comments>https://comic.example/part/1/#comments</comments><dc:creator><![CDATA[ada]]></dc:creator>"
        "<pubDate>Fri, 01 Mar 2024 10:20:30 +0000</pubDate><category><![CDATA[Updates]]></category>"
        "<description><![CDATA[A teaser [&#8230;]]]></description>"
        "<content:encoded><![CDATA[<p>The whole <strong>text</strong> &#8211; here.</p>]]></content:encoded>"
        "<wfw:commentRss>https://comic.example/part/1/feed/</wfw:commentRss><slash:comments>3</slash:comments>"
    )
    channel = (
        '<atom:link href="https://comic.example/feed/" rel="self" type="application/rss+xml"/>'
        "<lastBuildDate>Fri, 01 Mar 2024 10:20:31 +0000</lastBuildDate><language>en-US</language>"
        "<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>1</sy:updateFrequency>"
        "<generator>https://wordpress.org/?v=6.4</generator>"
    )
    uses = ("content", "wfw", "dc", "atom", "sy", "slash")
    return {"wordpress": rss(item(inside), item(inside, number=2), channel=channel, use=uses)}


def recipes() -> dict[str, bytes]:
    files = _media() | _podcasts() | _youtube() | _comics() | _wordpress()
    return {f"{name}.xml": body for name, body in files.items()}

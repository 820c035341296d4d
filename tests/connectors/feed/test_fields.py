"""What the elements of feeds and their extensions become."""

import re
from decimal import Decimal
from urllib.parse import urljoin

import pytest

from tests.connectors.feed.builders import URL, harvest_of, item_of
from tests.data.feeds.make import corpus
from tests.data.feeds.recipes.shapes import atom, entry, item, rdf, rdf_item, rss
from tsuzuki.connectors.feed.elements import author_of
from tsuzuki.connectors.feed.items import length_of, seconds_of
from tsuzuki.connectors.feed.lenient import read_leniently
from tsuzuki.connectors.feed.parser import parse_anyhow
from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.times import HOUR, MINUTE


def first(name: str):
    return parse_anyhow(corpus()[name], URL).items[0]


def test_the_full_text_is_content_and_the_short_summary():
    found = first("rss20-encoded.xml")
    assert found.content == "<p>A <em>quiet</em> start &amp; more.</p>"
    assert found.summary == "short"
    assert first("rss20-encoded-same.xml").summary is None
    assert first("rss20-description-cdata.xml").summary is None


def test_plain_text_keeps_its_lines():
    assert first("rss20-description-newlines.xml").content == "<p>One line<br>another line</p><p>and a paragraph</p>"
    assert first("youtube-channel.xml").content == "<p>First line</p><p>Second paragraph</p>"
    text = item_of("<itunes:summary>One line\nanother\n\nand a paragraph</itunes:summary>", use=("itunes",))
    assert text.content == "<p>One line<br>another</p><p>and a paragraph</p>"


def test_a_youtube_entry_has_its_video_picture_and_no_flash():
    found = first("youtube-channel.xml")
    assert found.image_url == "https://i1.ytimg.com/vi/abc/hqdefault.jpg"
    assert found.enclosures == ()
    assert found.author == "Lamp TV"
    assert found.title == "Part 1"


def test_a_podcast_episode_has_number_duration_and_picture():
    found = item_of(
        '<enclosure url="/1.mp3" length="1000" type="audio/mpeg"/><itunes:episode>12</itunes:episode>'
        '<itunes:duration>1:02:03</itunes:duration><itunes:image href="/e.jpg"/>',
        use=("itunes",),
    )
    assert found.number == Decimal(12)
    assert found.enclosures == (Enclosure("https://comic.example/1.mp3", "audio/mpeg", 1000, None, 3723),)
    assert found.image_url == "https://comic.example/e.jpg"
    assert first("podcast-index-episode.xml").number == Decimal("204.5")


@pytest.mark.parametrize("number", ["", "twelve", "NaN", "Infinity", "1e99", "1e999999", "1e-999999", "1" * 5_000])
def test_a_number_that_is_none_is_none(number: str):
    assert item_of(f"<itunes:episode>{number}</itunes:episode>", use=("itunes",)).number is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1:02:03", 3723), ("62:03", 3723), ("3723", 3723), ("3723.5", 3723), ("61 sec", 61), ("long", None), ("", None),
     (None, None), ("1:2:3:4", None), ("-5", None)],
)  # fmt: skip
def test_durations(text: str | None, seconds: int | None):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("text", "length"), [("10", 10), (" 10 ", 10), ("0", None), ("many", None), ("-1", None), ("²", None)]
)
def test_lengths(text: str, length: int | None):
    assert length_of(text) == length


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ada@comic.example (Ada Lamp)", "Ada Lamp"),
        ("Ada Lamp <ada@comic.example>", "Ada Lamp"),
        ("ada@comic.example", "ada@comic.example"),
        ("Ada Lamp", "Ada Lamp"),
        ("Ada Lamp (mailto:ada@comic.example)", "Ada Lamp"),
        ("mailto:ada@comic.example (Ada Lamp)", "Ada Lamp"),
        ("mailto:ada@comic.example", "ada@comic.example"),
        ('<a href="https://comic.example/ada">Ada</a> <b>Lamp</b>', "Ada Lamp"),
        ('<a href="mailto:ada@comic.example">Ada Lamp</a>', "Ada Lamp"),
        ("Ada Lamp &lt;ada@comic.example&gt;", "Ada Lamp"),
        ("Ada &amp; Bo", "Ada & Bo"),
        ("Ada <3", "Ada <3"),
        ("Ada Lamp (MAILTO:ada@comic.example)", "Ada Lamp"),
        ("Ada Lamp - ada@comic.example", "Ada Lamp"),
        ("ada@comic.example (mailto:ada@comic.example)", "ada@comic.example"),
        ("ada@comic.example, bo@comic.example", "ada@comic.example, bo@comic.example"),
        ("<img src='/ada.png'/>Ada<br>Lamp", "Ada Lamp"),
        ("  ", None),
    ],
)
def test_authors(text: str, name: str | None):
    assert author_of(text) == name


def test_an_author_with_markup_inside_is_their_words():
    assert item_of("<author>Ada <b>Lamp</b></author>").author == "Ada Lamp"
    person = "<author><name>&lt;i&gt;Ada&lt;/i&gt;</name><uri>https://x.example/</uri></author>"
    assert parse_anyhow(atom(entry(person)), URL).items[0].author == "Ada"
    assert parse_anyhow(atom(entry("<author><uri>https://x.example/</uri></author>")), URL).items[0].author is None


def test_several_authors_are_all_named():
    assert first("rss20-author-two-creators.xml").author == "Ada Lamp, Bo Wick"


def test_categories_come_from_every_way_of_naming_them():
    found = item_of(
        "<category>a</category><category/><category>a</category><dc:subject>b</dc:subject>"
        "<itunes:keywords>c, d</itunes:keywords><media:category>e</media:category>",
        use=("dc", "itunes", "media"),
    )
    assert found.categories == ("a", "b", "c", "d", "e")


def test_a_thumbnail_is_preferred_as_the_items_picture():
    found = item_of(
        '<enclosure url="/4.jpg" type="image/jpeg"/><media:content url="/3.jpg" medium="image"/>'
        '<itunes:image href="/2.jpg"/><media:thumbnail url="/1.jpg"/>',
        use=("media", "itunes"),
    )
    assert found.image_url == "https://comic.example/1.jpg"
    assert [enclosure.url[-5:] for enclosure in found.enclosures] == ["4.jpg", "3.jpg"]


def test_what_a_publisher_wishes_between_two_calls():
    assert harvest_of(channel="<ttl>90</ttl>").ttl == 90 * MINUTE
    assert harvest_of(channel="<ttl>soon</ttl>").ttl is None
    assert harvest_of(channel="<ttl>0</ttl>").ttl is None
    period = "<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>{}</sy:updateFrequency>"
    assert harvest_of(channel=period.format(4), use=("sy",)).ttl == 6 * HOUR
    assert harvest_of(channel=period.format("often"), use=("sy",)).ttl == 24 * HOUR
    assert harvest_of().ttl is None
    both = "<ttl>60</ttl>" + period.format(1)
    assert harvest_of(channel=both, use=("sy",)).ttl == 24 * HOUR, "R94: no sooner than either"


def test_skip_hours_and_skip_days_are_read():
    hours = "<skipHours><hour>23</hour><hour>24</hour><hour> 7 </hour><hour>99</hour><hour>x</hour></skipHours>"
    days = "<skipDays><day>Sunday</day><day>monday</day><day>Someday</day></skipDays>"
    harvest = harvest_of(channel=hours + days)
    assert (harvest.skip_hours, harvest.skip_days) == ((0, 7, 23), (0, 6))
    assert (harvest_of().skip_hours, harvest_of().skip_days) == ((), ())


def test_what_a_feed_says_of_itself():
    harvest = parse_anyhow(
        atom(
            feed="<subtitle>slow</subtitle><icon>/i.png</icon><logo>/l.png</logo><author><name>Ada</name></author>"
            '<link rel="hub" href="https://hub.example/"/><link rel="self" href="/feed"/>',
            attributes=' xml:lang="pt_BR"',
        ),
        URL,
    )
    assert (harvest.kind, harvest.title, harvest.site_url) == ("atom", "The Lamplighter", "https://comic.example/")
    assert (harvest.description, harvest.language, harvest.author) == ("slow", "pt-BR", "Ada")
    assert (harvest.icon_url, harvest.hub_url) == ("https://comic.example/i.png", "https://hub.example/")
    assert harvest.self_url == "https://comic.example/feed"


@pytest.mark.parametrize(
    ("name", "kind"),
    [("rss091.xml", "rss"), ("rss20-many.xml", "rss"), ("rss10-plain.xml", "rdf"), ("rss090.xml", "rdf"),
     ("atom03-plain.xml", "atom"), ("atom10-many.xml", "atom"), ("json11.json", "json")],
)  # fmt: skip
def test_every_format_is_told_by_its_kind(name: str, kind: str):
    assert parse_anyhow(corpus()[name], URL).kind == kind


def test_relative_addresses_are_relative_to_what_their_format_says():
    """RSS names no base: the entry's page is the best guess. Atom names its own address, or an xml:base."""
    assert "https://comic.example/img/1.png" in first("rss20-description-relative-images.xml").content
    picture = "&lt;img src='i.png'&gt; and some words"
    assert (
        "https://comic.example/part/i.png"
        in item_of(f"<link>/part/1</link><description>{picture}</description>").content
    )
    assert "https://comic.example/feeds/i.png" in first("atom10-base-none.xml").content
    assert "https://cdn.example/a/deeper/i.png" in first("atom10-base-nested.xml").content
    assert "https://comic.example/feeds/i.png" in first("atom10-base-unsafe.xml").content


def test_long_fields_are_cut():
    found = item_of(f"<title>{'t' * 90_000}</title><author>{'a' * 9000}</author><category>{'c' * 9000}</category>")
    assert (len(found.title), len(found.author or ""), len(found.categories[0])) == (1000, 300, 300)


def test_a_thousand_categories_and_files_are_cut():
    found = item_of(
        "".join(f'<category>{n}</category><enclosure url="/{n}.mp3"/>' for n in range(1000)),
    )
    assert (len(found.categories), len(found.enclosures)) == (100, 100)


def test_one_empty_item_does_not_spoil_the_others():
    assert len(parse_anyhow(rss("<item/>", item(), "<item>words alone</item>"), URL).items) >= 2


def test_an_atom_entry_inside_rss_is_an_item():
    body = rss(entry()).replace(b"<entry>", b'<entry xmlns="http://www.w3.org/2005/Atom">')
    assert [found.title for found in parse_anyhow(body, URL).items] == ["Part 1"]


# -- what other readers get right


def test_a_media_description_is_not_the_entrys_text():
    """Alternative text is not a summary, neither in a sound document nor in a broken one."""
    alt = (
        '<media:content url="/1.png" medium="image"><media:title>Night</media:title>'
        "<media:description>A lamp at night</media:description></media:content>"
    )
    for words in ("own words", "own & words"):
        found = item_of(f"<description>{words}</description>{alt}", use=("media",))
        assert (found.content, found.summary, found.title) == (words.replace("&", "&amp;"), None, "")
        assert found.enclosures[0].title == "Night"
    bare = item_of("<description>own</description><media:description>other</media:description>", use=("media",))
    assert (bare.content, bare.summary) == ("own", None)
    assert item_of(alt, use=("media",)).content == ""


def test_the_description_of_a_video_is_its_text():
    video = (
        '<media:group><media:content url="/1.mp4"/><media:description>What it shows</media:description></media:group>'
    )
    assert item_of(video, use=("media",)).content == "What it shows"


@pytest.mark.parametrize("prefix", ["media", "m", "Yahoo-media"])
def test_the_last_reader_keeps_an_entrys_own_text(prefix: str):
    own, other = "<description>own</description>", "<media:description>other</media:description>"
    for inside in (own + other, other + own):
        body = rss(item(inside), use=("media",)).decode()
        raw = read_leniently(body.replace("media:", f"{prefix}:").replace(":media", f":{prefix}"), URL)
        assert raw is not None
        assert [(entry.summary and entry.summary.value, entry.content) for entry in raw.items] == [("own", None)]


@pytest.mark.parametrize("prefix", ["atom", "a", "atom10"])
@pytest.mark.parametrize("other", ['<atom:link href="/amp/1"/>', "<atom:link>/amp/1</atom:link>"])
def test_the_last_reader_keeps_an_entrys_own_link(prefix: str, other: str):
    own = "<link>https://x.example/1</link>"
    channel = f'{other}<atom:link rel="self" href="/feed"/>'
    for inside in (own + other, other + own, other):
        body = rss(f"<item>{inside}</item>", channel=channel, use=("atom",)).decode()
        raw = read_leniently(body.replace("atom:", f"{prefix}:").replace(":atom=", f":{prefix}="), URL)
        assert raw is not None
        assert raw.items[0].link == ("https://x.example/1" if own in inside else None)
        assert (raw.items[0].other_link or "").startswith("https://")
        assert (raw.site_url, raw.self_url) == ("https://comic.example/", "https://comic.example/feed")


def test_the_last_reader_keeps_links_of_atom_whatever_their_prefix():
    body = re.sub(r"<(/?)(?=\w)", r"<\1a:", atom(entry(), feed="").decode()).replace("xmlns=", "xmlns:a=")
    raw = read_leniently(body, URL)
    assert raw is not None
    assert (raw.site_url, raw.items[0].link) == ("https://comic.example/", "https://comic.example/part/1")


@pytest.mark.parametrize("is_first", [True, False])
def test_the_last_reader_takes_no_file_for_the_page(*, is_first: bool):
    file = '<a:link rel="enclosure" type="audio/mpeg">https://cdn.example/1.mp3</a:link>'
    page = "<link>https://x.example/1</link>"
    for inside, link in ((file + page if is_first else page + file, "https://x.example/1"), (file, None)):
        body = rss(f"<item>{inside}</item>", use=("atom",)).decode().replace("xmlns:atom", "xmlns:a")
        for text in (body, body.replace("a:link", "link").replace(' xmlns:a="', ' xmlns:b="')):
            raw = read_leniently(text, URL)
            assert raw is not None
            assert raw.items[0].link == link
            assert [media.url for media in raw.items[0].media] == ["https://cdn.example/1.mp3"]


@pytest.mark.parametrize(
    "link",
    [
        '<link rel="enclosure" type="audio/mpeg">https://cdn.example/1.mp3</link>',
        '<link rel="enclosure" href="https://cdn.example/1.mp3">https://cdn.example/1.mp3</link>',
    ],
)
def test_an_enclosure_with_text_is_no_page(link: str):
    found = parse_anyhow(atom(entry(link)), URL).items[0]
    assert found.link == "https://comic.example/part/1"
    assert [file.url for file in found.enclosures] == ["https://cdn.example/1.mp3"]


def test_an_atom_link_in_rss_does_not_replace_link():
    own = "<link>https://x.example/1</link>"
    for other in ('<atom:link href="https://x.example/amp/1"/>', "<atom:link>https://x.example/amp/1</atom:link>"):
        for inside in (own + other, other + own):
            assert item_of(inside, use=("atom",)).link == "https://x.example/1"
        assert item_of(other, use=("atom",)).link == "https://x.example/amp/1"
    channel = '<atom:link href="https://x.example/feed-page"/>'
    assert harvest_of(channel=channel, use=("atom",)).site_url == "https://comic.example/"


@pytest.mark.parametrize("host", ["my", "channel"])
def test_rss_090_has_items_in_either_namespace(host: str):
    body = corpus()["rss090.xml"].replace(b"my.netscape.com", f"{host}.netscape.com".encode())
    assert [found.title for found in parse_anyhow(body, URL).items][:1] == ["Part 1"]


def test_a_feed_in_a_namespace_of_its_own_is_read():
    body = rss(item()).replace(b"<rss ", b'<rss xmlns="https://publisher.example/ns" ')
    assert [found.key for found in parse_anyhow(body, URL).items] == ["part-1"]
    assert parse_anyhow(rdf(rdf_item()).replace(b"purl.org/rss/1.0/", b"x.example/rss"), URL).title == "The Lamplighter"


def test_dublin_core_1_0_is_read_as_1_1():
    body = rss(item("<dc:creator>Ada</dc:creator><dc:date>2024-03-01</dc:date>"), use=("dc",))
    found = parse_anyhow(body.replace(b"elements/1.1/", b"elements/1.0/"), URL).items[0]
    assert (found.author, found.published_raw) == ("Ada", "2024-03-01")


def test_an_atom_entry_inherits_its_authors():
    """RFC 4287 4.2.1: its own, else those of its source, else of the feed."""
    person = "<author><name>{}</name></author>"
    source = f"<source><title>Elsewhere</title>{person.format('Source')}</source>"
    entries = [entry(person.format("Own") + source), entry(source, number=2), entry(number=3)]
    harvest = parse_anyhow(atom(*entries, feed=person.format("Feed")), URL)
    assert [found.author for found in harvest.items] == ["Own", "Source", "Feed"]
    assert harvest.author == "Feed"


def test_an_rss_item_does_not_inherit_the_editor():
    assert harvest_of("<title>x</title>", channel="<managingEditor>Ed</managingEditor>").items[0].author is None


def test_a_date_that_cannot_be_read_hides_none_that_can():
    found = parse_anyhow(atom(entry("<published>soon</published>")), URL).items[0]
    assert found.published_at is not None
    assert found.published_raw == "2024-03-01T10:00:00Z"
    assert item_of("<pubDate>soon</pubDate>").published_raw == "soon"


def test_a_summary_for_podcasts_comes_before_a_subtitle():
    both = "<itunes:subtitle>Short</itunes:subtitle><itunes:summary>The whole story</itunes:summary>"
    found = item_of(both, use=("itunes",))
    assert (found.content, found.summary) == ("The whole story", "Short")
    channel = rss(item(), channel=both, use=("itunes",)).replace(b"<description>A comic in parts</description>", b"")
    assert parse_anyhow(channel, URL).description == "The whole story"


@pytest.mark.parametrize("blank", [" ", "&#10;", "#", "?", " ?# ", "&#x200b;", "\ufeff", "\u2060 #"])
def test_a_blank_address_is_none(blank: str):
    inside = f'<enclosure url="{blank}" type="audio/mpeg"/><media:thumbnail url="{blank}"/>'
    found = item_of(inside, use=("media",))
    assert (found.enclosures, found.image_url) == ((), None)
    raw = read_leniently(rss(item(inside), use=("media",)).decode(), URL)
    assert raw is not None
    assert (raw.items[0].media, raw.items[0].thumbnails) == ([], [])


@pytest.mark.parametrize("words", ["5", "5 comments", "none", "No comments yet.", "closed/off topic", "n/a", "?"])
def test_words_are_no_address_of_comments(words: str):
    inside = f"<comments>{words}</comments>"
    assert item_of(inside).comments_url is None
    raw = read_leniently(rss(item(inside)).decode(), URL)
    assert raw is not None
    assert raw.items[0].comments is None


@pytest.mark.parametrize("address", ["https://x.example/1#c", "/1/comments", "talk.php?id=1", "#comments"])
def test_an_address_of_comments_is_one(address: str):
    assert item_of(f"<comments>{address}</comments>").comments_url == urljoin(URL, address)


def test_the_address_behind_a_counter_is_the_link():
    counted = "<link>https://feeds.example/~r/lamp/~3/xyz/</link>"
    original = "<feedburner:origLink>https://comic.example/part/1</feedburner:origLink>"
    before, now = item_of(counted), item_of(counted + original, use=("feedburner",))
    assert now.link == now.link_key == "https://comic.example/part/1"
    assert now.key == before.key
    raw = read_leniently(rss(item(counted + original), use=("feedburner",)).decode(), URL)
    assert raw is not None
    assert raw.items[0].original_link == "https://comic.example/part/1"


def test_duplicate_authors_are_named_once():
    assert item_of("<author>Ada</author><dc:creator>Ada</dc:creator>", use=("dc",)).author == "Ada"


def test_one_of_several_forms_of_the_same_file_is_enough():
    group = '<media:group><media:content url="/720.mp4"/><media:content url="/360.mp4"/></media:group>'
    found = item_of(f'<enclosure url="/1.mp3"/>{group}<media:content url="/2.png"/>', use=("media",))
    assert [file.url.rpartition("/")[2] for file in found.enclosures] == ["1.mp3", "720.mp4", "2.png"]

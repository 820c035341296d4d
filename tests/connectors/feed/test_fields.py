"""What the elements of feeds and their extensions become."""

from decimal import Decimal

import pytest

from tests.connectors.feed.builders import URL, harvest_of, item_of
from tests.data.feeds.make import corpus
from tests.data.feeds.recipes.shapes import atom, entry, item, rss
from tsuzuki.connectors.feed.authors import author_of
from tsuzuki.connectors.feed.media import length_of, seconds_of
from tsuzuki.connectors.feed.parsing import parse_anyhow
from tsuzuki.model.harvest import Enclosure
from tsuzuki.model.times import HOUR, MINUTE


def first(name: str):
    return parse_anyhow(corpus()[name], URL).items[0]


def test_the_full_text_is_the_content_and_the_short_one_the_summary():
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
        ("  ", None),
    ],
)
def test_authors(text: str, name: str | None):
    assert author_of(text) == name


def test_several_authors_are_all_named():
    assert first("rss20-author-two-creators.xml").author == "Ada Lamp, Bo Wick"


def test_categories_come_from_every_way_of_naming_them():
    found = item_of(
        "<category>a</category><category/><category>a</category><dc:subject>b</dc:subject>"
        "<itunes:keywords>c, d</itunes:keywords><media:category>e</media:category>",
        use=("dc", "itunes", "media"),
    )
    assert found.categories == ("a", "b", "c", "d", "e")


def test_the_picture_of_an_item_is_a_thumbnail_before_anything_else():
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


def test_the_hours_and_days_a_publisher_wishes_to_be_left_alone():
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


def test_an_atom_entry_in_an_rss_channel_is_an_item_too():
    body = rss(entry()).replace(b"<entry>", b'<entry xmlns="http://www.w3.org/2005/Atom">')
    assert [found.title for found in parse_anyhow(body, URL).items] == ["Part 1"]

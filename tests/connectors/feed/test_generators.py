"""The shapes of well-known programs and services: what a reader is to find in each, sound or damaged."""

import pytest

from tests.data.feeds.make import Expected, expected, generators
from tsuzuki.connectors.feed import lenient
from tsuzuki.connectors.feed.assemble import assemble
from tsuzuki.connectors.feed.parser import parse_anyhow, parse_fast, parse_leniently
from tsuzuki.model.harvest import FeedHarvest
from tsuzuki.model.times import iso

URL = "https://feeds.example/all"
FEEDPARSER_SAYS_OTHERWISE = {
    "livejournal.xml": "it takes the song that was listened to for the title",
}


def entries(name: str, harvest: FeedHarvest) -> list[Expected]:
    return [
        Expected(
            file=name,
            key=item.key,
            title=item.title,
            at=None if item.published_at is None else iso(item.published_at).replace(".000Z", "Z"),
            author=item.author,
            files=tuple((file.url, file.media_type, file.duration_seconds) for file in item.enclosures),
        )
        for item in harvest.items
    ]


def of(name: str) -> list[Expected]:
    return [each for each in expected() if each.file == name]


def test_there_are_at_least_28_and_each_has_its_expectations():
    assert len(generators()) >= 28
    assert {each.file for each in expected()} == generators().keys()


@pytest.mark.parametrize("name", generators())
def test_a_generators_feed_is_read_as_expected(name: str):
    harvest = parse_fast(generators()[name], URL)
    assert harvest is not None, "the fast reader takes it"
    assert entries(name, harvest) == of(name)


@pytest.mark.parametrize("name", [name for name in generators() if name.endswith(".xml")])
@pytest.mark.parametrize(
    "damage", [(b"</title>", b" & more</title>"), (b"<title", b"<br><title"), (b"</title>", b"</b></title>")]
)
def test_a_damaged_one_brings_nothing_twice(name: str, damage: tuple[bytes, bytes]):
    body = generators()[name].replace(*damage, 1)
    assert parse_fast(body, URL) is None
    keys_and_dates = [(each.key, each.at) for each in entries(name, parse_leniently(body, URL))]
    assert keys_and_dates == [(each.key, each.at) for each in of(name)]


@pytest.mark.parametrize("name", [name for name in generators() if name.endswith(".xml")])
def test_feedparser_finds_the_same_entries(name: str):
    raw = lenient.raw_feed(lenient.parse(generators()[name], "application/xml"), URL)
    assert raw is not None
    theirs = [(each.key, each.title, each.at) for each in entries(name, assemble(raw))]
    agrees = theirs == [(each.key, each.title, each.at) for each in of(name)]
    assert agrees == (name not in FEEDPARSER_SAYS_OTHERWISE), theirs


def test_every_shape_is_of_our_own_making():
    """Texts of ours under names that nobody has; only addresses that a shape is known by are real ones."""
    known_by = (
        "w3.org",
        "purl.org",
        "webtoons.com",
        "tapas.io",
        "youtube.com",
        "ytimg.com",
        "github.com",
        "google.com",
    )
    for name, body in generators().items():
        for each in entries(name, parse_anyhow(body, URL)):
            for address in (each.key, *(file for file, _, _ in each.files)):
                if address.startswith("http"):
                    host = address.split("/")[2]
                    assert host.endswith((".example", *known_by)), (name, host)

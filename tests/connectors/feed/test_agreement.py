"""The fast reader says what feedparser says, field by field, over the whole corpus; but for the table below."""

import calendar
import warnings
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from tests.cases import hold
from tests.data.feeds.make import FOLDER, URL, corpus
from tsuzuki.connectors.feed import lenient
from tsuzuki.connectors.feed.assemble import assemble
from tsuzuki.connectors.feed.dates import moment_of
from tsuzuki.connectors.feed.parser import parse_fast, parse_leniently, read_fast
from tsuzuki.model.harvest import FeedHarvest

DELIBERATE = {
    ("rss10-image.xml", "icon_url"): "an RDF image stands beside the channel, where feedparser drops its address",
    ("rss20-channel-skip.xml", "skip_hours"): "feedparser does not read when a publisher wishes no call",
    ("rss20-channel-skip.xml", "skip_days"): "feedparser does not read when a publisher wishes no call",
    ("atom10-content-xhtml-prefixed.xml", "content"): "feedparser writes an empty prefixed element as two",
    ("atom03-xml.xml", "content"): "the lone div is an envelope in Atom 0.3 as it is in 1.0",
    ("media-description-beside.xml", "content"): "the entry's own description outranks that of its picture",
    ("media-description-beside.xml", "summary"): "the entry's own description outranks that of its picture",
    ("podcast-summary-beside.xml", "content"): "the entry's own description outranks the one for a podcast shop",
    ("podcast-summary-beside.xml", "summary"): "the entry's own description outranks the one for a podcast shop",
    ("podcast-subtitle.xml", "content"): "a subtitle is better than an empty entry",
    ("podcast-channel-subtitle.xml", "description"): "the channel's own description outranks the subtitle",
    ("encoding-latin1.xml", "content"): "what is called Latin-1 is Windows-1252 in fact; feedparser loses its ellipsis",
    ("encoding-one-stray-byte.xml", "content"): "one stray byte does not make the document another encoding",
}
"""Where we differ on purpose, and why. A row that no longer differs fails the test."""

DELIBERATE_DATES = {
    "date-rfc822-no-zone.xml": "no zone means UTC",
    "date-rfc850.xml": "RFC 850 names a moment",
    "date-german.xml": "month names of seven languages",
    "date-american.xml": "month first, with AM and PM",
    "date-chinese.xml": "feedparser reads the 3 after the year as a digit of the month",
    "date-unix.xml": "ten digits are seconds since 1970, not the year 1709",
    "date-hour-24.xml": "24:00 is the midnight that ends the day",
    "date-leap-second.xml": "a leap second counts as the second before it",
    "date-atom-compact.xml": "the basic form of ISO 8601 has a time too",
}


@cache
def documents() -> list[str]:
    return sorted(name for name in corpus() if name.endswith(".xml"))


@cache
def sound() -> list[str]:
    """Those that the fast reader takes."""
    return [name for name in documents() if read_fast(corpus()[name], URL) is not None]


@cache
def by_feedparser(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return lenient.parse(corpus()[name], "application/xml")


def differences(ours: FeedHarvest, theirs: FeedHarvest) -> Iterator[str]:
    for field in FeedHarvest.__struct_fields__:
        if field not in {"items", "digests"} and getattr(ours, field) != getattr(theirs, field):
            yield field
    assert len(ours.items) == len(theirs.items)
    for mine, other in zip(ours.items, theirs.items, strict=True):
        yield from (field for field in mine.__struct_fields__ if getattr(mine, field) != getattr(other, field))


def test_the_corpus_is_what_its_recipes_make():
    assert {path.name: path.read_bytes() for path in FOLDER.iterdir()} == corpus()


def test_the_corpus_is_large_and_mostly_sound():
    assert len(documents()) >= 250
    assert len(sound()) / len(documents()) > 0.9


def test_every_field_is_what_feedparser_says():
    def check(name: str) -> None:
        ours = parse_fast(corpus()[name], URL)
        raw = lenient.raw_feed(by_feedparser(name), URL)
        assert ours is not None
        assert raw is not None
        expected = {field for file, field in DELIBERATE if file == name}
        assert set(differences(ours, assemble(raw))) == expected

    hold(check, sound())


def test_every_date_is_what_feedparser_says():
    def check(name: str) -> None:
        raw = read_fast(corpus()[name], URL)
        assert raw is not None
        differ = False
        for item, entry in zip(raw.items, by_feedparser(name)["entries"], strict=True):
            for field in ("published", "updated", "created"):
                parsed = dict.get(entry, f"{field}_parsed")
                theirs = None if parsed is None else calendar.timegm(parsed)
                ours = moment_of(getattr(item, field))
                differ = differ or theirs != (None if ours is None else ours // 1000)
        assert differ == (name in DELIBERATE_DATES)

    hold(check, sound())


def test_what_is_not_sound_is_read_all_the_same():
    def check(name: str) -> None:
        harvest = parse_leniently(corpus()[name], URL)
        assert harvest.title == "The Lamplighter"
        assert [item.title for item in harvest.items][:1] == ["Part 1"]

    hold(check, sorted({*documents()} - {*sound()}))


def test_both_readers_give_an_entry_the_same_key():
    """Or a feed that is damaged every other day would bring everything again."""

    def check(name: str) -> None:
        fast = parse_fast(corpus()[name], URL)
        assert fast is not None
        keyed = [item.key for item in fast.items if not item.key.startswith("hash:")]
        slow = parse_leniently(corpus()[name], URL)
        assert [item.key for item in slow.items if not item.key.startswith("hash:")] == keyed

    hold(check, sound())


def test_whatever_is_read_is_text_that_can_be_stored():
    """REL-37: the item is kept and its text is valid."""

    def check(name: str) -> None:
        harvest = parse_fast(corpus()[name], URL) or parse_leniently(corpus()[name], URL)
        encoded = msgspec.json.encode(harvest)
        assert msgspec.json.decode(encoded, type=FeedHarvest) == harvest
        assert b"\\u0000" not in encoded
        assert harvest.items or "empty" in name or name == "json-feed-fields.json"

    hold(check, sorted(corpus()))


def test_every_row_of_the_tables_names_a_file():
    files = {file for file, _ in DELIBERATE} | DELIBERATE_DATES.keys()
    assert files <= {path.name for path in Path(FOLDER).iterdir()}

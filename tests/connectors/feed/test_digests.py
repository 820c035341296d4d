"""Entries that are known by their digests are not made again; whatever changes an item changes its digest."""

from dataclasses import fields, replace

import msgspec
import pytest

from tests.connectors.feed.builders import URL
from tests.data.feeds.make import corpus
from tests.data.feeds.recipes.shapes import atom, entry, rss
from tsuzuki.connectors.feed import digests
from tsuzuki.connectors.feed.assemble import assemble
from tsuzuki.connectors.feed.digests import SIZE
from tsuzuki.connectors.feed.parser import parse_anyhow
from tsuzuki.connectors.feed.raw import Kind, RawFeed, RawItem, RawMedia, RawText
from tsuzuki.model.errors import SourceError


def item(key, words="Words", *, page=None):
    return (
        f"<item><guid isPermaLink='false'>{key}</guid><title>Item {key}</title>"
        f"<link>https://comic.example/{page or key}</link><description>{words}</description></item>"
    )


def keys(harvest):
    return [found.key for found in harvest.items]


THREE = rss(item("3"), item("2"), item("1"))


def test_what_is_known_is_left_out_whatever_surrounds_it():
    known = parse_anyhow(THREE, URL).digests
    assert len(known) == 3 * SIZE
    again = rss(item("1"), item("3"), item("2")).replace(b"<channel>", b"<channel><lastBuildDate>now</lastBuildDate>")
    harvest = parse_anyhow(again + b"<!-- 7 -->", URL, None, known)
    assert (harvest.items, harvest.digests, harvest.title) == ((), known, parse_anyhow(THREE, URL).title)


def test_only_what_is_new_or_changed_is_read():
    known = parse_anyhow(THREE, URL).digests
    harvest = parse_anyhow(rss(item("4"), item("3"), item("2", "Other words"), item("1")), URL, None, known)
    whole = parse_anyhow(rss(item("4"), item("3"), item("2", "Other words"), item("1")), URL)
    assert harvest.items == (whole.items[0], whole.items[2])
    assert harvest.digests == whole.digests != known


def test_corpus_documents_are_recognised_or_parsed_completely():
    known_again = 0
    for name, body in corpus().items():
        try:
            first = parse_anyhow(body, URL)
        except SourceError:
            continue
        again = parse_anyhow(body, URL, None, first.digests)
        assert again == (msgspec.structs.replace(first, items=()) if first.digests else first), name
        known_again += bool(first.digests)
    assert known_again > 20


_OTHER = {
    "str": "other",
    "RawText": RawText("other words"),
    "bool": True,
    "list[str]": ["other"],
    "list[RawMedia]": [RawMedia("https://comic.example/other.mp3")],
    "dict[str, RawText]": {"dc:description": RawText("other words")},
    str(Kind): "rdf",
}


def others(values, *without):
    """The same values with one of them changed, for each field; a new field needs no new test."""
    for each in fields(values):
        if each.name not in without:
            kind = each.type.__name__ if isinstance(each.type, type) else str(each.type)
            other = _OTHER[kind.replace("tsuzuki.connectors.feed.raw.", "").removesuffix(" | None")]
            yield each.name, replace(values, **{each.name: other})


@pytest.mark.parametrize("name", [each.name for each in fields(RawItem)])
def test_a_change_of_anything_in_an_entry_is_noticed(name):
    plain = RawItem(guid="1", link="https://comic.example/1")
    known = assemble(RawFeed("rss", URL, [plain])).digests
    changed = dict(others(plain))[name]
    assert len(assemble(RawFeed("rss", URL, [changed]), known).items) == 1
    assert not assemble(RawFeed("rss", URL, [plain]), known).items


def test_the_digest_includes_what_the_feed_contributes():
    one = RawItem(guid="1", content=RawText("<img src='/1.png'>", is_html=True))
    feed = RawFeed("atom", URL, [one], site_url="https://comic.example/", authors=["Ada"])
    first = assemble(feed)
    for name, changed in others(feed, "items"):
        again = assemble(changed, first.digests)
        whole = assemble(changed)
        assert whole.items in {again.items, first.items}, name  # noticed, or no other item
    for changed in (replace(feed, authors=["Bea"]), replace(feed, url="https://other.example/feed")):
        assert assemble(changed, first.digests).items == assemble(changed).items != first.items


def test_what_other_rules_made_of_an_entry_is_made_anew(monkeypatch):
    known = parse_anyhow(THREE, URL).digests
    monkeypatch.setattr(digests, "RULES", b"of another version")
    assert keys(parse_anyhow(THREE, URL, None, known)) == ["3", "2", "1"]


def test_the_rules_are_the_code_that_reads_and_its_libraries(monkeypatch):
    monkeypatch.setattr(digests, "version", lambda name: "other" if name == "nh3" else "same")
    of_one = digests._rules()
    monkeypatch.setattr(digests, "version", lambda _: "same")
    assert of_one != digests._rules()
    monkeypatch.setattr(digests, "_sources", lambda _: [b"another sanitiser"])
    assert digests._rules() not in {of_one, digests.RULES}


def test_rel_27_what_shares_its_page_with_something_new_is_read_again():
    known = parse_anyhow(THREE, URL).digests
    harvest = parse_anyhow(rss(item("4", page="2"), item("3"), item("2"), item("1")), URL, None, known)
    assert keys(harvest) == ["4", "2"]


def test_r93_entries_that_share_a_key_are_always_read():
    body = rss(item("1"), item("2"), item("2", "Other words", page="other"))
    first = parse_anyhow(body, URL)
    assert first.digests == b""
    known = parse_anyhow(THREE, URL).digests
    assert parse_anyhow(body, URL, None, known) == first
    with_all_keys = parse_anyhow(THREE, URL, None, None)
    assert (len(with_all_keys.items), with_all_keys.digests) == (3, b"")


def test_atom_entries_and_broken_documents_are_recognised_too():
    sound = atom(entry("<summary>One &amp; two</summary>"))
    known = parse_anyhow(sound, URL).digests
    assert known
    assert not parse_anyhow(sound.replace(b"&amp;", b"&"), URL, None, known).items
    assert parse_anyhow(sound.replace(b"One", b"Eins"), URL, None, known).items


def test_one_entry_more_leaves_the_others_known():
    """How much an entry may have is shared out among all of them."""
    for count in (30, 99, 500):
        known = parse_anyhow(rss(*(item(str(n)) for n in range(count))), URL).digests
        more = rss(*(item(str(n)) for n in range(count + 1)))
        assert keys(parse_anyhow(more, URL, None, known)) == [str(count)]


def test_an_entry_that_may_have_more_is_read_again():
    many = RawItem(guid="many", categories=[str(n) for n in range(80)])
    crowd = [RawItem(guid=str(n)) for n in range(2000)]
    known = assemble(RawFeed("rss", URL, [many, *crowd])).digests
    assert [len(item.categories) for item in assemble(RawFeed("rss", URL, [many]), known).items] == [80]

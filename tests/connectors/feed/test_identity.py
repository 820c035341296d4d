"""R31, REL-27, REL-28: the same story keeps its key; different stories never share one."""

import pytest

from tests.connectors.feed.builders import harvest_of, item_of
from tsuzuki.connectors.feed.identity import MAX_KEY, with_other_keys
from tsuzuki.connectors.html.addresses import stable_url
from tsuzuki.model.harvest import FeedHarvest


def keys(harvest: FeedHarvest) -> list[str]:
    return [item.key for item in harvest.items]


def guid(value: str) -> str:
    return f'<guid isPermaLink="false">{value}</guid>'


def test_the_guid_comes_first_then_the_link_then_a_hash():
    assert item_of(f"<link>https://x.example/1</link>{guid('a-1')}").key == "a-1"
    assert item_of("<link>https://x.example/1</link>").key == "https://x.example/1"
    assert item_of("<link>/1</link>").key == "https://comic.example/1"
    assert item_of("<title>only words</title>").key.startswith("hash:")


def test_a_hash_is_of_title_content_and_date():
    same = "<title>t</title><description>d</description><pubDate>2024-03-01</pubDate>"
    assert item_of(same).key == item_of(same).key
    for other in ("<title>u</title>", "<description>e</description>", "<pubDate>2024-03-02</pubDate>"):
        name = other[1 : other.index(">")]
        start, end = same.index(f"<{name}>"), same.index(f"</{name}>") + len(name) + 3
        assert item_of(same[:start] + other + same[end:]).key != item_of(same).key


@pytest.mark.parametrize(
    "variant",
    [
        "http://x.example/story?id=7",
        "https://x.example/story?id=7",
        "https://X.Example:443/story?id=7",
        "http://x.example:80/story?id=7",
        "https://x.example/story?id=7&amp;utm_source=rss&amp;utm_medium=feed",
        "https://x.example/story?fbclid=abc&amp;id=7",
        "https://x.example/story;jsessionid=0A1B2C?id=7",
        "https://x.example/story?id=7&amp;PHPSESSID=deadbeef",
        "https://x.example/story?sid=99&amp;id=7",
        "https://x.example/story?id=7#xtor=RSS-1",
    ],
)
def test_scheme_tracking_and_session_make_no_new_item(variant: str):
    assert item_of(f"<guid>{variant}</guid>").key == "https://x.example/story?id=7"
    assert item_of(f"<link>{variant}</link>").key == "https://x.example/story?id=7"
    assert item_of(f"<link>{variant}</link>{guid('a')}").link_key == "https://x.example/story?id=7"


@pytest.mark.parametrize(
    "other",
    ["https://x.example/story?id=8", "https://x.example/Story?id=7", "https://y.example/story?id=7",
     "https://x.example:8443/story?id=7", "https://x.example/story?id=7#part-2", "https://x.example/story/?id=7"],
)  # fmt: skip
def test_another_page_is_another_item(other: str):
    assert stable_url(other) != stable_url("https://x.example/story?id=7")


def test_one_guid_on_all_items_falls_back_to_their_links():
    harvest = harvest_of(*(f"<link>https://x.example/{n}</link>{guid('0')}" for n in range(5)))
    assert keys(harvest) == [f"https://x.example/{n}" for n in range(5)]
    assert harvest.unstable_keys


def test_one_shared_guid_falls_back_to_titles_and_words():
    harvest = harvest_of(*(f"<title>{n}</title>{guid('0')}" for n in range(5)))
    assert len(set(keys(harvest))) == 5
    assert harvest.unstable_keys


def test_a_guid_shared_by_some_spoils_only_those():
    harvest = harvest_of(
        f"<link>https://x.example/1</link>{guid('a')}",
        f"<link>https://x.example/2</link>{guid('b')}",
        f"<link>https://x.example/3</link>{guid('b')}",
    )
    assert keys(harvest) == ["a", "https://x.example/2", "https://x.example/3"]
    assert harvest.unstable_keys


def test_the_same_entry_twice_is_one_item():
    harvest = harvest_of(*[f"<link>https://x.example/1</link>{guid('a')}"] * 2)
    assert keys(harvest) == ["a"]
    assert not harvest.unstable_keys


def test_sound_guids_are_trusted():
    assert not harvest_of(guid("a"), guid("b")).unstable_keys


def test_flipping_guids_keep_the_link_as_key():
    """REL-28: whatever the guids do from one poll to the next, ingest can tell by the link."""
    unique = harvest_of(*(f"<link>https://x.example/{n}</link>{guid(str(n))}" for n in range(3)))
    shared = harvest_of(*(f"<link>http://x.example/{n}?utm_source=a</link>{guid('0')}" for n in range(3)))
    assert keys(unique) != keys(shared)
    assert [item.link_key for item in unique.items] == [item.link_key for item in shared.items]


def test_a_guid_that_is_no_address_is_no_link():
    item = item_of("<guid>post 17 of Ada</guid>")
    assert (item.key, item.link) == ("post 17 of Ada", None)


def test_a_key_is_never_longer_than_an_index_takes():
    long = item_of(guid("x" * 5000))
    assert len(long.key) <= MAX_KEY
    assert long.key == item_of(guid("x" * 5000)).key != item_of(guid("x" * 5001)).key


def test_blanks_around_and_in_a_guid_do_not_count():
    assert item_of(guid("\n  a   b ")).key == "a b"


@pytest.mark.parametrize("address", ["https://[broken/", "https://x.example:port/", "not an address", ""])
def test_any_text_has_a_stable_form(address: str):
    assert isinstance(stable_url(address), str)


# -- R93: equal keys in one document


def podcast(name: str, *, day: int = 1) -> str:
    return (
        f"<title>{name}</title><pubDate>0{day} Mar 2024 10:00:00 GMT</pubDate><link>https://x.example/</link>"
        f'<enclosure url="https://cdn.example/{name}.mp3" type="audio/mpeg"/>'
    )


CONSTANT = "<link>https://x.example/</link>"


@pytest.mark.parametrize("shared", [CONSTANT, f"{CONSTANT}{guid('0')}", guid("0")])
@pytest.mark.parametrize(
    "told",
    [
        '<enclosure url="/{n}.mp3"/><pubDate>2024-03-01</pubDate>',
        "<title>same</title><pubDate>2024-03-0{n}</pubDate>",
        "<title>Part {n}</title><pubDate>2024-03-01</pubDate>",
        "<title>same</title><description>Part {n}</description>",
    ],
)
def test_equal_keys_are_told_apart_whatever_their_order(shared: str, told: str):
    inside = [shared + told.format(n=n) for n in range(1, 5)]
    harvest = harvest_of(*inside)
    assert len(set(keys(harvest))) == 4
    assert keys(harvest_of(*reversed(inside))) == keys(harvest)[::-1]
    assert harvest.unstable_keys


def test_enclosures_tell_items_apart_before_dates_and_words():
    one, two = harvest_of(podcast("a"), podcast("b", day=2)).items
    assert (one.key, two.key) == (
        "https://x.example/ file https://cdn.example/a.mp3",
        "https://x.example/ file https://cdn.example/b.mp3",
    )
    dated = harvest_of(*(f"{guid('0')}<title>{n}</title><pubDate>2024-03-0{n}</pubDate>" for n in (1, 2))).items
    assert all(" date " in item.key or item.key.startswith("hash:") for item in dated)


def test_a_key_survives_others_of_its_name():
    parts = [podcast(name, day=day) for day, name in enumerate("abc", start=1)]
    everyone = dict(zip("abc", keys(harvest_of(*parts)), strict=True))
    assert keys(harvest_of(*parts[1:])) == [everyone["b"], everyone["c"]]
    assert keys(harvest_of(podcast("d", day=4), *parts))[1:] == list(everyone.values())


def test_a_lone_entry_knows_what_it_was_called_among_others():
    among = harvest_of(podcast("a"), podcast("b")).items[1]
    alone = harvest_of(podcast("b")).items[0]
    assert alone.key == "https://x.example/"
    assert not alone.other_keys
    assert among.key in with_other_keys(alone).other_keys
    assert alone.key in among.other_keys


def test_a_guid_shared_by_pages_and_files_keeps_its_names():
    """Another page of the same guid does not rename those that share one."""
    files = [f"{guid('0')}{podcast(name)}" for name in "ab"]
    other = f"{guid('0')}<link>https://x.example/other</link>"
    assert keys(harvest_of(*files, other))[:2] == keys(harvest_of(*files))


def test_facts_that_tell_only_together_still_tell():
    inside = [
        f'{CONSTANT}<title>{word}</title><pubDate>2024-03-0{day}</pubDate><enclosure url="/x.mp3"/>'
        for word in "uv"
        for day in (1, 2)
    ]
    assert len(set(keys(harvest_of(*inside)))) == 4


def test_what_says_the_same_under_the_same_key_is_one():
    harvest = harvest_of(podcast("a"), podcast("a"), podcast("b"))
    assert len(harvest.items) == 2


def test_changing_texts_make_no_new_item_beside_stable_titles():
    def read(time: str) -> list[str]:
        return keys(harvest_of(*(f"{guid('0')}<title>{n}</title><description>read {time}</description>" for n in "ab")))

    assert read("a minute ago") == read("two minutes ago")

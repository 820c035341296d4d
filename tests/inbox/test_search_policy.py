"""What a search means, and that a snippet carries no markup but ours."""

import pytest

from tsuzuki.inbox.search.policy import NamedThing, Passage, parse_search, snippets
from tsuzuki.model.times import from_iso


def snippet(search: str, markup: str, plain: str = "") -> str:
    [shown] = snippets(parse_search(search).terms, [], [Passage(markup, plain)]).passages
    return shown


@pytest.mark.parametrize(
    ("text", "words", "rest"),
    [
        ("fish", [("fish",)], {}),
        ('"fish and chips" town', [("fish", "and", "chips"), ("town",)], {}),
        ("fish is:unread", [("fish",)], {"unread": True}),
        ("fish IS:Read", [("fish",)], {"unread": False}),
        ("is:saved fish", [("fish",)], {"saved": True}),
        ("fish feed:Daily", [("fish",)], {"feed": "Daily"}),
        ('feed:"The Daily" fish', [("fish",)], {"feed": "The Daily"}),
        ("fish before:2026", [("fish",)], {"before": from_iso("2026-01-01")}),
        ("fish before:2026-02", [("fish",)], {"before": from_iso("2026-02-01")}),
        ("fish before:2026-02-03", [("fish",)], {"before": from_iso("2026-02-03")}),
        ("before:soon", [("before",), ("soon",)], {}),
        ("before:2026-13", [("before",), ("2026",), ("13",)], {}),
        ("is:big", [("is",), ("big",)], {}),
        ("unis:unread", [("unis", "unread")], {}),
        ("続き", [("続き",)], {}),
        ("is:unread", [], {"unread": True}),
        ("", [], {}),
    ],
)
def test_a_search_is_read_as_people_mean_it(text, words, rest):
    parsed = parse_search(text)
    flat = [term.tokens for term in parsed.terms]
    assert [token for term in flat for token in term] == [token for term in words for token in term]
    for name in ("feed", "unread", "saved", "before"):
        assert getattr(parsed, name) == rest.get(name)


@pytest.mark.parametrize(
    ("markup", "search", "expected"),
    [
        ("<p>We met a <b>fish</b> monger</p>", "fish", "We met a <mark>fish</mark> monger"),
        ("Fish, FISH and fishes", "fish", "<mark>Fish</mark>, <mark>FISH</mark> and fishes"),
        ("fishes", "fis*", "<mark>fis</mark>hes"),
        ("Das Café Müller", "cafe muller", "Das <mark>Café</mark> <mark>Müller</mark>"),
        ("今週の漫画家インタビュー", "漫画家", "今週の<mark>漫画家</mark>インタビュー"),
        ("a fish and chips", '"fish and chips"', "a <mark>fish</mark> <mark>and</mark> <mark>chips</mark>"),
        ("nothing of it", "fish", "nothing of it"),
        ("", "fish", ""),
    ],
)
def test_a_snippet_shows_the_hits(markup, search, expected):
    assert snippet(search, markup) == expected


@pytest.mark.parametrize(
    ("text", "number", "words"),
    [
        ("frieren 45", "45", ["frieren"]),
        ("45 frieren", "45", ["frieren"]),
        ("frieren 045", "45", ["frieren"]),
        ("frieren ch. 45.50", "45.5", ["frieren"]),
        ("Frieren Chapter 45", "45", ["frieren"]),
        ("frieren #45", "45", ["frieren"]),
        ("葬送 第45話", "45", ["葬送"]),
        ("frieren ４５", "45", ["frieren"]),
        ("86 12", "12", ["86"]),
        ("45", "45", []),
        ("frieren", None, []),
        ("frieren -45", None, []),
        ("20th century boys", None, []),
        ('"frieren 45"', None, []),
        ("frieren 45 before:2026", "45", ["frieren"]),
        ("1234567890123", None, []),
    ],
)
def test_r2_a_number_is_a_chapters(text, number, words):
    chapter = parse_search(text).chapter
    assert (None if chapter is None else chapter.number) == number
    assert [token for term in (chapter.terms if chapter else ()) for token in term.tokens] == words


@pytest.mark.parametrize(
    ("markup", "plain", "expected"),
    [
        ("Nothing", "A fish & chips", "A <mark>fish</mark> &amp; chips"),
        ("", "<b>fish</b>", "&lt;b&gt;<mark>fish</mark>&lt;/b&gt;"),
        ("Nothing", "of it", "Nothing"),
        ("", "", ""),
    ],
)
def test_the_text_with_a_hit_is_shown_escaped(markup, plain, expected):
    assert snippet("fish", markup, plain) == expected


HOSTILE = [
    "&lt;script&gt;alert(1)&lt;/script&gt; fish",
    "&lt;mark onclick=x&gt;fish&lt;/mark&gt;",
    "fish &amp;lt;b&amp;gt; &quot;quoted&quot; <img alt='>' src=x>",
    "<p>fish</p>" * 5000,
    "fish" + "&lt;" * 500,
    "&#60;fish&#62;",
]


@pytest.mark.parametrize("markup", HOSTILE)
@pytest.mark.parametrize("search", ["fish", "script", "mark", "lt amp quot", "onclick"])
def test_nothing_in_a_snippet_is_markup_but_the_marks(markup, search):
    """I7: whatever the text holds, escaped or not."""
    shown = snippet(search, markup).replace("<mark>", "").replace("</mark>", "")
    assert "<" not in shown
    assert ">" not in shown
    assert len(shown) < 2000


def test_a_long_text_is_cut_around_its_first_hit():
    shown = snippet("fish", "word " * 1000 + "fish " + "word " * 1000)
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert "<mark>fish</mark>" in shown
    assert len(shown) < 300


@pytest.mark.parametrize(
    ("search", "found"),
    [("daily", True), ("dai*", True), ("dai", False), ('"daily news"', True), ("news -daily", False), ("sport", False)],
)
def test_a_feed_is_found_by_its_names(search, found):
    feed = NamedThing(("The Daily News", ""), "https://example.org/rss")
    assert bool(snippets(parse_search(search).terms, [feed], []).named) is found


def test_a_feed_found_by_its_name_comes_before_its_address():
    by_address, by_name = (
        NamedThing(("Sport", ""), "https://daily.example.org/"),
        NamedThing(("Daily", ""), "https://x.org/"),
    )
    named = snippets(parse_search("daily").terms, [by_address, by_name], []).named
    assert [place for place, _ in named] == [1, 0]
    assert named[0][1] == "<mark>Daily</mark>"


def test_a_search_counts_its_first_forty_words():
    parsed = parse_search(" ".join(f"w{number}" for number in range(100)) + ' "and a phrase"')
    assert [token for term in parsed.terms for token in term.tokens] == [f"w{number}" for number in range(40)]

"""What a chapter's number says is not said again by its title; an item without one is known by its words (R103)."""

import time
from collections.abc import Callable

import pytest

from tsuzuki.model.titles import (
    _TAG,
    BEGINNING,
    LONGEST_TITLE,
    MOST_TAGS,
    _title_in,
    beside_number,
    first_words,
    title_of,
    unescaped,
)


@pytest.mark.parametrize(
    ("title", "number", "shown"),
    [
        ("Chapter 9: Low Tide", "9", "Low Tide"),
        ("Ch. 009 - Low Tide", "9", "Low Tide"),
        ("ch.9 Low Tide", "9", "Low Tide"),
        ("Vol. 2 Chapter 12.5: Extra", "12.5", "Extra"),
        ("Episode 3", "3", ""),
        ("#3", "3", ""),
        ("第12話 星", "12", "星"),
        ("12화", "12", ""),
        ("3. The Door", "3", "The Door"),
        ("Low Tide", "9", "Low Tide"),
        ("Chapter 10: Other", "1", "Chapter 10: Other"),
        ("9 Lives", "9", "9 Lives"),
        ("90 Lives", "9", "90 Lives"),
        ("1984", "3", "1984"),
        ("Chapter 9: Low Tide", None, "Chapter 9: Low Tide"),
        ("", "9", ""),
        ("Chapter 9", "9.5", "Chapter 9"),
        ("Chapter 9.50 x", "9.5", "x"),
    ],
)
def test_only_a_beginning_that_says_this_number_is_left_out(title, number, shown):
    assert beside_number(title, number) == shown


@pytest.mark.timeout(2)
def test_a_hostile_title_is_read_in_no_time():
    assert beside_number("0" * 200_000 + "x", "1")
    assert beside_number("vol" + " " * 200_000, "1")


LONG = "Twelve boats left the harbour before dawn and nobody on the quay could say where they were going"


@pytest.mark.parametrize(
    ("title", "text", "shown"),
    [
        ("A title", "<p>Words</p>", "A title"),
        ("", "<p>Just a few words.</p>", "Just a few words."),
        ("", f"<p>{LONG}</p>", "Twelve boats left the harbour before dawn and nobody on the quay could say…"),
        ("", "<p>One</p><p>two</p>", "One two"),
        ("", "<p><b>W</b>ords &amp; <i>more</i> x&lt;y</p>", "Words & more x<y"),
        ("", '<p><img src="/i" alt="A &amp; B"> </p>', "A & B"),
        ("", '<img src="/i" alt=""><img src="/j" alt="a &lt;b&gt; > c">', "a <b> > c"),
        ("", '<p title="x > y">words</p>', "words"),
        ("", '<img src="/i" alt="not this">words', "words"),
        ("", '<p>cut in a <a href="https://exam', "cut in a"),
        ("", "漢字" * 60, "漢字" * 39 + "漢…"),
        ("", "", ""),
        ("", '<hr><img src="/i">', ""),
    ],
)
def test_an_item_without_title_shows_its_first_words(title: str, text: str, shown: str):
    assert title_of(title, text) == shown
    assert len(title_of(title, text)) <= LONGEST_TITLE


PIECES = [
    "<",
    '<a b="',
    "<a ",
    "&#",
    '"<a "',
    "<img alt=",
    '<img alt="x" ',
    '<img alt="">',
    "<b>",
    "<p></p>",
    "<b>x",
    "&amp;",
]


@pytest.mark.parametrize("piece", PIECES)
def test_what_stands_behind_the_beginning_costs_nothing(piece: str):
    assert first_words(piece * BEGINNING, 320) == first_words((piece * BEGINNING)[:BEGINNING], 320)


@pytest.mark.parametrize("piece", ["<b>", "<p></p>", "<b>x", "&amp;"])
def test_not_every_tag_and_reference_is_looked_at(piece: str):
    """Fifty such beginnings stand on a page of the inbox, which is made in one step."""
    text = (piece * BEGINNING)[:BEGINNING]

    def seconds(work: Callable[[], object]) -> float:
        started = time.thread_time()
        for _ in range(100):
            work()
        return time.thread_time() - started

    def shown() -> None:
        _title_in.cache_clear()
        title_of("", text)
        first_words(text, 320)

    def every_one() -> None:
        for _ in range(2):
            unescaped(_TAG.sub(lambda _: " ", text))

    assert min(seconds(shown) for _ in range(3)) < 0.7 * min(seconds(every_one) for _ in range(3))


@pytest.mark.parametrize("blank", [" ", "&nbsp;", "<p></p>"])
def test_words_behind_many_blanks_are_found(blank: str):
    assert title_of("", blank * (MOST_TAGS // 2 - 1) + "<p>Words</p>") == "Words"


def test_a_cut_in_a_reference_is_not_shown():
    assert first_words("&quot;" * 1000, 80) == '"' * 79 + "…"

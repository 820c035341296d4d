"""What a chapter's number says is not said again by its title; an item without one is known by its words (R103)."""

import time

import pytest

from tsuzuki.model.titles import LONGEST_TITLE, beside_number, title_of, words_in


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
def test_an_item_without_a_title_is_shown_by_its_first_words(title: str, text: str, shown: str):
    assert title_of(title, text) == shown
    assert len(title_of(title, text)) <= LONGEST_TITLE


@pytest.mark.parametrize("piece", ["<", '<a b="', "<a ", "&#", '"<a "', "<img alt=", '<img alt="x" '])
def test_first_words_are_found_in_time_by_the_length(piece: str):
    def seconds(size: int) -> float:
        started = time.process_time()
        words_in(piece * (size // len(piece)))
        return time.process_time() - started

    assert seconds(500_000) < 20 * max(min(seconds(50_000) for _ in range(3)), 0.002)

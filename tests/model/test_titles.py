"""What a chapter's number says is not said again by its title."""

import pytest

from tsuzuki.model.titles import beside_number


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

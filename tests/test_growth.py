"""The measure of `tests/growth.py` itself: what it finds, and what it leaves alone."""

import re

import pytest

from tests.growth import growth


def repeated(size: int) -> str:
    return "a" * size


@pytest.mark.parametrize("size", [1000, 5000])
def test_time_that_grows_by_the_square_is_found(size: int):
    assert growth(re.compile("a*b").search, repeated, size) is not None


@pytest.mark.parametrize("size", [1000, 5000])
def test_time_that_grows_with_the_text_is_left_alone(size: int):
    assert growth(re.compile("(?:a|b)*b").match, repeated, size) is None
    assert growth(lambda text: sorted(f"{text}b"), repeated, size) is None
    assert growth(sum, range, size) is None

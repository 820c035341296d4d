"""What a feed lists is recognised in time that grows with what it lists, whatever it lists."""

import pytest

from tests.growth import must_be_linear
from tsuzuki.model.harvest import FoundItem
from tsuzuki.model.ids import FeedId
from tsuzuki.polling.known_items import KnownItem, recognise

PAGE = "example.org/podcast"


def one_page(count: int) -> tuple[dict[str, FoundItem], list[KnownItem]]:
    """New keys at every poll, and one page for all that there ever was."""
    found = {f"new {n}": FoundItem(key=f"new {n}", title="x", link=None, link_key=PAGE) for n in range(count)}
    return found, [KnownItem(FeedId(1), f"old {n}", PAGE, n.to_bytes(16)) for n in range(count)]


def one_key(count: int) -> tuple[dict[str, FoundItem], list[KnownItem]]:
    """Items that all may be what is stored under any of their keys."""
    keys = tuple(f"old {n}" for n in range(6))
    found = {f"new {n}": FoundItem(key=f"new {n}", title="x", link=None, other_keys=keys) for n in range(count)}
    return found, [KnownItem(FeedId(1), key, None, b"") for key in keys]


@pytest.mark.parametrize("make", [one_page, one_key])
def test_ten_times_as_many_take_ten_times_as_long(make):
    must_be_linear(lambda listed: recognise(listed[0], listed[1], {}), make, 500)

"""What a full listing says of the stored releases."""

from tests.builders import NOON
from tsuzuki.ingest.listings import KnownRelease, ReleaseInListing, compare
from tsuzuki.model.times import DAY, Millis


def listed(key, *, url=None, source_key=None, content=b"1"):
    return ReleaseInListing(key, content, source_key, url or f"https://example.org/{key}")


def known(key, **over):
    row = {"url": f"https://example.org/{key}", "source_key": None, "content_hash": b"1"}
    return KnownRelease(key=key, **(row | {"is_available": True, "absences": 0, "last_seen_at": NOON} | over))


def test_what_is_stored_as_it_is_listed_asks_for_nothing():
    result = compare([listed("1")], [known("1")], NOON)
    assert (result.changed, result.seen, result.absent) == ({}, (), ())


def test_what_is_new_or_changed_is_for_ingest():
    result = compare([listed("2"), listed("1", content=b"2")], [known("1")], NOON)
    assert result.changed == {"2": None, "1": None}


def test_r100_a_release_is_marked_as_seen_once_a_day():
    assert compare([listed("1")], [known("1")], Millis(NOON + DAY - 1)).seen == ()
    assert compare([listed("1")], [known("1")], Millis(NOON + DAY)).seen == ("1",)


def test_r100_a_release_that_returns_is_marked_at_once():
    assert compare([listed("1")], [known("1", absences=1)], NOON).seen == ("1",)
    assert compare([listed("1")], [known("1", absences=2, is_available=False)], NOON).seen == ("1",)


def test_r100_an_unavailable_release_is_not_counted_for_ever():
    assert compare([], [known("1", absences=1), known("2", absences=2, is_available=False)], NOON).absent == ("1",)


def test_r101_the_same_address_is_the_same_release():
    result = compare([listed("n:1/b", url="u")], [known("n:1/a", url="u")], NOON)
    assert (result.changed, result.absent) == ({"n:1/b": "n:1/a"}, ())


def test_r101_the_same_source_key_is_the_same_release():
    before = known("n:1/a", url="u", source_key="x")
    result = compare([listed("id:x", url="elsewhere", source_key="x")], [before], NOON)
    assert (result.changed, result.absent) == ({"id:x": "n:1/a"}, ())


def test_r101_an_address_that_several_share_tells_nothing():
    listing = [listed("n:1/b", url="u"), listed("n:2/b", url="u")]
    result = compare(listing, [known("n:1/a", url="u")], NOON)
    assert (result.changed, result.absent) == ({"n:1/b": None, "n:2/b": None}, ("n:1/a",))


def test_r101_a_release_that_is_still_listed_is_not_renamed():
    listing = [listed("n:1/a", url="u"), listed("n:1/b", url="u")]
    assert compare(listing, [known("n:1/a", url="u")], NOON).changed == {"n:1/b": None}

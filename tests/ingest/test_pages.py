"""Page lists of releases."""

from tests.builders import NOON, a_new_chapter, a_new_release, stored_series, stored_series_source, stored_source
from tsuzuki.db.queries import parse_queries
from tsuzuki.ingest.chapters import pageless_releases_tx, save_pages_tx, upsert_chapters_tx, upsert_releases_tx
from tsuzuki.model.harvest import FoundPage

q = parse_queries("tests", "-- name: pages\nselect url from page where release_id = :id order by position;")


def some_pages(count: int, word: str) -> list[FoundPage]:
    return [FoundPage(index, f"https://example.org/{word}/{index}") for index in range(count)]


async def test_a_list_that_is_read_again_replaces_the_one_before(db):
    """R63, REL-17: what is surplus goes."""
    series = await stored_series(db)
    mapping = await stored_series_source(db, series, await stored_source(db))
    await db.with_tx(lambda tx: upsert_chapters_tx(tx, series, [a_new_chapter(1)], NOON))
    await db.with_tx(lambda tx: upsert_releases_tx(tx, series, mapping, [a_new_release(1)], now=NOON))
    [release] = await db.read(lambda tx: pageless_releases_tx(tx, mapping, 10))
    await db.with_tx(lambda tx: save_pages_tx(tx, release.id, some_pages(3, "a"), NOON))
    await db.with_tx(lambda tx: save_pages_tx(tx, release.id, some_pages(2, "b"), NOON))
    urls = await db.read(lambda tx: tx.many(str, q.pages, id=release.id))
    assert urls == ["https://example.org/b/0", "https://example.org/b/1"]
    assert await db.read(lambda tx: pageless_releases_tx(tx, mapping, 10)) == []

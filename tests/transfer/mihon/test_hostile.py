"""What is made to hurt ends in a sentence, within the limits of a parser process, while others are served."""

import asyncio
import gzip
import time

import pytest

from tests.transfer.imports.builders import an_importer
from tests.transfer.mihon.builders import MANGADEX, UUID, a_backup, a_manga
from tsuzuki.model.errors import Invalid
from tsuzuki.parsing.pool import ParsePool, PoolOptions
from tsuzuki.transfer.mihon.wire import bytes_field, number_field, text_field

MINI = b"\x82\x01\x00"  # a chapter of nothing, in three bytes
HEAD = number_field(1, 1) + text_field(2, "u")


def nested(depth: int) -> bytes:
    body = b""
    for _ in range(depth):
        body = bytes_field(777, body)
    return body


HOSTILE = {
    "ten million chapters of one series": (bytes_field(1, HEAD + MINI * 10_000_000), "more than 50,000 chapters"),
    "chapters of many series": (bytes_field(1, HEAD + MINI * 49_000) * 12, "more than 500,000 chapters"),
    "a million series": (bytes_field(1, HEAD) * 1_000_000, "more than 20,000 series"),
    "gzip in gzip": (gzip.compress(gzip.compress(b"\0" * 90_000_000)), "damaged"),
    "a bomb": (gzip.compress(b"\0" * 90_000_000), "larger than 56 MB"),
    "a bomb below the limit": (gzip.compress(text_field(9, " " * 20_000_000)), "larger than 56 MB"),
    "nothing but categories": (bytes_field(2, text_field(1, "a")) * 900_000, "more than 2 MB beside its series"),
    "a category for every place": (
        b"".join(bytes_field(2, text_field(1, "a") + number_field(2, n)) for n in range(2_000)),
        "more categories or sources",
    ),
    "a length of all there is": (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "ends in the middle"),
    "a message as deep as it is long": (a_backup(a_manga(extra=nested(1_000)))[:-1], "ends in the middle"),
}


@pytest.mark.parametrize(("body", "why"), HOSTILE.values(), ids=HOSTILE)
async def test_what_is_made_to_hurt_ends_in_a_sentence(db, tmp_path, body, why):
    async with ParsePool(PoolOptions()) as parsers:
        importer = await an_importer(db, tmp_path, parsers)
        began, gaps = time.monotonic(), []

        async def serve_others() -> None:
            while True:
                at = time.monotonic()
                await asyncio.sleep(0.01)
                gaps.append(time.monotonic() - at)

        serving = asyncio.create_task(serve_others())
        with pytest.raises(Invalid, match=why):
            await importer.show("hostile.tachibk", body)
        serving.cancel()
        assert time.monotonic() - began < 60
        assert max(gaps, default=0) < 2


async def test_depth_that_nobody_looks_into_does_no_harm(db, tmp_path):
    async with ParsePool(PoolOptions()) as parsers:
        importer = await an_importer(db, tmp_path, parsers)
        done = await importer.import_file("deep.tachibk", a_backup(a_manga(extra=nested(20_000))))
        assert (done.status, done.preview.counts) == ("done", {"series": 1, "follows": 1})


async def test_series_that_are_made_of_each_other_do_no_harm(db, tmp_path):
    """A cycle, and more references than anybody has."""
    importer = await an_importer(db, tmp_path)
    await importer.add_mangadex()
    urls = [f"/manga/{UUID[:-1]}{n}" for n in range(2)]
    parts = b"".join(bytes_field(600, text_field(7, url) + number_field(8, MANGADEX)) for url in urls * 30_000)
    backup = a_backup(*(a_manga(MANGADEX, url, f"Series {n}", extra=parts) for n, url in enumerate(urls)))
    done = await importer.import_file("cycle.tachibk", backup)
    assert (done.status, done.error, done.preview.counts) == ("done", None, {"series": 2, "follows": 2})
    again = await importer.import_file("cycle.tachibk", backup)
    assert again.report is not None
    assert again.report.parts["series"].created == 0

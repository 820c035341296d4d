"""A large library comes in within a minute, portion by portion."""

import time

import pytest

from tests.scale import scaled
from tests.transfer.imports.builders import an_importer
from tests.transfer.mihon.builders import UNKNOWN, a_backup, a_chapter, a_manga, packed
from tsuzuki.parsing.pool import ParsePool, PoolOptions

SERIES, EACH = scaled(10, 300), scaled(100, 134)
CHAPTERS = SERIES * EACH
"""Of all of them together."""


@pytest.mark.soak
async def test_a_large_library_comes_in_within_a_minute(db, tmp_path):
    each = EACH
    manga = [
        a_manga(
            UNKNOWN,
            f"/manga/{n}",
            f"Series {n}",
            chapters=[
                a_chapter(
                    f"/c/{n}/{m}", f"Chapter {m}", number=m, read=m % 2, order=each - m, uploaded=1_700_000_000_000
                )
                for m in range(each)
            ],
            history=[(f"/c/{n}/{m}", 1_700_000_000_000 + m) for m in range(1, each, 2)],
        )
        for n in range(SERIES)
    ]
    async with ParsePool(PoolOptions()) as parsers:
        importer = await an_importer(db, tmp_path, parsers)
        began = time.monotonic()
        done = await importer.import_file("large.tachibk", packed(a_backup(*manga)))
        took = time.monotonic() - began
    assert (done.status, done.error) == ("done", None)
    assert done.report is not None
    assert {part: counts.created for part, counts in done.report.parts.items() if counts.created} == {
        "series": SERIES,
        "chapters": CHAPTERS,
    }
    assert took < 60

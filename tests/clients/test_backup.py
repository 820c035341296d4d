"""Backups go to Mihon's own library and come from it."""

import asyncio
import time

import pytest

from tests.builders import HERE, NOON
from tests.scale import scaled
from tests.transfer.imports.builders import an_importer
from tests.transfer.mihon.builders import MANGADEX, UUID, packed
from tests.transfer.mihon.test_import import BACKUP, READ_AT
from tsuzuki.connectors.registry import Registry, builtin
from tsuzuki.parsing.pool import ParsePool, PoolOptions
from tsuzuki.transfer.mihon.export import MihonExport

pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]


async def run(program: list[str], *said: str) -> list[str]:
    """What the program printed."""
    process = await asyncio.create_subprocess_exec(*program, *said, stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    assert process.returncode == 0
    return printed.decode().splitlines()


async def test_mihons_library_reads_our_backup(db, tmp_path, backup_program):
    importer = await an_importer(db, tmp_path)
    await importer.add_mangadex()
    await importer.import_file("app.mihon.tachibk", packed(BACKUP))
    file = await MihonExport(db, HERE, Registry(builtin()), lambda: NOON).write(importer.reader.shelf_id)
    (tmp_path / file.name).write_bytes(file.body)
    lines = await run(backup_program, "read", str(tmp_path / file.name))
    assert [line for line in lines if line.startswith("category")] == ["category 0 Action", "category 1 Comedy"]
    assert f"manga {MANGADEX} /manga/{UUID} true [1, 0] [] Solo" in lines
    assert any(line.startswith("manga") and line.endswith("false [] [] Only read") for line in lines)
    assert "chapter /chapter/2 2.0 false 7" in lines
    assert "chapter /c/10.1 10.1 true 0" in lines
    assert f"history /chapter/2 {READ_AT}" in lines


async def test_we_read_the_backup_of_mihons_library(db, tmp_path, backup_program):
    importer = await an_importer(db, tmp_path)
    await run(backup_program, "write", str(tmp_path / "theirs.tachibk"))
    done = await importer.import_file("theirs.tachibk", (tmp_path / "theirs.tachibk").read_bytes())
    assert (done.status, done.error) == ("done", None)
    shelf = await importer.shelf()
    local, read = shelf["series.jsonl"]
    assert (local["title"], local["follow"]["group"], read["title"], "follow" in read) == (
        "Local",
        "Action",
        "Only read",
        False,
    )
    progress = {one["key"]: one.get("progress", {}) for one in shelf["chapters.jsonl"]}
    assert progress["1"]["is_read"]
    assert (progress["10.1"]["page"], progress["10.1"]["opened_at"]) == (5, 1_700_000_000_000)


@pytest.mark.soak
async def test_a_large_library_comes_out_as_it_came_in(db, tmp_path, backup_program):
    """Compared as Mihon's own library reads both: all that a restore takes is equal."""
    series, each = scaled(20, 300), scaled(30, 134)
    theirs, ours = tmp_path / "theirs.tachibk", tmp_path / "ours.tachibk"
    await run(backup_program, "large", str(theirs), str(series), str(each))
    async with ParsePool(PoolOptions()) as parsers:
        importer = await an_importer(db, tmp_path, parsers)
        began = time.monotonic()
        done = await importer.import_file("theirs.tachibk", theirs.read_bytes())
        took = time.monotonic() - began
        assert (done.status, done.error) == ("done", None)
        file = await MihonExport(db, parsers, Registry(builtin()), lambda: NOON).write(importer.reader.shelf_id)
    ours.write_bytes(file.body)
    said = await run(backup_program, "compare", str(theirs), str(ours))
    assert said == [f"series {series} chapters {series * each} history {series * (each // 3)}"]
    assert took < 60

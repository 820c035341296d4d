"""What a comic app's own library does with a running server."""

import pytest

from tests.api.people import a_running_app
from tests.app import in_settings
from tests.clients.conftest import run
from tests.protocols.komga import a_komga_reader

pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]

SERIES = 40


async def test_komgas_library_reads_every_answer(empty_database_url, tmp_path, comics_program):
    async with a_running_app(tmp_path, database_url=in_settings(empty_database_url)) as app:
        ann = await a_komga_reader(app)
        ids = [await ann.add(f"Series {number:02}", 1, "Extra") for number in range(SERIES - 1)]
        cat = await ann.add("The Lighthouse Cat", 1, 2.5, 3, 4, author="Ines Brook", description="A cat.")
        await ann.add_series("News")
        pair = ann.basic["authorization"].removeprefix("Basic ")
        said = await run(comics_program, "komga", app.client.base, pair, cat)
        assert [said["seen"][0], *said["seen"][2:]] == [cat, *ids]  # The Lighthouse Cat is listed under L, before News
        assert (said["me"], said["libraries"], said["authors"]) == ([ann.user.username], ["1"], ["1"])
        assert (said["collections"], said["deck"], said["latest"]) == (["1"], ["0"], ["3"])
        assert said["title"] == ["The Lighthouse Cat"]
        books = [line.split() for line in said["book"]]
        assert [number for _, number in books] == ["1", "2.5", "3", "4"]
        assert (said["page"], said["counts"], said["reached"]) == (["2"], ["2 1 1"], ["2.5"])
        assert said["next"] == [books[1][0]]

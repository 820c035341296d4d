"""The dashboard tells what waits, what fails, what is slow and how much there is."""

import re

from tests.crawl.builders import a_dead_letter, the_admin, until_over
from tests.web.desk.stage import Desk, a_desk


def cells(text: str, row: str) -> list[str]:
    """The cells of the table's row that begins with this, without their markup."""
    [found] = re.findall(rf'<tr><th scope="row">{re.escape(row)}</th>(.*?)</tr>', text, re.DOTALL)
    return [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", found, re.DOTALL)]


def section(text: str, name: str) -> str:
    [found] = re.findall(rf'<section class="card" aria-labelledby="{name}">(.*?)</section>', text, re.DOTALL)
    return str(found)


async def crawl(desk: Desk) -> str:
    queued = await desk.operator.send(f"{desk.source}/crawl")
    [job] = re.findall(r"/admin/jobs/([\w-]+)\?", queued.headers["location"])
    return str((await until_over(await the_admin(desk.town), job))["status"])


async def test_what_waits_what_fails_and_what_is_slow_is_told(tmp_path):
    async with a_desk(tmp_path) as desk:
        before = (await desk.operator.see("/admin")).text
        assert cells(before, "poll-source")[0] == "1"  # the comic that was mapped has not been called yet
        assert "No source fails." in section(before, "failing")
        assert "No source was called" in section(before, "slowest")
        desk.town.crew.start()
        assert await crawl(desk) == "done"
        desk.site.is_down = True
        assert await crawl(desk) == "failed"
        await desk.town.crew.stop()
        await a_dead_letter(desk.town.db, desk.town.time())
        after = (await desk.operator.see("/admin")).text
    assert f'href="{desk.source}"' in section(after, "failing")
    assert re.search(r"failed [1-9]\d* times", section(after, "failing"))  # a scheduled poll may have met it too
    assert f'href="{desk.source}"' in section(after, "slowest")
    assert cells(after, "nobody")[-1] == "1"
    assert int(cells(after, "crawl")[4]) >= 1  # done in a minute
    assert re.search(r"<dt>Watched</dt><dd>[1-9]", section(after, "storage"))

"""The dashboard tells what waits, what fails, what is slow and how much there is."""

import re

import msgspec

from tests.builders import a_public_id
from tests.crawler.builders import a_dead_letter, the_admin, until_over
from tests.web.admin.builders import AdminSite, an_admin_site
from tests.web.guests import a_guest
from tsuzuki.model.times import MINUTE, Millis
from tsuzuki.queue.workers import WorkerProcess, Workers


def cells(text: str, row: str) -> list[str]:
    """The cells of the table's row that begins with this, without their markup."""
    [found] = re.findall(rf'<tr><th scope="row">{re.escape(row)}</th>(.*?)</tr>', text, re.DOTALL)
    return [re.sub(r"<[^>]+>", "", cell).strip() for cell in re.findall(r"<td[^>]*>(.*?)</td>", found, re.DOTALL)]


def section(text: str, name: str) -> str:
    [found] = re.findall(rf'<section class="card[^"]*" aria-labelledby="{name}">(.*?)</section>', text, re.DOTALL)
    return str(found)


async def crawl(admin_site: AdminSite) -> str:
    queued = await admin_site.operator.send(f"{admin_site.source}/crawl")
    [job] = re.findall(r"/admin/jobs/([\w-]+)\?", queued.headers["location"])
    return str((await until_over(await the_admin(admin_site.app), job))["status"])


async def test_what_waits_what_fails_and_what_is_slow_is_told(tmp_path):
    async with an_admin_site(tmp_path) as admin_site:
        before = (await admin_site.operator.see("/admin")).text
        assert cells(before, "poll-source")[0] == "1"  # the comic that was mapped has not been called yet
        assert "No failing sources." in section(before, "failing")
        assert "No source was called" in section(before, "slowest")
        admin_site.app.worker_loops.start()
        assert await crawl(admin_site) == "done"
        admin_site.site.is_down = True
        assert await crawl(admin_site) == "failed"
        await admin_site.app.worker_loops.stop()
        await a_dead_letter(admin_site.app.db, admin_site.app.time())
        after = (await admin_site.operator.see("/admin")).text
    assert f'href="{admin_site.source}"' in section(after, "failing")
    assert re.search(r"[1-9]\d* failed", section(after, "failing"))  # a scheduled poll may have met it too
    assert f'href="{admin_site.source}"' in section(after, "slowest")
    assert cells(after, "nobody")[-1] == "1"
    assert int(cells(after, "crawl")[4]) >= 1  # done in a minute
    assert re.search(r"<dt>Watched feeds and series</dt><dd>[1-9]", section(after, "storage"))


async def test_feeds_that_fail_are_on_the_dashboard(reader):
    """The worst few, how many there are, and where all of them are; never the address of one."""
    operator = await a_guest(reader.app, await reader.app.admin())
    shown = section((await operator.see("/admin")).text, "failing-feeds")
    assert "The server answered 503 (Service Unavailable)." in shown
    assert "failed 3 times in a row" in shown
    assert '<a href="/admin/feeds">1 failing feed</a>' in shown
    listed = (await operator.see("/admin/feeds")).text
    assert "The server answered 503 (Service Unavailable)." in listed
    [failing] = await reader.app.reading.subscriptions.list(reader.sample_shelf.shelf, status="error")
    assert failing.link not in listed
    assert 'class="pager"' not in listed
    assert (await reader.guest.see("/admin/feeds")).status == 403


async def test_r125_workers_are_listed_with_their_tasks_and_losses(tmp_path):
    async with an_admin_site(tmp_path) as admin_site:
        db, now = admin_site.app.db, admin_site.app.time
        nobody = section((await admin_site.operator.see("/admin")).text, "workers")
        one = WorkerProcess(
            id=a_public_id(), host="<box>", pid=7, queues=("poll-source", "crawl"), doing={}, started_at=now()
        )
        other = msgspec.structs.replace(one, id=a_public_id(), host="other", pid=8)
        await Workers(db, now).beat(one, {"crawl": 2})
        await Workers(db, lambda: Millis(now() - 5 * MINUTE)).beat(other, {})
        shown = (await admin_site.operator.see("/admin")).text
    assert "No worker is running: nothing is fetched or delivered." in nobody
    assert "No worker is running" not in shown
    one_row, other_row = (
        " ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in re.findall(r'<li class="worker">(.*?)</li>', shown)
    )
    assert one_row.startswith("&lt;box&gt;:7 Works on poll-source, crawl since ")
    assert re.search(r"Seen \d.* ago crawl 2$", one_row)
    assert other_row.endswith("Lost, last seen 5 min ago")

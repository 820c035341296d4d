"""Why nothing new comes, where a reader would wonder: while all sources are paused, and where one is switched off."""

from collections.abc import AsyncIterator
from html import unescape
from typing import Any

import msgspec
import pytest

from tests.api.people import RunningApp, Visitor, a_running_app
from tests.delivery.builders import subscribe
from tests.web.gallery import Gallery, hang
from tests.web.guests import Guest, a_guest
from tests.web.sample_shelf import a_feed
from tsuzuki.accounts.types import SYSTEM
from tsuzuki.model.ids import show_id
from tsuzuki.model.times import iso
from tsuzuki.sources.types import SourceChange

SAID = "An administrator has paused all sources"
UNTIL = "Nothing new arrives until they are resumed"


class PausedReader(msgspec.Struct, frozen=True):
    """A reader who follows a series and a feed."""

    app: RunningApp
    guest: Guest
    visitor: Visitor
    gallery: Gallery
    series: str
    feed: str

    async def data(self, path: str) -> Any:
        return (await self.visitor.get(path)).json()["data"]

    async def words(self, path: str) -> str:
        return " ".join(unescape((await self.guest.see(path)).text).split())

    @property
    def paths(self) -> tuple[str, ...]:
        return (
            "/discover",
            f"/discover/sources/{self.gallery.site}",
            f"/series/{self.series}",
            "/feeds",
            "/feeds?part=rows",
            f"/feeds/{self.feed}",
        )


@pytest.fixture
async def reader(tmp_path) -> AsyncIterator[PausedReader]:
    async with a_running_app(tmp_path) as app:
        user = await app.add()
        shelf = (await app.accounts.current_user.shelf_of(user)).id
        gallery = await hang(app, shelf)
        series = await gallery.follow("The Harbour")
        await subscribe(app.db, shelf, await a_feed(app, "Harbour Log"))
        [feed] = await app.reading.subscriptions.list(shelf)
        visitor = await app.with_token(user, "read")
        yield PausedReader(app, await a_guest(app, user), visitor, gallery, series, show_id(feed.public_id))


async def test_a_pause_is_shown_with_its_reason_everywhere(reader):
    for path in reader.paths:
        assert SAID not in await reader.words(path), path
    await reader.app.crawling.sources.pause(SYSTEM, "Moving to <a new> machine")
    for path in reader.paths:
        text = await reader.words(path)
        assert SAID in text, path
        assert "“Moving to <a new> machine”" in text, path
        assert UNTIL in text, path
        assert "<a new>" not in (await reader.guest.see(path)).text, path  # I7


async def test_a_pause_without_reason_reads_well_and_ends(reader):
    await reader.app.crawling.sources.pause(SYSTEM, None)
    text = await reader.words("/feeds")
    assert SAID in text
    assert "“" not in text.partition(SAID)[2].partition("</p>")[0]
    assert "next check" not in text  # nobody knows when
    await reader.app.crawling.sources.resume(SYSTEM, None)
    for path in reader.paths:
        assert SAID not in await reader.words(path), path
    assert "next check" in await reader.words("/feeds")


async def test_nothing_is_offered_that_would_be_about_nothing(reader):
    series, feeds = f"/series/{reader.series}", "/feeds"
    assert "Check for chapters" in await reader.words(series)
    assert "Check all now" in await reader.words(feeds)
    await reader.guest.send(f"/feeds/{reader.feed}/suspend", {"suspended": "on"})
    assert "Check all now" not in await reader.words(feeds)
    await reader.app.crawling.sources.pause(SYSTEM, None)
    assert "Check for chapters" not in await reader.words(series)


async def test_following_during_a_pause_says_when_it_is_checked(reader):
    await reader.app.crawling.sources.pause(SYSTEM, None)
    await reader.guest.send("/feeds/refresh")
    assert "will be checked when sources are resumed" in await reader.words("/feeds")


async def test_clients_are_told_of_a_pause_beside_what_they_read(reader):
    ways = ("/sources", "/feeds", f"/series/{reader.series}")
    sources, feeds, series = [await reader.data(path) for path in ways]
    assert (sources[0]["health"]["paused_at"], feeds[0]["fetch_state"]["paused_at"]) == (None, None)
    assert series["sources"][0]["stopped_by"] is None
    pause = await reader.app.crawling.sources.pause(SYSTEM, "moving")
    assert pause is not None
    sources, feeds, series = [await reader.data(path) for path in ways]
    health, state, source = sources[0]["health"], feeds[0]["fetch_state"], series["sources"][0]
    assert (health["status"], health["paused_at"], health["paused_reason"]) == ("paused", iso(pause.at), "moving")
    assert (state["paused_at"], state["paused_reason"]) == (iso(pause.at), "moving")
    assert (source["health"], source["stopped_by"], source["stopped_reason"]) == ("paused", "paused", "moving")


async def test_a_series_says_why_a_source_of_it_is_off(reader):
    path, site = f"/series/{reader.series}", reader.gallery.site
    await reader.app.crawling.sources.change(SYSTEM, site, SourceChange(is_enabled=False), reason=None)
    assert "This source is disabled. An administrator can enable it." in await reader.words(path)
    assert "Check for chapters" not in await reader.words(path)  # there is nobody to ask
    [source] = (await reader.data(path))["sources"]
    assert (source["health"], source["stopped_by"]) == ("off", "source_off")

"""Discover: by an address, from a source's lists, with its filters, and while a source is away."""

import re
from collections.abc import AsyncIterator
from html import unescape

import msgspec
import pytest
from starlette.datastructures import QueryParams

from tests.api.people import RunningApp
from tests.catalogue.builders import a_browsing_app, a_site
from tests.catalogue.sample import Plan, Sample, a_sample
from tests.net.builders import answer
from tests.polling.builders import a_feed as a_feed_text
from tests.polling.builders import a_publisher
from tests.web.guests import Guest, a_guest, error_of
from tsuzuki.connectors.filters import (
    CheckBox,
    Filter,
    FilterGroup,
    FilterValue,
    Header,
    Select,
    Sort,
    SortState,
    TextFilter,
    TriState,
)
from tsuzuki.connectors.mangadex.connector import MangaDex, MangaDexConfig
from tsuzuki.web.discover import fields_of, values_of


class DiscoverSetup(msgspec.Struct, frozen=True):
    """A site, a source for it, and somebody who looks around."""

    app: RunningApp
    sample: Sample
    site: int
    guest: Guest

    @property
    def path(self) -> str:
        return f"/discover/sources/{self.site}"

    def address(self, index: int) -> str:
        return f"{self.sample.url}/era1/s/{index}"


@pytest.fixture
async def setup(tmp_path, database_url) -> AsyncIterator[DiscoverSetup]:
    async with (
        a_sample(Plan(series=40, chapters=200)) as sample,
        a_browsing_app(tmp_path, database_url, sample) as app,
    ):
        yield DiscoverSetup(app, sample, await a_site(app, sample), await a_guest(app, await app.add()))


def titles(text: str) -> list[str]:
    return re.findall(r'class="series-title">([^<]+)<', text)


# -- by an address


async def test_a_pasted_series_address_leads_to_its_preview(setup):
    found = await setup.guest.send("/discover/find", {"url": setup.address(7)})
    assert found.status == 303
    preview = await setup.guest.see(found.headers["location"])
    assert "The Tale of 007" in preview.text
    assert "About 7." in preview.text
    action = re.search(r'action="(/series/[^"]+/follow)"', preview.text)
    assert action is not None
    followed = await setup.guest.send(action[1])
    assert "Followed." in (await setup.guest.see(followed.headers["location"])).text
    assert titles((await setup.guest.see("/library")).text) == ["The Tale of 007"]
    again = await setup.guest.send("/discover/find", {"url": setup.address(7)})
    assert again.headers["location"] == found.headers["location"]
    assert "In your library" in (await setup.guest.see(found.headers["location"])).text


async def test_a_series_found_by_address_equals_the_listed_one(setup):
    by_address = (await setup.guest.send("/discover/find", {"url": setup.address(3)})).headers["location"]
    listed = await setup.guest.see(setup.path)
    assert re.findall(r'href="(/discover/series/\d+)"', listed.text)[3] == by_address


async def test_what_is_no_series_is_looked_at_as_a_feed(setup):
    async with a_publisher() as publisher:
        publisher.response = answer(200, a_feed_text("one", title="A Feed"), content_type="text/xml")
        passed_on = await setup.guest.send("/discover/find", {"url": publisher.url})
        assert (passed_on.status, passed_on.headers["location"]) == (307, "/feeds/find")
        assert "A Feed" in (await setup.guest.send("/feeds/find", {"url": publisher.url})).text
    missing = await setup.guest.send("/discover/find", {"url": f"{setup.sample.url}/era1/s/4000"})
    assert missing.status == 307


async def test_bad_addresses_are_answered_beside_their_field(setup):
    empty = await setup.guest.send("/discover/find", {"url": " "})
    assert (empty.status, error_of(empty, "url")) == (400, "Enter an address.")


@pytest.mark.parametrize(
    ("url", "key"),
    [
        (
            "https://mangadex.org/title/a1c7c817-4e59-43b7-9365-09675a149a6f/name",
            "a1c7c817-4e59-43b7-9365-09675a149a6f",
        ),
        ("https://mangadex.org/chapter/a1c7c817-4e59-43b7-9365-09675a149a6f", None),
        ("https://example.org/title/a1c7c817-4e59-43b7-9365-09675a149a6f", None),
        ("https://mangadex.org/title/latest", None),
        ("nonsense", None),
    ],
)
def test_mangadex_knows_its_own_titles_by_their_address(url, key):
    connector = MangaDex()
    found = connector.series_at(MangaDexConfig(), url)
    assert (found and found.key) == key


# -- from a source's lists


async def test_sources_are_listed_with_how_they_fare(setup):
    page = await setup.guest.see("/discover")
    assert f'href="{setup.path}"' in page.text
    assert "OK" in page.text
    assert 'href="/feeds/import"' in page.text
    assert "No source with this name." in (await setup.guest.see("/discover?q=zzz")).text


async def test_a_source_is_browsed_page_by_page(setup):
    first = await setup.guest.see(setup.path)
    assert titles(first.text)[0] == "The Tale of 000"
    assert len(titles(first.text)) == 30
    onward = re.search(r'href="([^"]+)" rel="next"', first.text)
    assert onward is not None
    second = await setup.guest.see(unescape(onward[1]))
    assert titles(second.text)[0] == "The Tale of 030"
    assert 'rel="next"' not in second.text
    assert titles((await setup.guest.see(f"{setup.path}?list=latest")).text)[0] == "The Tale of 039"


async def test_a_search_takes_text_and_source_filters(setup):
    form = await setup.guest.see(f"{setup.path}?list=search")
    assert "Search this source" in form.text
    assert '<option value="2">Ended</option>' in form.text
    found = await setup.guest.see(f"{setup.path}?list=search&q=00&f0=2&is_sent=on")
    assert titles(found.text) == ["The Tale of 000", "The Tale of 003", "The Tale of 006", "The Tale of 009"]
    assert '<option value="2" selected>Ended</option>' in found.text
    nothing = await setup.guest.see(f"{setup.path}?list=search&q=zzz")
    assert "The source has nothing that matches." in nothing.text


async def test_r64_an_unreachable_source_shows_stored_results_and_says_so(setup):
    await setup.guest.see(setup.path)
    setup.sample.is_down = True
    setup.app.time.pass_(3_600_000)
    stale = await setup.guest.see(setup.path)
    assert len(titles(stale.text)) == 30
    assert "The source is not responding. This is its last known answer" in stale.text
    never = await setup.guest.see(f"{setup.path}?list=latest")
    assert (never.status, "The source is not responding." in never.text) == (200, True)


# -- filters as fields

FILTERS: tuple[Filter, ...] = (
    Header("Words"),
    TextFilter("Author"),
    Select("Status", ("Any", "Ongoing")),
    Sort("Order", ("Title", "Year"), SortState(1)),
    CheckBox("Whole", state=True),
    FilterGroup("Genres", (TriState("Drama"), CheckBox("Short"))),
)


@pytest.mark.parametrize(
    ("query", "values"),
    [
        ("", []),
        ("f1=Ann&f2=1", [FilterValue("Author", "Ann"), FilterValue("Status", 1)]),
        ("f1=&f2=0&f3=1&f4=on&f5.0=0&is_sent=on", []),
        ("f2=9&f3=7&f5.0=5&f9=1&f2.0=1", []),
        ("f3=1&f3.asc=on", [FilterValue("Order", SortState(1, ascending=True))]),
        ("is_sent=on", [FilterValue("Whole", state=False)]),
        (
            "f5.0=2&f5.1=on&f4=on&is_sent=on",
            [FilterValue("Drama", 2, "Genres"), FilterValue("Short", state=True, group="Genres")],
        ),
    ],
)
def test_only_changed_filters_are_sent_and_nonsense_dropped(query, values):
    assert list(values_of(FILTERS, QueryParams(query))) == values


def test_the_form_shows_what_was_chosen():
    shown = fields_of(FILTERS, QueryParams("f1=Ann&f3=0&f3.asc=on&f5.0=2&is_sent=on"))
    assert [field.kind for field in shown] == ["header", "text", "select", "sort", "checkbox", "group"]
    assert [field.value for field in shown] == ["", "Ann", "0", "0", "", ""]
    assert shown[3].is_ascending
    assert [(inner.name, inner.value) for inner in shown[5].fields] == [("f5.0", "2"), ("f5.1", "")]

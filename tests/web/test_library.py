"""The library, the pages of series and the history, as a browser without scripts sees them."""

import re
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from tests.api.people import RunningApp, a_running_app
from tests.app import Answer
from tests.web.gallery import Gallery, hang
from tests.web.guests import Guest, a_guest, value_of
from tsuzuki.model.ids import read_id, show_id
from tsuzuki.model.pages import FROM_THE_TOP
from tsuzuki.shelves.types import ReleasePreferences, ReportedReading


class LibraryReader(msgspec.Struct, frozen=True):
    """Somebody, and what they can read."""

    app: RunningApp
    guest: Guest
    gallery: Gallery

    async def read(self, series: str, number: str, page: int) -> None:
        """They opened a chapter at this page."""
        chapter = await self.gallery.chapter("The Harbour", number)
        public_id = read_id(series)
        assert public_id is not None
        await self.app.reading.progress.report(
            self.gallery.shelf, public_id, chapter, ReportedReading(page=page, page_count=4)
        )


@pytest.fixture
async def library(tmp_path) -> AsyncIterator[LibraryReader]:
    async with a_running_app(tmp_path) as app:
        user = await app.add()
        shelf = (await app.accounts.current_user.shelf_of(user)).id
        yield LibraryReader(app, await a_guest(app, user), await hang(app, shelf))


def query_of(answer: Answer) -> dict[str, list[str]]:
    return parse_qs(urlsplit(answer.headers["location"]).query)


def read_state(page: Answer) -> list[bool]:
    """Whether each chapter is read, the newest first."""
    return ["is-read" in classes for classes in re.findall(r'<li class="(chapter[^"]*)"', page.text)]


# -- the library


async def test_an_empty_library_leads_to_discover(library):
    page = await library.guest.see("/library")
    assert "No series yet." in page.text
    assert '<a class="button" href="/discover">' in page.text


async def test_the_library_shows_covers_unread_counts_and_next_chapters(library):
    series = await library.gallery.follow("The Harbour")
    await library.gallery.follow("The Tower")
    await library.read(series, "1", 2)
    page = await library.guest.see("/library")
    assert re.findall(r'class="series-title">([^<]+)<', page.text) == ["The Harbour", "The Tower"]
    assert re.findall(r'class="badge" title="([^"]+)"', page.text) == ["4 unread", "1 unread"]
    assert "chapters missing" in page.text
    begun = page.text.partition("Continue reading")[2].partition("2 series")[0]
    assert "Chapter 1" in begun
    assert "page 3" in begun


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("?sort=unread", ["The Harbour", "The Tower"]),
        ("?sort=nonsense&page=x", ["The Harbour", "The Tower"]),
        ("?gaps=on", ["The Harbour"]),
        ("?unread=on", ["The Harbour"]),
        ("?status=done", ["The Tower"]),
        ("?status=dropped", []),
        ("?group=nonsense", ["The Harbour", "The Tower"]),
        ("?page=9", []),
    ],
)
async def test_the_library_is_sorted_and_narrowed(library, query, shown):
    await library.gallery.follow("The Harbour")
    tower = await library.gallery.follow("The Tower")
    await library.guest.send(f"/series/{tower}/settings", {"status": "done"})
    await library.guest.send(f"/series/{tower}/mark", {"all": "read"})
    page = await library.guest.see(f"/library{query}")
    assert re.findall(r'class="series-title">([^<]+)<', page.text) == shown


async def test_covers_or_a_list_is_a_choice_that_stays(library):
    await library.gallery.follow("The Harbour")
    assert 'class="covers"' in (await library.guest.see("/library")).text
    answer = await library.guest.send("/library/look", {"look": "list", "view": "sort=added&gaps=on"})
    assert (answer.status, answer.headers["location"]) == (303, "/library?sort=added&gaps=on")
    page = await library.guest.see("/library")
    assert 'class="covers"' not in page.text
    assert "4 unread" in page.text


# -- a series


async def test_a_series_lists_chapters_newest_first_with_gaps(library):
    series = await library.gallery.follow("The Harbour")
    page = await library.guest.see(f"/series/{series}")
    listed = re.findall(r'class="chapter-link" href="[^"]+">([^<]+)<|<li class="gap">([^<]+)<', page.text)
    shown = [chapter or gap for chapter, gap in listed]
    assert shown == ["Chapter 6", "Chapters 4 to 5 are missing", "Chapter 3", "Chapter 2", "Chapter 1"]
    assert "2 chapters are missing: 4–5" in page.text
    assert "Gallery" in page.text


async def test_marking_chapters_up_to_or_all_can_be_undone(library):
    series = await library.gallery.follow("The Harbour")
    second = await library.gallery.chapter("The Harbour", "2")
    marked = await library.guest.send(f"/series/{series}/mark", {"up_to": str(second)})
    page = await library.guest.see(marked.headers["location"])
    assert "2 chapters marked read." in page.text
    assert read_state(page) == [False, False, True, True]
    undone = await library.guest.send("/inbox/undo", {"undo": query_of(marked)["undo"][0], "back": f"/series/{series}"})
    assert urlsplit(undone.headers["location"]).path == f"/series/{series}"
    assert read_state(await library.guest.see(f"/series/{series}")) == [False] * 4
    marked = await library.guest.send(f"/series/{series}/mark", {"all": "read"}, accept="application/json")
    assert marked.json()["data"]["changed"] == 4
    assert read_state(await library.guest.see(f"/series/{series}")) == [True] * 4
    unmarked = await library.guest.send(f"/series/{series}/mark", {"unread": str(second)})
    page = await library.guest.see(unmarked.headers["location"])
    assert "1 chapter marked unread." in page.text
    assert read_state(page) == [True, True, False, True]
    again = await library.guest.send(f"/series/{series}/mark", {"again": value_of(page, "again")})
    page = await library.guest.see(again.headers["location"])
    assert "1 chapter marked read." in page.text
    assert (read_state(page), value_of(page, "undo")) == ([True] * 4, None)
    nothing = await library.guest.send(f"/series/{series}/mark", {"unread": "0"})
    assert query_of(nothing) == {"unmarked": ["0"]}
    assert (await library.guest.send(f"/series/{series}/mark", {})).status == 400


async def test_leaving_a_series_lists_losses_and_following_restores(library):
    series = await library.gallery.follow("The Harbour")
    library.gallery.draw("The Harbour", "Chapter 7")
    await library.gallery.look_again("The Harbour")
    asked = await library.guest.see(f"/series/{series}/unfollow")
    assert "1 unread entry leaves your inbox." in asked.text
    left = await library.guest.send(f"/series/{series}/unfollow")
    page = await library.guest.see(left.headers["location"])
    assert "Unfollowed." in page.text
    assert f'action="/series/{series}/follow"' in page.text
    assert "No series yet." in (await library.guest.see("/library")).text
    back = await library.guest.send(f"/series/{series}/follow")
    assert "Followed. 4 chapters are ready to read" in (await library.guest.see(back.headers["location"])).text
    again = await library.guest.send(f"/series/{series}/follow")
    assert "You already follow it." in (await library.guest.see(again.headers["location"])).text


async def test_how_a_series_is_followed_is_kept(library):
    series = await library.gallery.follow("The Harbour")
    group = await library.app.reading.groups.add(library.gallery.shelf, "Sea")
    public_id = read_id(series)
    await library.guest.send(f"/series/{series}/reading", {"mode": "rtl", "fit": "width"}, accept="application/json")
    preferences = {
        "status": "plan",
        "group": show_id(group.public_id),
        "source": str(library.gallery.site),
        "language": "en",
    }
    saved = await library.guest.send(f"/series/{series}/settings", preferences)
    assert "done=series_saved" in saved.headers["location"]
    follow = (await library.app.reading.series.get(library.gallery.shelf, public_id)).follow
    assert (follow.status, follow.group_id, follow.notify) == ("plan", group.id, False)
    assert follow.preferences == ReleasePreferences((library.gallery.site,), (), ("en",), "rtl", "width")
    wrong = await library.guest.send(f"/series/{series}/settings", {"status": "sleeping"})
    assert (wrong.status, "Choose one of the options." in wrong.text) == (400, True)


async def test_a_chapter_is_kept_seen_coming_and_let_go(library):
    series = await library.gallery.follow("The Harbour")
    page = await library.guest.see(f"/series/{series}")
    release = re.search(r'name="keep" value="(\d+)"', page.text)
    assert release is not None
    kept = await library.guest.send(f"/series/{series}/keep", {"keep": release[1]})
    assert f'data-coming="{release[1]}"' in (await library.guest.see(kept.headers["location"])).text
    dropped = await library.guest.send(f"/series/{series}/keep", {"drop": release[1]})
    page = await library.guest.see(dropped.headers["location"])
    assert "Download removed." in page.text
    assert "data-coming" not in page.text
    again = await library.guest.send(f"/series/{series}/keep", {"keep": value_of(page, "keep")})
    assert "data-coming" in (await library.guest.see(again.headers["location"])).text
    assert (await library.guest.send(f"/series/{series}/keep", {"keep": "9" * 17})).status == 404


async def test_its_sources_are_asked_when_a_reader_wants_to_know(library):
    series = await library.gallery.follow("The Harbour")
    library.gallery.draw("The Harbour", "Chapter 7")
    asked = await library.guest.send(f"/series/{series}/refresh")
    page = await library.guest.see(asked.headers["location"])
    assert "Its sources were checked." in page.text
    assert "Chapter 7" in page.text
    library.gallery.folder.rename(library.gallery.folder.with_name("gone"))
    asked = await library.guest.send(f"/series/{series}/refresh")
    page = await library.guest.see(asked.headers["location"])
    assert "None of its sources is responding." in page.text
    assert "Chapter 7" in page.text


# -- reading without scripts


async def test_a_chapter_can_be_read_and_marked_without_scripts(library):
    series = await library.gallery.follow("The Harbour")
    chapters = {number: await library.gallery.chapter("The Harbour", number) for number in ("1", "2", "3")}
    page = await library.guest.see(f"/series/{series}/chapters/{chapters['2']}")
    images = re.findall(
        r'<img src="(/api/v1/chapters/\d+/pages/\d+/image)" alt="Page (\d) of 4" loading="(\w+)"', page.text
    )
    assert [(number, loading) for _, number, loading in images] == [
        ("1", "eager"),
        ("2", "eager"),
        ("3", "lazy"),
        ("4", "lazy"),
    ]
    assert (await library.guest.see(images[3][0])).headers["content-type"] == "image/png"
    assert f'href="/series/{series}/chapters/{chapters["3"]}" data-onward' in page.text
    assert f'href="/series/{series}/chapters/{chapters["1"]}"' in page.text
    await library.guest.send(f"/series/{series}/mark", {"read": str(chapters["2"])})
    assert "Mark unread" in (await library.guest.see(f"/series/{series}/chapters/{chapters['2']}")).text


async def test_the_reader_offers_its_position_and_reports_lost_pages(library):
    series = await library.gallery.follow("The Harbour")
    await library.read(series, "1", 2)
    first = await library.gallery.chapter("The Harbour", "1")
    page = await library.guest.see(f"/series/{series}/chapters/{first}")
    assert '<a class="button quiet small" href="#p2">Continue on page 3</a>' in page.text
    assert (await library.guest.see(f"/series/{series}/chapters/{first}?release=999999")).status == 404
    third = await library.gallery.chapter("The Harbour", "3")
    library.gallery.folder.rename(library.gallery.folder.with_name("gone"))
    page = await library.guest.see(f"/series/{series}/chapters/{third}")
    assert "No pages to show" in page.text


# -- the history


async def test_history_is_listed_and_forgotten_without_losing_progress(library):
    series = await library.gallery.follow("The Harbour")
    for number, at in (("1", 3), ("2", 1)):
        await library.read(series, number, at)
    page = await library.guest.see("/history")
    assert re.findall(r'chapters/\d+">([^<]+)<', page.text) == ["Chapter 2", "Chapter 1"]
    assert "finished" in page.text
    assert "page 2" in page.text
    assert "Recently opened" in (await library.guest.see(f"/series/{series}")).text
    second = await library.gallery.chapter("The Harbour", "2")
    forgotten = await library.guest.send("/history/forget", {"chapter": str(second)})
    page = await library.guest.see(forgotten.headers["location"])
    assert "Chapter 2" not in page.text
    undo = {"chapter": value_of(page, "chapter"), "at": value_of(page, "at")}
    back = await library.guest.see((await library.guest.send("/history/recall", undo)).headers["location"])
    assert re.findall(r'chapters/\d+">([^<]+)<', back.text) == ["Chapter 2", "Chapter 1"]
    assert (await library.guest.send("/history/recall", {"chapter": "x", "at": "1"})).status == 400
    await library.guest.send("/history/forget", {"chapter": str(second)})
    assert "Chapter 2" not in (await library.guest.see("/history")).text
    assert (await library.guest.send("/history/forget", {"chapter": "x"})).status == 404
    assert "1 chapter is removed from the history." in (await library.guest.see("/history/clear")).text
    await library.guest.send("/history/clear")
    assert "No history yet." in (await library.guest.see("/history")).text
    assert (await library.app.reading.progress.history(library.gallery.shelf, after=FROM_THE_TOP, most=9)).total == 0
    assert read_state(await library.guest.see(f"/series/{series}")) == [False, False, False, True]

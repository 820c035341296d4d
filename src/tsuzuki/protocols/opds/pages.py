"""Pages by their numbers, covers, and chapters as files."""

from typing import Final

from starlette.responses import Response

from tsuzuki.accounts.policy import may_write
from tsuzuki.books.comic_info import ReleaseFacts
from tsuzuki.http.auth import is_cross_site
from tsuzuki.http.books import answer_chapter
from tsuzuki.http.images import answer_image, wants_whole
from tsuzuki.images.files import cover_of, page_of
from tsuzuki.images.policy import WIDTHS
from tsuzuki.model.errors import NotFound
from tsuzuki.model.ids import ChapterId, ReleaseId, SeriesSourceId
from tsuzuki.protocols.opds.requests import NOTHING, OpdsRequest
from tsuzuki.shelves.types import ReportedReading

MOST_PAGES: Final = 100_000
AHEAD: Final = 3
"""How many pages further a request may be to count as turning them: apps also fetch pages ahead, or all of them."""
DEVICE: Final = "OPDS"


async def answer_page(asked: OpdsRequest) -> Response:
    """A page, counted from 0, always as JPEG: that is what the link to it says."""
    facts = await _facts(asked)
    release_id = facts.release_id
    position, width = asked.number("position"), _width(asked)
    if position >= MOST_PAGES:
        raise NotFound(NOTHING)
    pictures = asked.services.pictures
    image = await pictures.images.show_jpeg(
        page_of(release_id, position), width, user_id=asked.user_id, whole=wants_whole(asked.request)
    )
    if asked.request.method == "GET":
        # HEAD only asks for the size: nobody has turned a page.
        pictures.prefetch.follow(asked.user_id, release_id, position)
        if not is_cross_site(asked.request):  # pictures on any page make a browser fetch them with what it knows
            await _turn(asked, facts.chapter_id, position)
    return answer_image(asked.request, image, f"{release_id}-{position:03}")


def _width(asked: OpdsRequest) -> int:
    """The next larger of the widths that we make; 0 for as wide as it is, also for an app that sends `{maxWidth}`."""
    wanted = asked.params.number("width")
    if wanted is None or wanted < 1:
        return 0
    return next((width for width in WIDTHS if width >= wanted), 0)


async def _facts(asked: OpdsRequest) -> ReleaseFacts:
    """The release in the path, of a series that the shelf follows; NotFound otherwise."""
    asked.must_show("chapter")
    facts = await asked.services.chapter_files.facts(ReleaseId(asked.number("release_id")))
    await asked.services.reading.library.known_chapter(asked.shelf_id, facts.chapter_id)
    return facts


async def _turn(asked: OpdsRequest, chapter_id: ChapterId, position: int) -> None:
    """Move the reading position, where its reader wants that: only forward, and only by a few pages."""
    if not (await asked.services.accounts.preferences.get(asked.user.caller)).opds_turns_pages:
        return
    row = await asked.services.reading.library.chapter(asked.shelf_id, chapter_id)
    before = 0 if row.state == "UNREAD" else row.page
    if row.state == "READ" or not before < position <= before + AHEAD or not may_write(asked.user.shelf.role):
        return
    reading = ReportedReading(page=position, device=DEVICE)
    await asked.services.reading.progress.report(asked.shelf_id, row.series_public_id, row.id, reading)


async def answer_file(asked: OpdsRequest) -> Response:
    """The chapter as CBZ; its name in the path is for the app alone."""
    facts, services = await _facts(asked), asked.services
    return await answer_chapter(
        asked.request,
        services.chapter_files,
        services.pictures.images,
        release_id=facts.release_id,
        user_id=asked.user_id,
    )


async def answer_series_cover(asked: OpdsRequest) -> Response:
    """The cover of a series."""
    asked.must_show("chapter")
    row = (await asked.services.reading.library.get(asked.shelf_id, asked.public_id("series_id"))).row
    return await _answer_cover(asked, row.cover_id)


async def answer_chapter_cover(asked: OpdsRequest) -> Response:
    """The cover of its series: for the first page of the chapter, the source would have to be called."""
    asked.must_show("chapter")
    row = await asked.services.reading.library.chapter(asked.shelf_id, ChapterId(asked.number("chapter_id")))
    return await _answer_cover(asked, row.cover_id)


async def _answer_cover(asked: OpdsRequest, cover_id: int | None) -> Response:
    if cover_id is None:
        raise NotFound("This series has no cover.")
    image = await asked.services.pictures.images.show_jpeg(
        cover_of(SeriesSourceId(cover_id)), _width(asked), user_id=asked.user_id, whole=wants_whole(asked.request)
    )
    return answer_image(asked.request, image, f"cover-{cover_id}")

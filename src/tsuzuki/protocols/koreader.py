"""KOReader's progress sync: five routes. Reports are stored as sent; those on our chapters and articles count here."""

import hashlib
import math
import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tsuzuki.accounts.devices import AppUser
from tsuzuki.accounts.types import Protocol
from tsuzuki.books.articles import KnownArticle
from tsuzuki.books.chapters import KnownDocument
from tsuzuki.books.epub import end_of_book
from tsuzuki.http.errors import HttpFailure
from tsuzuki.http.middleware import FAILURES
from tsuzuki.model.errors import Forbidden, Invalid
from tsuzuki.model.times import SECOND, Millis
from tsuzuki.protocols.access import AppResource, ProtocolDeps
from tsuzuki.protocols.params import read_json
from tsuzuki.shelves.documents import DocumentProgress
from tsuzuki.shelves.types import ChapterProgress, ReportedReading

UNKNOWN, UNAUTHORIZED, REGISTRATION, INVALID, NO_DOCUMENT = 2000, 2001, 2005, 2003, 2004
"""What KOReader knows failures by."""
OURS = "TSUZUKI"
"""A device id that no KOReader has: it marks positions that come from elsewhere."""
_DOCUMENT = re.compile(r"[^:/\x00-\x20]{1,200}")
_LONGEST_PROGRESS = 1_000
_LONGEST_DEVICE = 100
_MOST_PAGES = 100_000
_END = 0.99
"""The share from which a text counts as read: its last page may have a line left."""


def key_of(_username: str, password: str) -> str:
    """What KOReader sends as a password."""
    # KOReader defines it so. Device passwords are random: nobody finds one by trying MD5s.
    return hashlib.md5(password.encode(), usedforsecurity=False).hexdigest()


KOREADER = Protocol(name="koreader", title="KOReader", path="/koreader", digest=key_of)


class NoDocument(Forbidden):
    """The report does not name its document."""

    code = "NO_DOCUMENT"


class KoreaderResource(AppResource):
    """A path below `/koreader`; whatever fails is said as KOReader reads it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request (ASGI)."""
        scope[FAILURES] = _failed
        await super().__call__(scope, receive, send)


def resources(deps: ProtocolDeps) -> Sequence[KoreaderResource]:
    """Everything below `/koreader`."""
    sync = Sync(deps)
    path = KOREADER.path
    return [
        KoreaderResource(f"{path}/users/create", {"POST": _create}, is_public=True),
        KoreaderResource(f"{path}/users/auth", {"GET": sync.authorise}),
        KoreaderResource(f"{path}/syncs/progress", {"PUT": sync.put}),
        KoreaderResource(f"{path}/syncs/progress/{{document:path}}", {"GET": sync.get}),
        KoreaderResource(f"{path}/healthcheck", {"GET": _is_healthy}, is_public=True),
    ]


class Sync(msgspec.Struct, frozen=True):
    """What is answered to those who signed in."""

    deps: ProtocolDeps

    async def authorise(self, request: Request) -> Response:
        """Whether name and password are right."""
        await self._user(request)
        return _answer({"authorized": "OK"})

    async def put(self, request: Request) -> Response:
        """Keep it under its document; a chapter of ours is then read so far, here and everywhere."""
        user = await self._user(request)
        user.must_write()
        try:
            body = await read_json(request, dict[str, Any])
        except Invalid as error:
            raise Forbidden(str(error)) from error  # KOReader's own server answers 403 for what it cannot read
        report = read_report(body, self.deps.clock())
        await self.deps.services.reading.documents.report(user.shelf.id, report)
        known = await self._known(user, report.document)
        if known is not None:
            progress = self.deps.services.reading.progress
            reading = reading_of(report, known.page_count)
            await progress.report(user.shelf.id, known.series_public_id, known.chapter_id, reading)
        elif report.percentage >= _END:
            unread = [one.item_id for one in await self._articles(user, report.document) if one.unread]
            if unread:
                await self.deps.services.inbox.mark_items(user.shelf.id, unread, unread=False)
        return _answer({"document": report.document, "timestamp": report.at // SECOND})

    async def get(self, request: Request) -> Response:
        """The newer of a device's report and the chapter's own progress; empty for an unknown document."""
        user, document = await self._user(request), request.path_params["document"]
        if not _DOCUMENT.fullmatch(document):
            return _answer({})
        found = await self.deps.services.reading.documents.find(user.shelf.id, document)
        known = await self._known(user, document)
        if known is not None:
            progress = self.deps.services.reading.progress
            chapter = await progress.get(user.shelf.id, known.series_public_id, known.chapter_id)
            found = newer(found, chapter, document, known.page_count)
        else:
            found = at_the_end(found, await self._articles(user, document), document)
        if found is None:
            return _answer({})
        said: dict[str, Any] = {
            "document": document,
            "percentage": found.percentage,
            "progress": found.progress,
            "device": found.device,
        }
        if found.device_id is not None:
            said["device_id"] = found.device_id
        return _answer(said | {"timestamp": found.at // SECOND})

    async def _user(self, request: Request) -> AppUser:
        username, key = request.headers.get("x-auth-user", ""), request.headers.get("x-auth-key", "")
        return await self.deps.sign_in(request, KOREADER, username, key.strip())

    async def _articles(self, user: AppUser, document: str) -> Sequence[KnownArticle]:
        """Those of the book that this document is, where the password shows articles."""
        if user.kind == "chapter":
            return []
        return await self.deps.services.article_files.find(user.shelf.id, document)

    async def _known(self, user: AppUser, document: str) -> KnownDocument | None:
        """The chapter that this document is, where the password shows chapters."""
        if user.kind == "item":
            return None
        return await self.deps.services.chapter_files.find(user.shelf.id, document)


# -- what was reported; pure


def read_report(body: dict[str, Any], now: Millis) -> DocumentProgress:
    """What a device says; Forbidden where something is missing, or is none of what it should be."""
    document = body.get("document")
    if not isinstance(document, str) or not _DOCUMENT.fullmatch(document):
        raise NoDocument("Field 'document' not provided.")
    progress, device, device_id = body.get("progress"), body.get("device"), body.get("device_id")
    if isinstance(progress, int | float) and not isinstance(progress, bool):  # some apps send pages as numbers
        progress = str(progress)
    if not isinstance(progress, str) or not 0 < len(progress) <= _LONGEST_PROGRESS:
        raise Forbidden("Field 'progress' not provided.")
    if not isinstance(device, str) or not device:
        raise Forbidden("Field 'device' not provided.")
    return DocumentProgress(
        document=document,
        progress=progress,
        percentage=_percentage(body.get("percentage")),
        device=device[:_LONGEST_DEVICE],
        device_id=device_id[:_LONGEST_DEVICE] if isinstance(device_id, str) else None,
        at=now,
    )


def _percentage(said: object) -> float:
    try:
        number = float(said) if isinstance(said, str | int | float) and not isinstance(said, bool) else math.nan
    except (ValueError, OverflowError):
        number = math.nan
    if math.isnan(number):
        raise Forbidden("Field 'percentage' not provided.")
    return min(max(number, 0.0), 1.0)


def reading_of(report: DocumentProgress, count: int) -> ReportedReading:
    """The place in a chapter of so many pages that KOReader reports.

    By its page, in a text by how much of it was read; at the end the chapter is read.
    """
    page = _page(report.progress)
    if page is None:
        page = math.ceil(report.percentage * max(count, 1))
    page = min(max(page, 1), count if count > 0 else _MOST_PAGES)
    return ReportedReading(
        page=page - 1,
        is_read=True if report.percentage >= 1 else None,
        at=report.at,
        device=report.device,
        page_count=count if count > 0 else None,
    )


def _page(progress: str) -> int | None:
    """A page, counted from 1; None for a place in a text."""
    try:
        number = float(progress)
    except ValueError:
        return None
    return int(min(max(number, 1), _MOST_PAGES)) if math.isfinite(number) else None


def newer(
    report: DocumentProgress | None, chapter: ChapterProgress, document: str, count: int
) -> DocumentProgress | None:
    """The report, unless the chapter was read further elsewhere since; a chapter marked as read is at its end."""
    page, at, device = chapter.page + 1, chapter.paged_at, chapter.device
    # A mark has no page; devices understand it as the last one.
    if chapter.is_read and (chapter.marked_at or 0) > (at or 0):
        page, at, device = count, chapter.marked_at, None
    if at is None or count <= 0 or (report is not None and at <= report.at):
        return report
    page = min(page, count)
    return DocumentProgress(document, str(page), page / count, device or "Tsuzuki", OURS, at)


def at_the_end(
    report: DocumentProgress | None, articles: Sequence[KnownArticle], document: str
) -> DocumentProgress | None:
    """The report, unless every article of the book was read elsewhere since: then the end of the book."""
    if not articles or any(one.unread or one.read_at is None for one in articles):
        return report
    at = max(one.read_at or Millis(0) for one in articles)
    if report is not None and (report.percentage >= _END or at <= report.at):
        return report
    return DocumentProgress(document, end_of_book(articles[-1].place), 1.0, "Tsuzuki", OURS, at)


# -- answers


async def _create(_: Request) -> Response:
    """Nobody registers here; KOReader shows what is said instead."""
    said = "Make a device password under Settings, Device passwords, and log in with it."
    return _answer({"code": REGISTRATION, "message": said}, HTTPStatus.PAYMENT_REQUIRED)


async def _is_healthy(_: Request) -> Response:
    return _answer({"state": "OK"})


def _answer(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def _failed(failure: HttpFailure) -> Response:
    code, said = UNKNOWN, failure.body.error
    if failure.status == HTTPStatus.UNAUTHORIZED:
        code, said = UNAUTHORIZED, "Unauthorized"
    elif failure.status == HTTPStatus.FORBIDDEN:
        code = NO_DOCUMENT if failure.body.code == NoDocument.code else INVALID
    headers = {name: value for name, value in failure.headers.items() if name != "www-authenticate"}
    body = msgspec.json.encode({"code": code, "message": said})
    return Response(body, failure.status, headers, "application/json")

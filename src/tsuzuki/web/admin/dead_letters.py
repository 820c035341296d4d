"""`/admin/dead-letters`: what was given up; replayed or discarded, one by one or all of a kind."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.crawler.dead_letters import DeadLetters
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import Conflict
from tsuzuki.queue.tasks import DeadLetterId, LetterFilter
from tsuzuki.web.admin.sources import as_json
from tsuzuki.web.forms import BLANK, Form, FormState, read_form, see
from tsuzuki.web.frame import Frame
from tsuzuki.web.ids import PER_PAGE, moment_of, number_at, number_of, word_of
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

PATH = "/admin/dead-letters"
KIND = ("queue", "code", "key")
"""What narrows the list, and which letters a button means that means several."""
LONGEST_WORD = 500


def letter_pages(site: Site) -> tuple[Resource, ...]:
    """The list and one of them, and what their buttons post to."""
    letters = site.crawling.letters

    async def show_letters(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "letters")
        chosen = {name: word_of(request, name, longest=LONGEST_WORD) for name in KIND}
        which = LetterFilter(*chosen.values())
        before = number_of(request.query_params.get("before"))
        rows = await letters.list(which, most=PER_PAGE + 1, before=None if before is None else DeadLetterId(before))
        kept = {name: value for name, value in chosen.items() if value}
        is_more = len(rows) > PER_PAGE
        return site.show(
            frame,
            "admin/dead_letters.html",
            rows=rows[:PER_PAGE],
            queues=[queue for queue in await letters.queues() if queue.dead_letters],
            chosen=chosen,
            kept=kept,
            discard_path=with_query(f"{PATH}/discard", **kept),
            older=with_query(PATH, **kept, before=str(rows[PER_PAGE - 1].id)) if is_more else None,
            not_before=moment_of(request.query_params.get("until", "")),
        )

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        letter, payload = await letters.get(_letter(request))
        frame = await site.frame(request, caller, "letters")
        not_before = None if letter.discarded_at else await letters.not_before(letter)
        return site.show(
            frame,
            "admin/dead_letter.html",
            form_state,
            letter=letter,
            payload=as_json(payload),
            not_before=not_before,
        )

    async def replay(request: Request, caller: Caller) -> Response:
        try:
            await letters.replay(caller.actor, _letter(request))
        except Conflict as error:
            return await show(request, caller, FormState(trouble=str(error), status=409))
        return see(with_query(f"{PATH}/{_letter(request)}", done="letter_replayed"))

    async def discard(request: Request, caller: Caller) -> Response:
        await letters.discard(caller.actor, _letter(request))
        return see(with_query(PATH, done="letter_discarded"))

    async def show_discard(request: Request, caller: Caller) -> Response:
        letter, _payload = await letters.get(_letter(request))
        return _ask(
            site,
            await site.frame(request, caller, "letters"),
            _("The task %(task)s in the queue %(queue)s will not be done.", queue=letter.queue, task=letter.key),
            path=request.url.path,
            back=f"{PATH}/{letter.id}",
        )

    one = f"{PATH}/{{letter_id}}"
    return (
        page(PATH, site.operator(show_letters)),
        page(one, site.operator(show)),
        Resource(f"{one}/replay", {"POST": site.operator(replay, PATH)}),
        Resource(f"{one}/discard", {"GET": site.operator(show_discard), "POST": site.operator(discard, PATH)}),
        *_many(site, letters),
    )


def _many(site: Site, letters: DeadLetters) -> tuple[Resource, ...]:
    """Replay or discard all letters of a kind; discarding asks first."""

    async def replay_all(request: Request, caller: Caller) -> Response:
        _, not_before = await letters.replay_all(caller.actor, _which(await read_form(request)))
        if not_before is None:
            return see(with_query(PATH, done="letters_replayed"))
        return see(with_query(PATH, done="letters_replayed", until=str(not_before)))

    async def show_discard(request: Request, caller: Caller) -> Response:
        words = {name: word_of(request, name, longest=LONGEST_WORD) for name in KIND}
        fields = {name: value for name, value in words.items() if value}
        kind = ", ".join(fields.values())
        what = (
            _("All dead letters of this kind will be discarded: %(kind)s.", kind=kind)
            if kind
            else _("All dead letters in all queues will be discarded.")
        )
        frame = await site.frame(request, caller, "letters")
        return _ask(site, frame, what, path=f"{PATH}/discard", back=PATH, fields=fields)

    async def discard_all(request: Request, caller: Caller) -> Response:
        await letters.discard_all(caller.actor, _which(await read_form(request)))
        return see(with_query(PATH, done="letters_discarded"))

    return (
        Resource(f"{PATH}/replay", {"POST": site.operator(replay_all, PATH)}),
        Resource(f"{PATH}/discard", {"GET": site.operator(show_discard), "POST": site.operator(discard_all, PATH)}),
    )


def _which(form: Form) -> LetterFilter:
    return LetterFilter(*(form.one(name)[:LONGEST_WORD] or None for name in KIND))


def _ask(site: Site, frame: Frame, what: str, *, path: str, back: str, fields: Mapping[str, str] = {}) -> Response:
    return site.ask(
        frame,
        title=_("Discard?"),
        text=" ".join((what, _("What they carried is not stored or delivered. This cannot be undone."))),
        yes=_("Discard"),
        path=path,
        back=back,
        fields=fields,
    )


def _letter(request: Request) -> DeadLetterId:
    return DeadLetterId(number_at(request, "letter_id"))

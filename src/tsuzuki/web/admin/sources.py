"""`/admin/sources`: the list, one source with its comics and health, and the actions on it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.audit import AuditFilter, AuditLog, AuditRow
from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import Slice
from tsuzuki.crawler.figures import SourceHour
from tsuzuki.crawler.service import JobExists, NewCrawlJob, release_source_tx
from tsuzuki.http.routing import Resource, page
from tsuzuki.model.errors import Conflict, Invalid
from tsuzuki.model.ids import PublicId, read_id, show_id
from tsuzuki.model.times import DAY, Millis
from tsuzuki.sources.comics import Comics
from tsuzuki.sources.sites import ENTITY, Sources
from tsuzuki.sources.types import MappingChange, NewMapping, Source, SourceChange, SourceFilter
from tsuzuki.web.admin.charts import Spark, spark_of
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, problem, read_form, read_reason, read_text, see
from tsuzuki.web.ids import id_of, number_at, pages_of, slice_of, word_of
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

State = Literal["ok", "failing", "disabled", "new"]


class SourceHealthRow(msgspec.Struct, frozen=True):
    """A source in a list."""

    source: Source
    state: State
    spark: Spark


def source_rows(
    sources: Sequence[Source], source_hours: Mapping[int, list[SourceHour]], now: Millis
) -> list[SourceHealthRow]:
    """In the order that they come in."""
    return [SourceHealthRow(one, state_of(one), spark_of(source_hours.get(one.id, []), now)) for one in sources]


def state_of(source: Source) -> State:
    """The state of a source; its latest outcome counts."""
    if not source.is_enabled:
        return "disabled"
    if source.consecutive_fails or (source.last_failed_at or 0) > (source.last_succeeded_at or 0):
        return "failing"
    return "new" if source.last_succeeded_at is None else "ok"


def as_json(value: Any) -> str:
    """Text as it is, everything else as JSON over several lines."""
    return value if isinstance(value, str) else msgspec.json.format(msgspec.json.encode(value)).decode()


PATH = "/admin/sources"
ONE = f"{PATH}/{{source_id}}"


def source_pages(site: Site) -> tuple[Resource, ...]:
    """The list, and one."""
    sources, figures = site.crawling.sources, site.figures
    healths, comics, audit = site.crawling.health, site.crawling.comics, site.accounts.audit_log

    async def show_sources(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "sources")
        state, text = word_of(request, "state"), word_of(request, "q")
        wanted = SourceFilter({"enabled": True, "disabled": False}.get(state or ""), text)
        found, total = await sources.list(wanted, slice_of(request))
        return site.show(
            frame,
            "admin/sources.html",
            rows=source_rows(found, await figures.source_hours(Millis(DAY)), frame.now),
            pages=pages_of(request, total),
            chosen={"state": state, "q": text},
            pause=await sources.show_pause(),
        )

    async def show_source(request: Request, caller: Caller) -> Response:
        number = number_at(request, "source_id")
        health = await healths.get(number)
        frame = await site.frame(request, caller, "sources")
        mapped, total = await comics.of_source(number, slice_of(request))
        source_hours = await figures.source_hours(Millis(DAY))
        source = health.source
        return site.show(
            frame,
            "admin/source.html",
            health=health,
            source=source,
            health_state=state_of(source),
            disabled=None if source.is_enabled else await _disabled(audit, source.id),
            pause=await sources.show_pause(),
            day=spark_of(source_hours.get(number, []), frame.now),
            comics=mapped,
            pages=pages_of(request, total),
        )

    return (
        page(PATH, site.operator(show_sources)),
        page(ONE, site.operator(show_source)),
        *_acts(site, sources),
        _deleting(site, sources, comics),
    )


async def _disabled(audit: AuditLog, source_id: int) -> AuditRow | None:
    """Who switched it off, when and why; None for a source that was never on."""
    wanted = AuditFilter(action=f"{ENTITY}.disable", entity_type=ENTITY, entity_id=str(source_id))
    rows, _ = await audit.list(wanted, Slice(most=1))
    return next(iter(rows), None)


def _acts(site: Site, sources: Sources) -> tuple[Resource, ...]:
    """The switch, and trying it now: what it asks and finds, with nothing stored."""

    async def switch(request: Request, caller: Caller) -> Response:
        number, form = number_at(request, "source_id"), await read_form(request)
        is_on = form.one("enabled") == "on"
        reason = read_reason(form)
        await sources.change(caller.actor, number, SourceChange(is_enabled=is_on), reason=reason)
        path = f"{PATH}/{number}"
        return see(with_query(path, done="source_on") if is_on else with_query(path, done="source_off"))

    async def try_source(request: Request, caller: Caller) -> Response:
        source = await sources.get(number_at(request, "source_id"))
        tried = await site.trials.run(source)  # No redirect: the answer is the page.
        frame = await site.frame(request, caller, "sources")
        return site.show(frame, "admin/tried.html", source=source, tried=tried)

    return (
        Resource(f"{ONE}/switch", {"POST": site.operator(switch, PATH)}),
        Resource(f"{ONE}/try", {"POST": site.operator(try_source, PATH)}),
    )


def _deleting(site: Site, sources: Sources, comics: Comics) -> Resource:
    """Asks first, and says what goes along."""

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        source = await sources.get(number_at(request, "source_id"))
        frame = await site.frame(request, caller, "sources")
        _, total = await comics.of_source(source.id, slice_of(request))
        return site.show(frame, "admin/source_delete.html", form_state, source=source, total=total)

    async def delete(request: Request, caller: Caller, form: Form) -> Response:
        number = number_at(request, "source_id")
        reason = read_reason(form)
        await sources.deregister(caller.actor, number, reason=reason, release=release_source_tx)
        return see(with_query(PATH, done="source_deleted"))

    rules = Rules(keep=("reason",))
    return site.form_page(f"{ONE}/delete", show, delete, rules=rules, back=PATH, for_admin=True)


LONGEST = 500
LONGEST_URL = 2000
MOST_ALIKE = 50
_RULES = Rules(keep=("title", "author", "sourceurl", "key"), beside={Conflict: "key"})


def mapping_add_page(site: Site) -> Resource:
    """The form; a comic of exactly this title is taken, else one is made."""
    sources, comics = site.crawling.sources, site.crawling.comics

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        source = await sources.get(number_at(request, "source_id"))
        frame = await site.frame(request, caller, "sources")
        return site.show(frame, "admin/mapping_add.html", form_state, source=source)

    async def add(request: Request, caller: Caller, form: Form) -> Response:
        source = await sources.get(number_at(request, "source_id"))
        title, url = read_text(form, "title", most=LONGEST), read_text(form, "sourceurl", most=LONGEST_URL)
        if await comics.url_problems(url, source_id=source.id):
            raise problem("sourceurl", _("Enter a web address that begins with https://, or local: for a folder."))
        key = form.one("key").strip()[:LONGEST] or url[:LONGEST]
        comic = await _known(comics, title) or (await _made(comics, caller, title, form))
        await comics.link(caller.actor, comic, NewMapping(source_id=source.id, source_key=key, url=url))
        return see(with_query(f"{PATH}/{source.id}", done="mapping_added"))

    return site.form_page(f"{ONE}/map", show, add, rules=_RULES, back=PATH, for_admin=True)


async def _known(comics: Comics, title: str) -> PublicId | None:
    """The only comic of this title; where several have it, none of them is meant."""
    found, _ = await comics.list(title, Slice(most=MOST_ALIKE))
    same = [comic.public_id for comic in found if comic.title.casefold() == title.casefold()]
    return same[0] if len(same) == 1 else None


async def _made(comics: Comics, caller: Caller, title: str, form: Form) -> PublicId:
    author = form.one("author").strip()[:LONGEST] or None
    return (await comics.add(caller.actor, title, author)).public_id


MAPPING = "/admin/comics/{comic_id}/sources/{mapping_id}"
JOBS = "/admin/jobs"


def mapping_pages(site: Site) -> tuple[Resource, ...]:
    """The resources to which the buttons beside a comic post."""
    comics, jobs = site.crawling.comics, site.crawling.jobs

    async def crawl(request: Request, caller: Caller) -> Response:
        """A discovery, or where the form names a comic, a crawl of that. One that is there already is shown."""
        number, form = number_at(request, "source_id"), await read_form(request)
        comic = read_id(form.one("comic")) if form.one("comic") else None
        if form.one("comic") and comic is None:
            raise Invalid(_("The form could not be read."))
        try:
            job = await jobs.trigger(caller, NewCrawlJob(number, comic))
        except JobExists as error:
            return see(with_query(f"{JOBS}/{error.problems[0].message}", done="job_exists"))
        return see(with_query(f"{JOBS}/{show_id(job.public_id)}", done="job_queued"))

    async def switch(request: Request, caller: Caller) -> Response:
        comic, mapping = id_of(request, "comic_id"), number_at(request, "mapping_id")
        is_on = (await read_form(request)).one("active") == "on"
        changed = await comics.change(caller.actor, comic, mapping, MappingChange(is_active=is_on))
        path = f"{PATH}/{changed.source_id}"
        return see(with_query(path, done="mapping_on") if is_on else with_query(path, done="mapping_off"))

    async def show_remove(request: Request, caller: Caller) -> Response:
        mapping = await comics.mapping(id_of(request, "comic_id"), number_at(request, "mapping_id"))
        return site.ask(
            await site.frame(request, caller, "sources"),
            title=_("Remove this comic from the source?"),
            text=_(
                "%(source)s is no longer asked for %(url)s. Known chapters, and what readers have of them, are kept.",
                source=mapping.source_name,
                url=mapping.url,
            ),
            yes=_("Remove"),
            path=request.url.path,
            back=f"{PATH}/{mapping.source_id}",
        )

    async def remove(request: Request, caller: Caller) -> Response:
        comic, number = id_of(request, "comic_id"), number_at(request, "mapping_id")
        mapping = await comics.mapping(comic, number)
        await comics.unlink(caller.actor, comic, number)
        return see(with_query(f"{PATH}/{mapping.source_id}", done="mapping_removed"))

    return (
        Resource(f"{ONE}/crawl", {"POST": site.operator(crawl, PATH)}),
        Resource(f"{MAPPING}/switch", {"POST": site.operator(switch, PATH)}),
        Resource(f"{MAPPING}/remove", {"GET": site.operator(show_remove), "POST": site.operator(remove, PATH)}),
    )

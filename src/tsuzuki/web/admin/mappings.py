"""A comic on a source: crawl it now, switch it off and on, remove it; and discovering what a source has."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.crawler.service import JobExists, NewCrawlJob
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Invalid
from tsuzuki.model.ids import read_id, show_id
from tsuzuki.sources.comics.rows import MappingChange
from tsuzuki.web.admin.sources import ONE, PATH
from tsuzuki.web.asking import Asks, ask_first
from tsuzuki.web.forms import read_form, see
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import id_of, number_at
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

MAPPING = "/admin/comics/{comic_id}/sources/{mapping_id}"
JOBS = "/admin/jobs"


def mapping_pages(site: Site) -> tuple[Resource, ...]:
    """What the buttons beside a comic post to."""
    framing, comics, jobs = framing_of(site), site.crawling.comics, site.crawling.jobs

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
        asks = Asks(
            title=_("Remove this comic from the source?"),
            text=_(
                "%(source)s is no longer asked for %(url)s. Known chapters, and what readers have of them, are kept.",
                source=mapping.source_name,
                url=mapping.url,
            ),
            yes=_("Remove"),
            no=_("Cancel"),
            path=request.url.path,
            back=f"{PATH}/{mapping.source_id}",
        )
        return ask_first(framing, await framing.frame(request, caller, "sources"), asks)

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

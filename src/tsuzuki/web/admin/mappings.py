"""A comic on a source: crawl it now, switch it off and on, remove it; and discovering what a source has."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.types import Slice
from tsuzuki.crawler.service import JobExists, NewCrawlJob
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Conflict, Invalid
from tsuzuki.model.ids import PublicId, read_id, show_id
from tsuzuki.sources.comics import Comics
from tsuzuki.sources.types import MappingChange, NewMapping
from tsuzuki.web.admin.sources import ONE, PATH
from tsuzuki.web.forms import BLANK, Form, Rules, Sheet, problem, read_form, read_text, see
from tsuzuki.web.ids import id_of, number_at
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

LONGEST = 500
LONGEST_URL = 2000
MOST_ALIKE = 50
_RULES = Rules(keep=("title", "author", "sourceurl", "key"), beside={Conflict: "key"})


def mapping_add_page(site: Site) -> Resource:
    """The form; a comic of exactly this title is taken, else one is made."""
    sources, comics = site.crawling.sources, site.crawling.comics

    async def show(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        source = await sources.get(number_at(request, "source_id"))
        frame = await site.frame(request, caller, "sources")
        return site.show(frame, "admin/mapping_add.html", sheet, source=source)

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
    """What the buttons beside a comic post to."""
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

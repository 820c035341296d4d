"""`/admin/sources/{id}/map`: a comic that this source has, told by hand."""

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.accounts.nouns import Slice
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Conflict
from tsuzuki.model.ids import PublicId
from tsuzuki.sources.comics.rows import NewMapping
from tsuzuki.sources.comics.service import Comics
from tsuzuki.web.admin.sources import ONE, PATH
from tsuzuki.web.forms import BLANK, Form, Rules, Sheet, fill, problem, see
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import number_at
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

LONGEST = 500
LONGEST_URL = 2000
MOST_ALIKE = 50
_RULES = Rules(keep=("title", "author", "sourceurl", "key"), beside={Conflict: "key"})


def mapping_add_page(site: Site) -> Resource:
    """The form; a comic of exactly this title is taken, else one is made."""
    framing, sources, comics = framing_of(site), site.crawling.sources, site.crawling.comics

    async def show(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        source = await sources.get(number_at(request, "source_id"))
        frame = await framing.frame(request, caller, "sources")
        return framing.show(frame, "admin/mapping_add.html", sheet, source=source)

    async def show_map(request: Request, caller: Caller) -> Response:
        return await show(request, caller)

    async def add(request: Request, caller: Caller) -> Response:
        source = await sources.get(number_at(request, "source_id"))

        async def act(form: Form) -> Response:
            title, url = _text(form, "title"), _text(form, "sourceurl", longest=LONGEST_URL)
            if await comics.url_problems(url, source_id=source.id):
                raise problem("sourceurl", _("Enter a web address that begins with https://, or local: for a folder."))
            key = form.one("key").strip()[:LONGEST] or url[:LONGEST]
            comic = await _known(comics, title) or (await _made(comics, caller, title, form))
            await comics.link(caller.actor, comic, NewMapping(source_id=source.id, source_key=key, url=url))
            return see(with_query(f"{PATH}/{source.id}", done="mapping_added"))

        return await fill(request, act, lambda sheet: show(request, caller, sheet), rules=_RULES)

    return Resource(f"{ONE}/map", {"GET": site.operator(show_map), "POST": site.operator(add, PATH)})


async def _known(comics: Comics, title: str) -> PublicId | None:
    """The only comic of this title; where several have it, none of them is meant."""
    found, _ = await comics.list(title, Slice(most=MOST_ALIKE))
    same = [comic.public_id for comic in found if comic.title.casefold() == title.casefold()]
    return same[0] if len(same) == 1 else None


async def _made(comics: Comics, caller: Caller, title: str, form: Form) -> PublicId:
    author = form.one("author").strip()[:LONGEST] or None
    return (await comics.add(caller.actor, title, author)).public_id


def _text(form: Form, name: str, *, longest: int = LONGEST) -> str:
    text = form.one(name).strip()
    if not 1 <= len(text) <= longest:
        raise problem(name, _("Enter 1 to %(most)s characters.", most=longest))
    return text

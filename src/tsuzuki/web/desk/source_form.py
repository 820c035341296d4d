"""Adding a source, and changing one: a connector is chosen, then its form is filled in."""

import re
from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.connectors.protocol import ConnectorInfo
from tsuzuki.connectors.registry import Registry
from tsuzuki.edge.routing import Resource
from tsuzuki.model.errors import Conflict, Invalid
from tsuzuki.sources.sites.policy import MOST_NAME, MOST_SLUG, SLUG
from tsuzuki.sources.sites.rows import Change, Source, Wanted
from tsuzuki.sources.sites.service import Sources, info_of
from tsuzuki.web.desk.config_form import ConfigField, beside_fields, config_fields, read_config
from tsuzuki.web.desk.sources import ONE, PATH
from tsuzuki.web.forms import BLANK, Form, Rules, Sheet, fill, problem, see
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import number_at
from tsuzuki.web.messages import say
from tsuzuki.web.site import Site, with_query

ADD = f"{PATH}/add"
LONGEST_URL = 2000


def source_form_pages(site: Site) -> tuple[Resource, ...]:
    """`/admin/sources/add` and `/admin/sources/{id}/edit`."""
    return _adding(site), _changing(site)


def _adding(site: Site) -> Resource:
    framing, sources, registry = framing_of(site), site.part(Sources), site.part(Registry)

    def chosen(request: Request) -> ConnectorInfo | None:
        return info_of(registry, request.query_params.get("connector"))

    async def show(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        frame = await framing.frame(request, caller, "sources")
        info = chosen(request)
        if info is None:
            every = sorted((one.info for one in registry), key=lambda one: one.name.casefold())
            return framing.show(frame, "desk/source_pick.html", sheet, connectors=every)
        return framing.show(
            frame,
            "desk/source_form.html",
            sheet,
            source=None,
            info=info,
            fields=config_fields(info, {}, sheet.values),
            action=with_query(ADD, connector=info.id),
        )

    async def show_add(request: Request, caller: Caller) -> Response:
        return await show(request, caller)

    async def add(request: Request, caller: Caller) -> Response:
        info = chosen(request)
        fields = config_fields(info, {}, {})

        async def act(form: Form) -> Response:
            if info is None:
                raise Invalid(say("sources.no_connector"))
            wanted = Wanted(
                name=_name(form),
                slug=_slug(form),
                base_url=_base_url(form),
                connector=info.id,
                config=read_config(form, fields),
                is_enabled=form.one("enabled") == "on",
            )
            try:
                source = await sources.register(caller.actor, wanted)
            except Invalid as error:
                raise beside_fields(error, fields) from error
            return see(with_query(f"{PATH}/{source.id}", done="source_added"))

        return await fill(request, act, lambda sheet: show(request, caller, sheet), rules=_rules(fields))

    return Resource(ADD, {"GET": site.operator(show_add), "POST": site.operator(add, ADD)})


def _changing(site: Site) -> Resource:
    framing, sources, registry = framing_of(site), site.part(Sources), site.part(Registry)

    async def show(request: Request, caller: Caller, source: Source, sheet: Sheet = BLANK) -> Response:
        frame = await framing.frame(request, caller, "sources")
        info = info_of(registry, source.connector)
        return framing.show(
            frame,
            "desk/source_form.html",
            sheet,
            source=source,
            info=info,
            fields=config_fields(info, source.config, sheet.values),
            action=f"{PATH}/{source.id}/edit",
        )

    async def show_edit(request: Request, caller: Caller) -> Response:
        return await show(request, caller, await sources.get(number_at(request, "source_id")))

    async def change(request: Request, caller: Caller) -> Response:
        source = await sources.get(number_at(request, "source_id"))
        fields = config_fields(info_of(registry, source.connector), source.config, {})

        async def act(form: Form) -> Response:
            wanted = Change(
                name=_name(form), slug=_slug(form), base_url=_base_url(form), config=read_config(form, fields)
            )
            try:
                await sources.change(caller.actor, source.id, wanted)
            except Invalid as error:
                raise beside_fields(error, fields) from error
            return see(with_query(f"{PATH}/{source.id}", done="source_saved"))

        return await fill(request, act, lambda sheet: show(request, caller, source, sheet), rules=_rules(fields))

    return Resource(f"{ONE}/edit", {"GET": site.operator(show_edit), "POST": site.operator(change, PATH)})


def _rules(fields: Sequence[ConfigField]) -> Rules:
    kept = ("name", "slug", "baseurl", "enabled", *(field.name for field in fields))
    return Rules(keep=kept, beside={Conflict: "name"})


def _name(form: Form) -> str:
    name = form.one("name").strip()
    if not 1 <= len(name) <= MOST_NAME:
        raise problem("name", say("sources.name_problem", most=MOST_NAME))
    return name


def _slug(form: Form) -> str:
    """As it was typed; made of the name where nothing was."""
    slug = form.one("slug").strip() or re.sub(r"[^a-z0-9]+", "-", form.one("name").lower()).strip("-")
    if len(slug) > MOST_SLUG or not re.fullmatch(SLUG, slug):
        raise problem("slug", say("sources.slug_problem", most=MOST_SLUG))
    return slug


def _base_url(form: Form) -> str:
    url = form.one("baseurl").strip()
    if len(url) > LONGEST_URL:
        raise problem("baseurl", say("sources.url_problem", most=LONGEST_URL))
    return url

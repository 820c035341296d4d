"""The form of a source: choose a connector, fill it in, try it, save it."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.connectors.config import decode_config
from tsuzuki.connectors.protocol import ConnectorInfo
from tsuzuki.connectors.registry import Registry
from tsuzuki.connectors.selectors.connector import WRITTEN
from tsuzuki.crawler.trials import SourceTrial
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Conflict, Invalid, Problem
from tsuzuki.sources.policy import BAD_BASE_URL, MOST_NAME, MOST_SLUG, SLUG
from tsuzuki.sources.sites import ChangedMeanwhile, edition_of, info_of, proposed_name, source_info
from tsuzuki.sources.types import Source, SourceChange, SourceRegistration
from tsuzuki.web.admin.sources import ONE, PATH
from tsuzuki.web.config_form import ConfigField, beside_fields, config_fields, read_config
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, fill, problem, read_name, see
from tsuzuki.web.ids import number_at
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

ADD = f"{PATH}/add"
LONGEST_URL = 2000
DEFINITION = "config.definition"
_CONFLICT = 409


class SourceFormValues(msgspec.Struct, frozen=True, kw_only=True):
    """The values of the form of a source."""

    name: str
    slug: str
    base_url: str
    config: dict[str, Any]


def source_form_pages(site: Site) -> tuple[Resource, ...]:
    """`/admin/sources/add` and `/admin/sources/{id}/edit`."""
    return _adding(site), _changing(site)


def _adding(site: Site) -> Resource:
    sources, registry = site.crawling.sources, site.registry
    trials = site.trials

    def chosen(request: Request) -> ConnectorInfo | None:
        return info_of(registry, request.query_params.get("connector"))

    async def show(
        request: Request, caller: Caller, form_state: FormState = BLANK, tried: SourceTrial | None = None
    ) -> Response:
        frame = await site.frame(request, caller, "sources")
        info = chosen(request)
        if info is None:
            every = sorted((one.info for one in registry), key=lambda one: one.name.casefold())
            own = [one for one in every if one.id == WRITTEN]
            return site.show(
                frame, "admin/source_pick.html", form_state, connectors=[one for one in every if one not in own] + own
            )
        return site.show(
            frame,
            "admin/source_form.html",
            form_state,
            source=None,
            info=info,
            is_written=info.id == WRITTEN,
            fields=config_fields(info.config, {}, form_state.values),
            action=with_query(ADD, connector=info.id),
            tried=tried,
        )

    async def add(request: Request, caller: Caller) -> Response:
        info = chosen(request)
        fields = config_fields(None if info is None else info.config, {}, {})
        rules = _rules(fields)

        async def act(form: Form) -> Response:
            if info is None:
                named = request.query_params.get("connector")
                raise Invalid(
                    _("This server has no connector %(name)s. Choose another kind.", name=named)
                    if named
                    else _("Choose the kind of source first.")
                )
            with _problems_beside(fields):
                said = _filled(form, fields, info, registry)
                is_on = form.one("enabled") == "on"
                wanted = SourceRegistration(connector=info.id, is_enabled=is_on, **msgspec.structs.asdict(said))
                if _is_trial(form):
                    tried = await trials.run(sources.draft(wanted))
                    return await show(request, caller, rules.kept(form), tried)
                source = await sources.register(caller.actor, wanted)
            return see(with_query(f"{PATH}/{source.id}", done="source_added"))

        return await fill(request, act, lambda form_state: show(request, caller, form_state), rules=rules)

    return Resource(ADD, {"GET": site.operator(show), "POST": site.operator(add, ADD)})


def _changing(site: Site) -> Resource:
    sources, registry = site.crawling.sources, site.registry
    trials = site.trials

    async def show(
        request: Request,
        caller: Caller,
        source: Source,
        form_state: FormState = BLANK,
        *,
        tried: SourceTrial | None = None,
    ) -> Response:
        frame = await site.frame(request, caller, "sources")
        info = info_of(registry, source.connector)
        was_told = form_state.status == _CONFLICT and form_state.trouble is not None  # that it changed: now they know
        edition = edition_of(source) if was_told else form_state.value("edition", edition_of(source))
        return site.show(
            frame,
            "admin/source_form.html",
            form_state,
            source=source,
            edition=edition,
            info=info,
            is_written=source.connector == WRITTEN,
            fields=config_fields(None if info is None else info.config, source.config, form_state.values),
            action=f"{PATH}/{source.id}/edit",
            tried=tried,
        )

    async def show_edit(request: Request, caller: Caller) -> Response:
        return await show(request, caller, await sources.get(number_at(request, "source_id")))

    async def change(request: Request, caller: Caller) -> Response:
        source = await sources.get(number_at(request, "source_id"))
        info = info_of(registry, source.connector)
        fields = config_fields(None if info is None else info.config, source.config, {})
        rules = _rules(fields)

        async def act(form: Form) -> Response:
            with _problems_beside(fields):
                wanted = SourceChange(**msgspec.structs.asdict(_filled(form, fields, info, registry)))
                if _is_trial(form):
                    tried = await trials.run(await sources.draft_change(source.id, wanted))
                    return await show(request, caller, source, rules.kept(form), tried=tried)
                await sources.change(caller.actor, source.id, wanted, edition=form.one("edition") or None)
            return see(with_query(f"{PATH}/{source.id}", done="source_saved"))

        return await fill(request, act, lambda form_state: show(request, caller, source, form_state), rules=rules)

    return Resource(f"{ONE}/edit", {"GET": site.operator(show_edit), "POST": site.operator(change, PATH)})


def _is_trial(form: Form) -> bool:
    """Whether the button to try was pressed, not the one to save."""
    return form.one("act") == "try"


def _rules(fields: Sequence[ConfigField]) -> Rules:
    kept = ("name", "slug", "baseurl", "enabled", "edition", *(field.name for field in fields))
    return Rules(keep=kept, beside={Conflict: "name", ChangedMeanwhile: None})


@contextmanager
def _problems_beside(fields: Sequence[ConfigField]) -> Iterator[None]:
    """What is wrong stands beside a field that the form has; a definition says its address itself."""
    try:
        yield
    except Invalid as error:
        is_written = any(field.name == DEFINITION for field in fields)
        moved = tuple(
            Problem(DEFINITION, f"base_url: {one.message}") if is_written and one.field == "baseurl" else one
            for one in map(_in_words_of_the_page, error.problems)
        )
        raise beside_fields(Invalid(str(error), moved), fields) from error


def _in_words_of_the_page(one: Problem) -> Problem:
    """The API's sentence names its own field."""
    return (
        Problem(one.field, _("Enter a web address that begins with https://, or local: for a folder."))
        if one.message == BAD_BASE_URL
        else one
    )


def _filled(
    form: Form, fields: Sequence[ConfigField], info: ConnectorInfo | None, registry: Registry
) -> SourceFormValues:
    """What the form says; a source is called after its connector, unless somebody does, and a definition says where."""
    config = read_config(form, fields)
    if info is not None and not form.one("name").strip():
        form = Form({**form.fields, "name": (proposed_name(registry, info, config),)})
    if info is None or info.id != WRITTEN:
        return SourceFormValues(
            name=read_name(form, most=MOST_NAME), slug=_slug(form), base_url=_base_url(form), config=config
        )
    decode_config(info.config, config)  # what is wrong with the definition is said before anything that follows from it
    described = source_info(registry, WRITTEN, config) or info
    return SourceFormValues(
        name=read_name(form, most=MOST_NAME), slug=_slug(form), base_url=described.base_url, config=config
    )


def _slug(form: Form) -> str:
    """The slug as it was typed, or else made from the name."""
    slug = form.one("slug").strip() or re.sub(r"[^a-z0-9]+", "-", form.one("name").lower()).strip("-")
    if len(slug) > MOST_SLUG or not re.fullmatch(SLUG, slug):
        raise problem("slug", _("Use at most %(most)s lowercase letters, digits and hyphens.", most=MOST_SLUG))
    return slug


def _base_url(form: Form) -> str:
    url = form.one("baseurl").strip()
    if len(url) > LONGEST_URL:
        raise problem("baseurl", _("Use at most %(most)s characters.", most=LONGEST_URL))
    return url

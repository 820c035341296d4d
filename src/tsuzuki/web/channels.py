"""`/notifications`: the notification channels."""

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Conflict, Invalid
from tsuzuki.model.ids import show_id
from tsuzuki.model.secrets import is_secret
from tsuzuki.notifications.channels import ChannelChange
from tsuzuki.notifications.kinds import KINDS
from tsuzuki.notifications.kinds.base import ChannelKind
from tsuzuki.web.config_form import ConfigField, beside_fields, config_fields, read_config
from tsuzuki.web.forms import BLANK, Form, FormState, Rules, post_form, read_form, see
from tsuzuki.web.ids import id_of
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

PATH = "/notifications"


class ChannelForm(msgspec.Struct, frozen=True):
    """What adds a channel of one kind: the fields are those of its config."""

    kind: str
    fields: list[ConfigField]
    form_state: FormState = BLANK
    is_open: bool = False

    def config(self, form: Form) -> dict[str, Any]:
        """What the form says; what is needed and was left empty is said to be empty."""
        return {field.label: "" for field in self.fields if field.is_required} | read_config(form, self.fields)

    @property
    def rules(self) -> Rules:
        """The rules of a form that shows everything again but secrets."""
        kept = (field.name for field in self.fields if not field.is_secret)
        return Rules(keep=("kind", "name", *kept), beside={Conflict: "name"})


def channel_form(kind: ChannelKind[Any], form_state: FormState = BLANK) -> ChannelForm:
    """The form of a kind; what was typed is in it if it was typed there. What we make ourselves is not asked for."""
    filled = form_state if form_state.value("kind") == kind.name else BLANK
    fields = config_fields(kind.config, {}, filled.values)
    made = kind.complete({}, bytes(32))
    asked = [
        msgspec.structs.replace(field, is_secret=is_secret(field.label)) for field in fields if field.label not in made
    ]
    return ChannelForm(kind.name, asked, filled, is_open=bool(filled.values))


def channel_pages(site: Site) -> tuple[Resource, ...]:
    """The list with its forms, and what the buttons beside a channel post to; removing one is asked first."""
    channels = site.channels

    async def show(request: Request, caller: Caller, form_state: FormState = BLANK) -> Response:
        frame = await site.frame(request, caller, "notifications")
        rows = await channels.list(frame.shelf.id, caller.user_id)
        forms = [channel_form(kind, form_state) for kind in KINDS.values() if not kind.is_browser]
        key = await channels.push_key()
        return site.show(frame, "channels.html", form_state, rows=rows, forms=forms, kinds=KINDS, push_key=key)

    def asked_for(form: Form) -> ChannelForm:
        return channel_form(KINDS.get(form.one("kind"), KINDS["webhook"]))

    async def add(request: Request, caller: Caller, form: Form) -> Response:
        shelf_id = await site.shelf_id(caller)
        asked = asked_for(form)
        try:
            name, config = form.one("name"), asked.config(form)
            added = await channels.add(shelf_id, asked.kind, name=name, config=config, user_id=caller.user_id)
        except Invalid as error:
            raise beside_fields(error, asked.fields) from error
        if "secret" not in added.made:
            return see(with_query(PATH, done="channel_added"))
        frame = await site.frame(request, caller, "notifications")
        # No redirect: what is shown once has no address to be found at again.
        return site.show(frame, "channel_made.html", name=added.channel.name, secret=added.made["secret"])

    async def switch(request: Request, caller: Caller) -> Response:
        is_on = (await read_form(request)).one("enabled") == "on"
        shelf_id, change = await site.shelf_id(caller), ChannelChange(is_enabled=is_on)
        await channels.change(shelf_id, id_of(request, "channel_id"), change, caller.user_id)
        return see(with_query(PATH, done="channel_on") if is_on else with_query(PATH, done="channel_off"))

    async def test(request: Request, caller: Caller, _form: Form) -> Response:
        await channels.try_out(await site.shelf_id(caller), id_of(request, "channel_id"), caller.user_id)
        return see(with_query(PATH, done="channel_test"))

    async def ask_remove(request: Request, caller: Caller) -> Response:
        frame = await site.frame(request, caller, "notifications")
        channel = await channels.get(frame.shelf.id, id_of(request, "channel_id"), caller.user_id)
        return site.ask(
            frame,
            title=_("Remove %(name)s?", name=channel.name),
            text=_("Pending messages are not sent. This cannot be undone."),
            yes=_("Remove"),
            path=f"{PATH}/{show_id(channel.id)}/remove",
            back=PATH,
        )

    async def remove(request: Request, caller: Caller) -> Response:
        await channels.remove(await site.shelf_id(caller), id_of(request, "channel_id"), caller.user_id)
        return see(with_query(PATH, done="channel_removed"))

    one = f"{PATH}/{{channel_id}}"
    return (
        site.form_page(PATH, show, add, rules=lambda form: asked_for(form).rules),
        Resource(f"{one}/switch", {"POST": site.signed_in(switch, PATH)}),
        Resource(f"{one}/test", {"POST": site.signed_in(post_form(test, show, Rules()), PATH)}),
        Resource(f"{one}/remove", {"GET": site.signed_in(ask_remove), "POST": site.signed_in(remove, PATH)}),
    )

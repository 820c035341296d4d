"""`/notifications`: where notices go."""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.routing import Resource
from tsuzuki.model.errors import Conflict, Invalid
from tsuzuki.model.ids import show_id
from tsuzuki.model.secrets import is_secret
from tsuzuki.notifications.channels import ChannelChange, Channels
from tsuzuki.notifications.kinds import ChannelKind
from tsuzuki.notifications.sending import KINDS
from tsuzuki.web.asking import Asks, ask_first
from tsuzuki.web.config_form import ConfigField, beside_fields, config_fields, read_config
from tsuzuki.web.forms import BLANK, Form, Rules, Sheet, fill, read_form, see
from tsuzuki.web.frame import framing_of
from tsuzuki.web.ids import id_of
from tsuzuki.web.labels import done_text, find_label
from tsuzuki.web.site import Site, with_query
from tsuzuki.web.texts import gettext as _

PATH = "/notifications"
ShowAgain = Callable[[Request, Caller, Sheet], Awaitable[Response]]


class ChannelForm(msgspec.Struct, frozen=True):
    """What adds a channel of one kind: the fields are those of its config."""

    kind: str
    fields: list[ConfigField]
    sheet: Sheet = BLANK

    def config(self, form: Form) -> dict[str, Any]:
        """What the form says; what is needed and was left empty is said to be empty."""
        return {field.label: "" for field in self.fields if field.is_required} | read_config(form, self.fields)


def channel_form(kind: ChannelKind[Any], sheet: Sheet = BLANK) -> ChannelForm:
    """The form of a kind; what was typed is in it if it was typed there. What we make ourselves is not asked for."""
    filled = sheet if sheet.value("kind") == kind.name else BLANK
    fields = config_fields(kind.config, {}, filled.values)
    made = kind.complete({}, bytes(32))
    return ChannelForm(kind.name, [field for field in fields if field.label not in made], filled)


_KEPT = {field.name for kind in KINDS.values() for field in channel_form(kind).fields if not is_secret(field.label)}
_RULES = Rules(keep=("kind", "name", *sorted(_KEPT)), beside={Conflict: "name"})


def channel_pages(site: Site) -> tuple[Resource, ...]:
    """The list with its forms."""
    framing = framing_of(site)
    channels = site.channels

    async def show(request: Request, caller: Caller, sheet: Sheet = BLANK) -> Response:
        frame = await framing.frame(request, caller, "notifications")
        rows = await channels.list(frame.shelf.id, caller.user_id)
        done = done_text(request)
        forms = [channel_form(kind, sheet) for kind in KINDS.values()]
        return framing.show(
            frame, "channels.html", sheet, rows=rows, done=done, forms=forms, show_id=show_id, find_label=find_label
        )

    async def show_channels(request: Request, caller: Caller) -> Response:
        return await show(request, caller)

    async def add(request: Request, caller: Caller) -> Response:
        async def act(form: Form) -> Response:
            shelf = await site.accounts.current_user.shelf_of(caller)
            asked = channel_form(KINDS.get(form.one("kind"), KINDS["webhook"]))
            try:
                config = asked.config(form)
                name = form.one("name")
                added = await channels.add(shelf.id, asked.kind, name=name, config=config, user_id=caller.user_id)
            except Invalid as error:
                raise beside_fields(error, asked.fields) from error
            if "secret" not in added.made:
                return see(with_query(PATH, done="channel_added"))
            frame = await framing.frame(request, caller, "notifications")
            # No redirect: what is shown once has no address to be found at again.
            return framing.show(frame, "channel_made.html", name=added.channel.name, secret=added.made["secret"])

        return await fill(request, act, lambda sheet: show(request, caller, sheet), rules=_RULES)

    return (
        Resource(PATH, {"GET": site.signed_in(show_channels), "POST": site.signed_in(add, PATH)}),
        *_acts(site, channels, show),
    )


def _acts(site: Site, channels: Channels, show: ShowAgain) -> tuple[Resource, ...]:
    """What the buttons beside a channel post to; removing one is asked first."""
    framing = framing_of(site)

    async def switch(request: Request, caller: Caller) -> Response:
        form = await read_form(request)
        shelf = await site.accounts.current_user.shelf_of(caller)
        is_on = form.one("enabled") == "on"
        await channels.change(shelf.id, id_of(request, "channel_id"), ChannelChange(is_enabled=is_on), caller.user_id)
        return see(with_query(PATH, done="channel_on") if is_on else with_query(PATH, done="channel_off"))

    async def test(request: Request, caller: Caller) -> Response:
        async def act(_: Form) -> Response:
            shelf = await site.accounts.current_user.shelf_of(caller)
            await channels.try_out(shelf.id, id_of(request, "channel_id"), caller.user_id)
            return see(with_query(PATH, done="channel_test"))

        return await fill(request, act, lambda sheet: show(request, caller, sheet), rules=Rules())

    async def ask_remove(request: Request, caller: Caller) -> Response:
        frame = await framing.frame(request, caller, "notifications")
        channel = await channels.get(frame.shelf.id, id_of(request, "channel_id"), caller.user_id)
        asks = Asks(
            title=_("Remove %(name)s?", name=channel.name),
            text=_("Pending messages are not sent. This cannot be undone."),
            yes=_("Remove"),
            no=_("Cancel"),
            path=f"{PATH}/{show_id(channel.id)}/remove",
            back=PATH,
        )
        return ask_first(framing, frame, asks)

    async def remove(request: Request, caller: Caller) -> Response:
        shelf = await site.accounts.current_user.shelf_of(caller)
        await channels.remove(shelf.id, id_of(request, "channel_id"), caller.user_id)
        return see(with_query(PATH, done="channel_removed"))

    one = f"{PATH}/{{channel_id}}"
    return (
        Resource(f"{one}/switch", {"POST": site.signed_in(switch, PATH)}),
        Resource(f"{one}/test", {"POST": site.signed_in(test, PATH)}),
        Resource(f"{one}/remove", {"GET": site.signed_in(ask_remove), "POST": site.signed_in(remove, PATH)}),
    )

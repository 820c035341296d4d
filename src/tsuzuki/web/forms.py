"""Forms: reading what a browser posts, and showing it again with what is wrong beside its field."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tsuzuki.accounts.caller import Caller
from tsuzuki.http.auth import refuse_cross_site
from tsuzuki.http.body import read_body
from tsuzuki.http.errors import failure_of
from tsuzuki.http.middleware import note_reason
from tsuzuki.model.errors import (
    Conflict,
    Invalid,
    LimitExceeded,
    Problem,
    SourceError,
    TooManyRequests,
    TsuzukiError,
    Unauthorized,
    Unavailable,
)
from tsuzuki.web.texts import gettext as _
from tsuzuki.web.texts import say_refused

MOST_FIELDS = 50
LONGEST_REASON = 500
MEDIA_TYPE = "application/x-www-form-urlencoded"


class Form(msgspec.Struct, frozen=True):
    """What was posted, by the names of its fields."""

    fields: Mapping[str, tuple[str, ...]]

    def one(self, name: str) -> str:
        """The field's text; empty when it was not sent."""
        return next(iter(self.fields.get(name, ())), "")

    def several(self, name: str) -> tuple[str, ...]:
        """All values ticked under this name."""
        return self.fields.get(name, ())


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """What of a form is shown again, and beside which field an error stands that names none. Never keep a password."""

    keep: tuple[str, ...] = ()
    beside: Mapping[type[TsuzukiError], str | None] = {}
    """None: with no field, though what it is a kind of stands beside one."""

    def kept(self, form: Form) -> "FormState":
        """The form as it was filled in, with nothing wrong."""
        return FormState(values={name: form.several(name) for name in self.keep})


class FormState(msgspec.Struct, frozen=True, kw_only=True):
    """A form as it is shown: what was typed before, and what is wrong with it."""

    values: Mapping[str, tuple[str, ...]] = {}
    errors: Mapping[str, str] = {}
    trouble: str | None = None
    """A problem of the form as a whole."""
    status: int = 200
    headers: Mapping[str, str] = {}

    def value(self, name: str, default: str = "") -> str:
        """The text in the field."""
        return next(iter(self.values.get(name, ())), default)

    @property
    def first(self) -> str | None:
        """The first field with an error: where the cursor goes."""
        return next(iter(self.errors), None)


BLANK = FormState()

Act = Callable[[Form], Awaitable[Response]]
Show = Callable[[FormState], Awaitable[Response]]
RulesOf = Callable[[Form], Rules]
"""Rules that depend on what was posted, as on a page with several forms."""


class ActOnForm(Protocol):
    """Does what somebody who is signed in asks for by a form."""

    def __call__(self, request: Request, caller: Caller, form: Form, /) -> Awaitable[Response]: ...


class ShowForm(Protocol):
    """Shows the page with the form, empty or as it was sent."""

    def __call__(self, request: Request, caller: Caller, form_state: FormState = BLANK, /) -> Awaitable[Response]: ...


def post_form(
    act: ActOnForm, show: ShowForm, rules: Rules | RulesOf
) -> Callable[[Request, Caller], Awaitable[Response]]:
    """What a form of somebody who is signed in posts to: acts on it, or shows it again with what is wrong."""

    async def post(request: Request, caller: Caller) -> Response:
        return await fill(
            request,
            lambda form: act(request, caller, form),
            lambda form_state: show(request, caller, form_state),
            rules=rules,
        )

    return post


async def fill(request: Request, act: Act, show: Show, *, rules: Rules | RulesOf) -> Response:
    """Act on a posted form, or show it again with what is wrong. Forbidden for another site's page (SEC-42).

    What was typed is not lost either when we cannot now, as with a full disk, as long as the page can be made.
    """
    refuse_cross_site(request)
    form = await read_form(request)
    try:
        return await act(form)
    except (Conflict, Invalid, LimitExceeded, SourceError, TooManyRequests, Unauthorized, Unavailable) as error:
        note_reason(request.scope, error)
        return await show(_sheet_of(error, form, rules if isinstance(rules, Rules) else rules(form)))


async def read_form(request: Request, *, most: int = MOST_FIELDS) -> Form:
    """The fields of a posted form; Invalid for anything else."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != MEDIA_TYPE:
        raise Invalid(_("The form could not be read."))
    body = await read_body(request.scope, request.receive)
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=most)
    except ValueError:  # bytes that no browser leaves bare, bad UTF-8, or too many fields
        raise Invalid(_("The form could not be read.")) from None
    fields: dict[str, tuple[str, ...]] = {}
    for name, text in pairs:
        if "\0" in text:
            raise Invalid(_("The form could not be read."))
        fields[name] = (*fields.get(name, ()), text)
    return Form(fields)


def must_match(form: Form, first: str, second: str) -> str:
    """The password that was typed twice; Invalid when it was not the same."""
    if form.one(first) != form.one(second):
        raise problem(second, _("The passwords do not match."))
    return form.one(first)


def read_name(form: Form, *, most: int) -> str:
    """The field `name`; Invalid where it is empty or too long."""
    name = form.one("name").strip()
    if not 1 <= len(name) <= most:
        raise problem("name", _("Enter a name of 1 to %(most)s characters.", most=most))
    return name


def read_text(form: Form, field: str, *, most: int) -> str:
    """The text of this field; Invalid where it is empty or too long."""
    text = form.one(field).strip()
    if not 1 <= len(text) <= most:
        raise problem(field, _("Enter 1 to %(most)s characters.", most=most))
    return text


def read_reason(form: Form) -> str | None:
    """Why something is done, for the audit log; None where nobody said it."""
    return form.one("reason").strip()[:LONGEST_REASON] or None


def problem(field: str, message: str) -> Invalid:
    """One thing that is wrong with one field."""
    return Invalid(message, (Problem(field, message),))


def see(path: str) -> Response:
    """Go there; reloading the page that comes then posts nothing again."""
    return RedirectResponse(path, 303)


def _sheet_of(error: TsuzukiError, form: Form, rules: Rules) -> FormState:
    failure = failure_of(error, "")
    beside = next((rules.beside[kind] for kind in type(error).__mro__ if kind in rules.beside), None)
    errors: dict[str, str] = {}
    trouble = None
    sentence = say_refused(failure.status, failure.body.error, failure.headers.get("retry-after"))
    if isinstance(error, Invalid) and error.problems:
        errors = {found.field: found.message for found in error.problems}
    elif beside is not None and not isinstance(error, TooManyRequests):
        errors = {beside: sentence}
    else:
        trouble = sentence
    return msgspec.structs.replace(
        rules.kept(form), errors=errors, trouble=trouble, status=failure.status, headers=failure.headers
    )

"""From an `Endpoint` to a request handler, at start-up, so that a mistake stops the start."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cache, reduce
from itertools import islice
from typing import Any, get_type_hints
from urllib.parse import parse_qsl

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.accounts.current_user import CurrentUser
from tsuzuki.accounts.types import Shelf
from tsuzuki.api.decoder import (
    MOST_PARTS,
    MOST_PROBLEMS,
    CheckedValue,
    beside,
    decode,
    decode_text,
    holds_nul,
    invalid,
    is_list,
    refuse_nul,
)
from tsuzuki.api.endpoints import AccessGate, Body, Endpoint, QueryParameters
from tsuzuki.api.ids import PathId, id_in_field
from tsuzuki.api.shelf import ShelfQuery
from tsuzuki.api.views import ListAnswer, WithMeta
from tsuzuki.http.body import read_body, refuse_deep_json
from tsuzuki.http.routing import Handler
from tsuzuki.model.errors import Invalid, NotFound, Problem

MOST_PARAMETERS = 200

Reader = Callable[[Request], Awaitable[Any]]
"""The argument; `CheckedValue` when it cannot be had. The request's other arguments are still looked at."""


@cache
def path_reader(name: str, kind: Any) -> Reader:
    """A parameter of the path."""

    async def read(request: Request) -> Any:
        text = request.path_params[name]
        _must_be_clean(text, name)
        return decode_text(kind, text, name)

    return read


@cache  # a type is looked at once, for every endpoint and every app that a process builds
def query_reader(form: type[QueryParameters]) -> Reader:
    """Everything after the `?`."""
    several = frozenset(field.encode_name for field in msgspec.structs.fields(form) if is_list(field.type))

    async def read(request: Request) -> QueryParameters:
        return decode(form, _gather(_pairs(request.scope["query_string"]), several), texts=True)

    return read


def _pairs(query: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(
            query.decode("latin-1"), keep_blank_values=True, errors="strict", max_num_fields=MOST_PARAMETERS
        )
    except UnicodeDecodeError:
        raise CheckedValue(Problem("query", "The query is not valid UTF-8.")) from None
    except ValueError:
        raise CheckedValue(Problem("query", f"The query has more than {MOST_PARAMETERS} parameters.")) from None


def _gather(pairs: list[tuple[str, str]], several: frozenset[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, text in pairs:
        if name in several:
            found.setdefault(name, []).extend(part for part in text.split(",") if part)
        elif name in found:
            raise CheckedValue(Problem(name, f"{name} is given more than once."))
        else:
            found[name] = text
        _must_be_clean(text, name)
    return found


@cache
def body_reader(form: type[Body], limit: int) -> Reader:
    """A JSON object; where no key of it is required, the whole may be left out."""
    may_be_missing = not any(field.required for field in msgspec.structs.fields(form))

    async def read(request: Request) -> Body:
        if may_be_missing and _has_no_body(request):
            return _decoded(form, {})
        media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            raise CheckedValue(Problem("body", "The body must be JSON, sent as Content-Type: application/json."))
        text = await read_body(request.scope, request.receive, limit)
        return _decoded(form, _json(text))

    return read


def _decoded(form: type[Body], raw: Any) -> Body:
    """The body; all that is wrong with it at once, what its types cannot say included."""
    found: tuple[Problem, ...] = ()
    body: Body | None = None
    try:
        body = decode(form, raw)
    except CheckedValue as checked:
        found = checked.problems
    is_object = isinstance(raw, Mapping)
    problems = beside(found, form.beyond_types(raw) if is_object else ())
    if problems or body is None:
        raise CheckedValue(*problems, raw=raw if is_object else None)
    return body


def _has_no_body(request: Request) -> bool:
    headers = request.headers
    return headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers


def _json(text: bytes) -> Any:
    try:
        refuse_deep_json(text)
        raw = msgspec.json.decode(text)
    except Invalid as error:
        raise CheckedValue(Problem("body", str(error))) from None
    except ValueError as error:  # msgspec's DecodeError is one, and so is bad UTF-8
        raise CheckedValue(Problem("body", f"The body is not valid JSON: {_why(error)}.")) from None
    if b"\\u0000" in text and (problems := _nul_problems(raw, text)):
        raise CheckedValue(*problems)
    return raw


def _nul_problems(raw: Any, text: bytes) -> list[Problem]:
    """Where there is a NUL; of a body with many parts only whether, which is found out in a twentieth of the time."""
    if text.count(b",") <= MOST_PARTS:
        return list(islice(refuse_nul(raw, ""), MOST_PROBLEMS))
    return [Problem("body", "The body must not contain the character NUL.")] if holds_nul(raw) else []


def _why(error: ValueError) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return str(error).removeprefix("JSON is malformed: ").removeprefix("Input data was ")


def _must_be_clean(text: str, name: str) -> None:
    if problems := list(refuse_nul(text, name)):
        raise CheckedValue(*problems)


Also = Callable[[Request, Mapping[str, Any]], Awaitable[Iterable[Problem]]]

_PARAMETER = re.compile(r"\{(\w+)\}")


class BindingError(Exception):
    """An endpoint asks for what nobody can give it."""


class Signature(msgspec.Struct, frozen=True):
    """The parameters of a handler, and the type of its answer."""

    path: dict[str, Any]
    ids: dict[str, Callable[[str], Any]]
    """Those of the path that are ids, and how each is read."""
    query: dict[str, type[QueryParameters]]
    body: dict[str, type[Body]]
    others: dict[str, Any]
    answer: Any


@cache  # routes and their description ask, for every app that a process builds
def signature_of(endpoint: Endpoint) -> Signature:
    """The handler's parameters, sorted by where their arguments come from."""
    hints = get_type_hints(endpoint.handler, include_extras=True)
    found = Signature({}, {}, {}, {}, {}, hints.pop("return", None))
    names = set(_PARAMETER.findall(endpoint.path))
    for name in inspect.signature(endpoint.handler).parameters:
        kind = hints[name]
        if name in names:
            marks = [mark for mark in getattr(kind, "__metadata__", ()) if isinstance(mark, PathId)]
            found.path[name] = marks[0].wire if marks else kind
            found.ids.update((name, mark.read) for mark in marks)
        elif isinstance(kind, type) and issubclass(kind, QueryParameters):
            found.query[name] = kind
        elif isinstance(kind, type) and issubclass(kind, Body):
            found.body[name] = kind
        else:
            found.others[name] = kind
    _ask_for_shelf(endpoint, found)
    if missing := names - found.path.keys():
        raise BindingError(f"{_name(endpoint)} does not take {', '.join(sorted(missing))} of its path")
    if len(found.query) > 1 or len(found.body) > 1:
        raise BindingError(f"{_name(endpoint)} takes more than one query or body")
    return found


def _ask_for_shelf(endpoint: Endpoint, found: Signature) -> None:
    """A handler that takes a shelf has `?shelf=`: in its own query, or in one of nothing else."""
    for name in _names_of(found, is_shelf):
        if not found.query:
            found.query[name] = ShelfQuery
        elif not all(issubclass(form, ShelfQuery) for form in found.query.values()):
            raise BindingError(f"{_name(endpoint)} takes a shelf, but its query is no ShelfQuery")


def is_shelf(kind: Any) -> bool:
    """Whether a parameter of this type is given the shelf that the request means."""
    return isinstance(kind, type) and issubclass(kind, Shelf)


def _names_of(signature: Signature, is_it: Callable[[Any], bool]) -> list[str]:
    return [name for name, kind in signature.others.items() if is_it(kind)]


def bind(endpoint: Endpoint, services: msgspec.Struct, gate: AccessGate) -> Handler:
    """The handler that admits, reads, calls and answers."""
    signature = signature_of(endpoint)
    fixed = _fixed(endpoint, signature, services, gate)
    readers = {
        **{name: path_reader(name, kind) for name, kind in signature.path.items()},
        **{name: query_reader(form) for name, form in signature.query.items()},
        **{name: body_reader(form, endpoint.max_body) for name, form in signature.body.items()},
    }
    also = _also(endpoint, services)
    requests = _names_of(signature, lambda kind: kind is Request)
    callers = _names_of(signature, lambda kind: kind is gate.caller)
    shelves = _names_of(signature, is_shelf)
    current_user: Any = find_service(services, CurrentUser) if shelves else None
    if shelves and current_user is None:
        raise BindingError(f"{_name(endpoint)} takes a shelf, but nobody is there to ask for it")

    async def handle(request: Request) -> Response:
        caller = await gate.admit(request, endpoint.access)
        arguments = fixed | await _read_all(readers, request, also)
        arguments.update(dict.fromkeys(requests, request), **dict.fromkeys(callers, caller))
        for name in shelves:  # I8: one that is not the caller's is not found
            query = next(arguments[asked] for asked in signature.query)
            arguments[name] = await current_user.pick_shelf(caller, id_in_field(query.shelf, "shelf"))
        arguments.update((name, read(arguments[name])) for name, read in signature.ids.items())
        return _respond(await endpoint.handler(**arguments), endpoint.status)

    return handle


def _fixed(endpoint: Endpoint, signature: Signature, services: msgspec.Struct, gate: AccessGate) -> dict[str, Any]:
    """The arguments that are the same for every request."""
    fixed = {}
    for name, kind in signature.others.items():
        if kind in (Request, gate.caller) or is_shelf(kind):
            continue
        fixed[name] = find_service(services, kind)
        if fixed[name] is None:
            raise BindingError(f"{_name(endpoint)} wants {name}: {kind!r}, which is no service")
    return fixed


def find_service(services: msgspec.Struct, kind: Any) -> Any:
    """The service of this type: a field, a field of a group of services, or a Struct whose every field is one.

    None if there is none.
    """
    place = _places(type(services)).get(kind)
    if place is not None:
        return reduce(getattr, place, services)
    if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
        return None
    found = {name: find_service(services, hint) for name, hint in _hints(kind).items()}
    return None if None in found.values() else kind(**found)


@cache  # it is asked for each parameter of each handler
def _places(services: type[msgspec.Struct]) -> dict[Any, tuple[str, ...]]:
    """Where each type of service is: the name of its field, or those of its group's field and of its own."""
    fields = get_type_hints(services)
    places: dict[Any, tuple[str, ...]] = {}
    for name, group in fields.items():
        if isinstance(group, type) and issubclass(group, msgspec.Struct):
            places |= {hint: (name, inner) for inner, hint in _hints(group).items() if hint not in places}
    return places | {hint: (name,) for name, hint in reversed(fields.items())}


_hints = cache(get_type_hints)


def _also(endpoint: Endpoint, services: msgspec.Struct) -> Also | None:
    """What is asked besides of a body that is refused; nothing where the endpoint has nobody to ask."""
    if endpoint.also is None:
        return None
    ask, hints = endpoint.also, get_type_hints(endpoint.also)
    wanted = [name for name in inspect.signature(ask).parameters if name != "raw"]
    in_path = [name for name in wanted if name in _PARAMETER.findall(endpoint.path)]
    known = {name: find_service(services, hints[name]) for name in wanted if name not in in_path}
    if missing := [name for name, service in known.items() if service is None]:
        raise BindingError(f"{_name(endpoint)} also wants {', '.join(missing)}, which is no service")

    async def also(request: Request, raw: Mapping[str, Any]) -> Iterable[Problem]:
        try:
            return await ask(raw=raw, **{name: request.path_params[name] for name in in_path}, **known)
        except NotFound:
            return ()  # that is said when the body is right

    return also


async def _read_all(readers: Mapping[str, Reader], request: Request, also: Also | None) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    problems: list[Problem] = []
    for name, read in readers.items():
        try:
            arguments[name] = await read(request)
        except CheckedValue as found:
            problems.extend(found.problems)
            if also is not None and found.raw is not None:
                problems = beside(problems, await also(request, found.raw))
    if problems:
        raise invalid(problems)
    return arguments


def _respond(result: Any, status: int) -> Response:
    if result is None:
        return Response(status_code=204)
    if isinstance(result, Response):
        return result
    body = result if isinstance(result, ListAnswer | WithMeta) else {"data": result}
    return Response(msgspec.json.encode(body), status, media_type="application/json")


def _name(endpoint: Endpoint) -> str:
    return f"{endpoint.method} {endpoint.path}"

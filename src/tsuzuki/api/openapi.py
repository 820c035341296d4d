"""OpenAPI 3.1 out of the same declarations and types that decode the requests."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, get_args, get_origin

import msgspec
from starlette.responses import Response

from tsuzuki.api import PREFIX
from tsuzuki.api.binding import Signature, signature_of
from tsuzuki.api.endpoints import Access, Endpoint
from tsuzuki.api.views import ListAnswer, WithMeta
from tsuzuki.http.auth import SESSION
from tsuzuki.http.errors import ErrorBody, status_of
from tsuzuki.model.errors import Forbidden, Invalid, TsuzukiError, Unauthorized
from tsuzuki.model.text import readable_patterns

Json = dict[str, Any]

_REF = "#/components/schemas/{name}"
_BEARER = "token"
_COOKIE = "session"


class _Schemas:
    """JSON schemas of all types at once, so that each named one is a component."""

    def __init__(self, types: Sequence[Any]) -> None:
        unique: list[Any] = []
        for kind in types:
            if kind not in unique:
                unique.append(kind)
        schemas, self.components = readable_patterns(msgspec.json.schema_components(unique, ref_template=_REF))
        self._by_type = list(zip(unique, schemas, strict=True))

    def of(self, kind: Any) -> Json:
        return next(schema for known, schema in self._by_type if known == kind)


def document(endpoints: Sequence[Endpoint], version: str) -> Json:
    """The whole description of the API."""
    signatures = [(endpoint, signature_of(endpoint)) for endpoint in endpoints]
    schemas = _Schemas([ErrorBody, *(kind for _, signature in signatures for kind in _types(signature))])
    paths: dict[str, Json] = {}
    for endpoint, signature in signatures:
        operation = _operation(endpoint, signature, schemas)
        paths.setdefault(PREFIX + endpoint.path, {})[endpoint.method.lower()] = operation
    described = {
        "openapi": "3.1.0",
        "info": {
            "title": "Tsuzuki",
            "version": version,
            "description": "A feed and comics reader. Every success is `{data}`, a list adds `meta`; every error is "
            "`{error, code, details?}`; times are ISO 8601 in UTC.",
        },
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in sorted({tag for endpoint in endpoints for tag in endpoint.tags})],
        "paths": paths,
        "components": {
            "schemas": schemas.components,
            "securitySchemes": {
                _BEARER: {"type": "http", "scheme": "bearer", "description": "A personal token."},
                _COOKIE: {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": SESSION.name,
                    "description": "A browser session; over HTTPS the name begins with `__Host-`.",
                },
            },
        },
    }
    plain: Json = msgspec.json.decode(msgspec.json.encode(described))  # a default may be a tuple or an enum
    return plain


def _types(signature: Signature) -> list[Any]:
    fields = [field.type for form in signature.query.values() for field in msgspec.structs.fields(form)]
    return [*signature.path.values(), *fields, *signature.body.values(), *_answer_types(signature.answer)]


def _answer_types(answer: Any) -> Sequence[Any]:
    if _has_no_data(answer):
        return ()
    return get_args(answer) if get_origin(answer) in (ListAnswer, WithMeta) else (answer,)


def _has_no_data(answer: Any) -> bool:
    return answer in (None, type(None)) or (isinstance(answer, type) and issubclass(answer, Response))


def _operation(endpoint: Endpoint, signature: Signature, schemas: _Schemas) -> Json:
    operation: Json = {
        "operationId": endpoint.handler.__name__,
        "summary": endpoint.summary,
        "tags": list(endpoint.tags),
        "responses": _responses(endpoint, signature, schemas),
    }
    if endpoint.handler.__doc__:
        operation["description"] = " ".join(endpoint.handler.__doc__.split())
    if parameters := _parameters(signature, schemas):
        operation["parameters"] = parameters
    for form in signature.body.values():
        operation["requestBody"] = {"required": True, "content": _json_content(schemas.of(form))}
    if endpoint.consumes:
        content = {kind: {"schema": {"type": "string"}} for kind in endpoint.consumes}
        operation["requestBody"] = {"required": True, "content": content}
    if endpoint.access is not Access.PUBLIC:
        operation["security"] = [{_BEARER: [endpoint.access.value]}, {_COOKIE: []}]
    return operation


def _parameters(signature: Signature, schemas: _Schemas) -> list[Json]:
    in_path = [
        {"name": name, "in": "path", "required": True, "schema": schemas.of(kind)}
        for name, kind in signature.path.items()
    ]
    in_query = [
        {
            "name": field.encode_name,
            "in": "query",
            "required": field.required,
            "schema": _with_default(schemas.of(field.type), field),
            "explode": False,  # lists have commas between; repeating the name works too
        }
        for form in signature.query.values()
        for field in msgspec.structs.fields(form)
    ]
    return in_path + in_query


def _with_default(schema: Json, field: msgspec.structs.FieldInfo) -> Json:
    if field.default in (msgspec.NODEFAULT, msgspec.UNSET, None):
        return schema
    return {**schema, "default": field.default}


def _responses(endpoint: Endpoint, signature: Signature, schemas: _Schemas) -> Json:
    status = 204 if signature.answer in (None, type(None)) else endpoint.status
    success: Json = {"description": HTTPStatus(status).phrase}
    if not _has_no_data(signature.answer):
        success["content"] = _json_content(_envelope(signature.answer, schemas))
    reading = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.REQUEST_ENTITY_TOO_LARGE} if signature.body else set()
    errors = sorted({*(status_of(kind) for kind in _errors(endpoint, signature)), *map(int, reading), 500})
    failure = _json_content(schemas.of(ErrorBody))
    described = {str(code): {"description": HTTPStatus(code).phrase, "content": failure} for code in errors}
    return {str(status): success, **described}


def _errors(endpoint: Endpoint, signature: Signature) -> list[type[TsuzukiError]]:
    errors = list(endpoint.errors)
    if signature.path or signature.query or signature.body:
        errors.append(Invalid)
    if endpoint.access is not Access.PUBLIC:
        errors += [Unauthorized, Forbidden]
    return errors


def _envelope(answer: Any, schemas: _Schemas) -> Json:
    if get_origin(answer) is ListAnswer:
        items, meta = (schemas.of(kind) for kind in get_args(answer))
        properties = {"data": {"type": "array", "items": items}, "meta": meta}
    elif get_origin(answer) is WithMeta:
        properties = dict(zip(("data", "meta"), map(schemas.of, get_args(answer)), strict=True))
    else:
        properties = {"data": schemas.of(answer)}
    return {"type": "object", "required": list(properties), "properties": properties}


def _json_content(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}

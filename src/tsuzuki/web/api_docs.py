"""The API's documentation as a page, rendered here from the OpenAPI document: no script, nothing from elsewhere."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tsuzuki.http.routing import Resource, page
from tsuzuki.web.renderer import Pages

PATH = "/api/v1/docs"

Json = Mapping[str, Any]

_BOUNDS = (
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("exclusiveMinimum", "more than {}"),
    ("exclusiveMaximum", "less than {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} entries"),
    ("maxItems", "at most {} entries"),
    ("pattern", "of the form {}"),
    ("default", "{} when left out"),
)
_NAMES = {"integer": "whole number", "string": "text", "boolean": "true or false", "object": "object", "null": "null"}


class TypePart(msgspec.Struct, frozen=True):
    """A part of a type's description; `model` is the component it links to."""

    text: str
    model: str | None = None


class DocumentedField(msgspec.Struct, frozen=True):
    """A parameter, or a key of an object."""

    name: str
    kind: list[TypePart]
    notes: str
    required: bool
    place: str = ""


class DocumentedAnswer(msgspec.Struct, frozen=True):
    """One possible answer."""

    status: str
    says: str
    kind: list[TypePart]


class Operation(msgspec.Struct, frozen=True):
    """One method of one path."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    needs: str
    fields: list[DocumentedField]
    body: list[TypePart]
    answers: list[DocumentedAnswer]


class Section(msgspec.Struct, frozen=True):
    """The operations of one tag."""

    tag: str
    operations: list[Operation]


class Model(msgspec.Struct, frozen=True):
    """One component."""

    name: str
    says: str
    fields: list[DocumentedField]
    kind: list[TypePart]


def docs_page(pages: Pages, document: Callable[[], Json]) -> Resource:
    """`/api/v1/docs`"""

    async def show_docs(_: Request) -> Response:
        described = document()
        return pages.render(
            "api_docs.html", info=described["info"], sections=sections(described), models=models(described)
        )

    return page(PATH, show_docs)


def sections(document: Json) -> list[Section]:
    """Every operation, by its first tag."""
    by_tag: dict[str, list[Operation]] = {tag["name"]: [] for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            by_tag[operation["tags"][0]].append(_operation(method, path, operation))
    return [Section(tag, operations) for tag, operations in by_tag.items() if operations]


def models(document: Json) -> list[Model]:
    """Every component, by name."""
    schemas = document["components"]["schemas"]
    return [_model(name, schemas[name]) for name in sorted(schemas)]


def _operation(method: str, path: str, operation: Json) -> Operation:
    scopes = [scope for need in operation.get("security", ()) for scopes in need.values() for scope in scopes]
    return Operation(
        id=operation["operationId"],
        method=method.upper(),
        path=path,
        summary=operation["summary"],
        description=operation.get("description", ""),
        needs=", ".join(scopes),
        fields=[_parameter(parameter) for parameter in operation.get("parameters", ())],
        body=_content_kind(operation.get("requestBody", {})),
        answers=[
            DocumentedAnswer(status, answer["description"], _content_kind(answer))
            for status, answer in operation["responses"].items()
        ],
    )


def _parameter(parameter: Json) -> DocumentedField:
    schema = parameter["schema"]
    return DocumentedField(
        parameter["name"], list(_kind(schema)), _notes(schema), parameter["required"], parameter["in"]
    )


def _content_kind(holder: Json) -> list[TypePart]:
    content = holder.get("content", {})
    if "application/json" in content:
        return list(_kind(content["application/json"]["schema"]))
    return [TypePart(", ".join(content))] if content else []


def _model(name: str, schema: Json) -> Model:
    needed = schema.get("required", ())
    fields = [
        DocumentedField(key, list(_kind(inner)), _notes(inner), key in needed)
        for key, inner in schema.get("properties", {}).items()
    ]
    return Model(name, schema.get("description", ""), fields, [] if fields else list(_kind(schema)))


def _kind(schema: Json | bool) -> Iterator[TypePart]:  # noqa: FBT001  JSON Schema's own: True is anything, False nothing
    """The type in words, with a link at each name."""
    if isinstance(schema, bool):
        yield TypePart("anything" if schema else "nothing")
    elif "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        yield TypePart(name, name)
    elif "anyOf" in schema:
        yield from _joined(schema["anyOf"], " or ")
    elif "enum" in schema:
        yield TypePart(" | ".join(str(word) for word in schema["enum"]))
    elif schema.get("type") == "array":
        yield TypePart("list of ")
        yield from _kind(schema.get("items", {}))
    elif "properties" in schema:
        yield TypePart("{ ")
        yield from _members(schema["properties"])
        yield TypePart(" }")
    else:
        kind = str(schema.get("type", "anything"))
        yield TypePart(str(schema.get("format") or _NAMES.get(kind, kind)))


def _joined(schemas: list[Json], between: str) -> Iterator[TypePart]:
    for number, schema in enumerate(schemas):
        if number:
            yield TypePart(between)
        yield from _kind(schema)


def _members(properties: Json) -> Iterator[TypePart]:
    for number, (key, schema) in enumerate(properties.items()):
        yield TypePart(f"{', ' if number else ''}{key}: ")
        yield from _kind(schema)


def _notes(schema: Json) -> str:
    said = [words.format(schema[key]) for key, words in _BOUNDS if schema.get(key) not in (None, "", [], {})]
    return ", ".join(([schema["description"]] if "description" in schema else []) + said)

"""The config of a source or a channel as fields of a form, made from its schema, and read back."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from tsuzuki.connectors.config import config_schema, masked
from tsuzuki.connectors.selectors.connector import DOCUMENT
from tsuzuki.model.errors import Invalid, Problem
from tsuzuki.web.forms import Form, problem
from tsuzuki.web.labels import find_label, label_of
from tsuzuki.web.texts import gettext as _

Kind = Literal["number", "flag", "text", "document", "choice", "choices", "list", "pairs", "json"]
WHOLE = "config"
"""The one field of a source whose connector is not installed: nobody knows its keys."""
_NO_NUMBER = re.compile(r"Expected `(int|float)( \| null)?`, got `(str|float)`")


class ConfigField(msgspec.Struct, frozen=True, kw_only=True):
    """One key. `values` are what stands in it: several for ticks, else one."""

    name: str
    label: str
    """The key of the field in the config."""
    kind: Kind
    hint: str
    title: str = ""
    """The title that the config declares, if any."""
    about: str = ""
    """The description that the config declares."""
    is_required: bool = False
    options: tuple[str, ...] = ()
    default: Any = None
    values: tuple[str, ...] = ()
    is_secret: bool = False
    """Not readable while it is typed, and not shown again."""

    @property
    def value(self) -> str:
        """The value shown in a field for a single value."""
        return next(iter(self.values), "")

    @property
    def input_type(self) -> str:
        """The `type` of the input, for a field of one line."""
        return "password" if self.is_secret else "url" if self.label == "url" else "text"


def config_fields(
    kind: type[msgspec.Struct] | None, config: Mapping[str, Any], typed: Mapping[str, tuple[str, ...]]
) -> list[ConfigField]:
    """Every key of this kind of config; what was typed before wins over what is stored. Secrets are masked (R47)."""
    shown = masked(config)
    if kind is None:
        text = msgspec.json.format(msgspec.json.encode(shown)).decode()
        values = typed.get(WHOLE, (text,))
        return [
            ConfigField(
                name=WHOLE,
                label=WHOLE,
                kind="json",
                hint=_("The whole configuration, as a JSON object."),
                values=values,
            )
        ]
    schema = config_schema(kind)
    known = schema["$defs"][kind.__name__]
    required = known.get("required", ())
    fields = [
        _field(name, _resolved(described, schema), is_required=name in required)
        for name, described in known["properties"].items()
    ]
    fields.sort(key=lambda field: not field.is_required)  # what is needed comes first, the rest in its order
    return [msgspec.structs.replace(field, values=_standing(field, shown, typed)) for field in fields]


def _field(name: str, schema: dict[str, Any], *, is_required: bool) -> ConfigField:
    kind, default = _kind(schema), schema.get("default")
    if isinstance(default, tuple):  # the schema has it as Python does, a form as JSON does
        default = list(default)
    return ConfigField(
        name=f"config.{name}",
        label=name,
        kind=kind,
        hint=_hint(name, kind, default),
        title=_translated(schema.get("title")),
        about=_translated(schema.get("description")) or find_label("config_how", kind) or "",
        is_required=is_required,
        options=tuple(map(str, schema.get("enum", schema.get("items", {}).get("enum", ())))),
        default=default,
    )


def _standing(field: ConfigField, shown: Mapping[str, Any], typed: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """What was typed; a box that was not ticked sends nothing, which says no as well."""
    return typed.get(field.name, ()) if typed else _written(field.kind, shown.get(field.label, field.default))


def _resolved(described: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Without `$ref` and without the null beside the one type that is meant."""
    reference = described.get("$ref", "").rpartition("/")[2]
    found = {**schema["$defs"].get(reference, {}), **described}
    alternatives = [one for one in found.get("anyOf", ()) if one.get("type") != "null"]
    if len(alternatives) == 1:
        said = {name: found[name] for name in ("title", "description") if name in found}
        return {**alternatives[0], **said, "default": found.get("default")}
    return found


def _translated(text: str | None) -> str:
    return _(text) if text else ""


def _kind(schema: Mapping[str, Any]) -> Kind:
    if "enum" in schema:
        return "choice"
    items, others = schema.get("items"), schema.get("additionalProperties")
    match schema.get("type"):
        case "boolean":
            return "flag"
        case "number" | "integer":
            return "number"
        case "string":
            return "document" if schema.get("contentMediaType") == DOCUMENT else "text"
        case "array" if isinstance(items, dict) and "enum" in items:
            return "choices"
        case "array" if isinstance(items, dict) and items.get("type") == "string":
            return "list"
        case "object" if isinstance(others, dict) and others.get("type") == "string":
            return "pairs"
    return "json"


def _hint(name: str, kind: Kind, default: Any) -> str:
    """What the key is about where we know it, how it is written, and what it is by default."""
    parts = [find_label("config_about", name), find_label("config_how", kind)]
    if default not in (None, "", [], {}, False) and kind not in ("choices", "flag"):
        parts.append(_("Default: %(value)s.", value=" ".join(_written(kind, default))))
    return " ".join(part for part in parts if part)


def _written(kind: Kind, value: Any) -> tuple[str, ...]:
    if value is None:
        return ("",)
    match kind:
        case "flag":
            return ("on",) if value is True else ()
        case "choices" if isinstance(value, list | tuple):
            return tuple(map(str, value))
        case "list" if isinstance(value, list | tuple):
            return ("\n".join(map(str, value)),)
        case "pairs" if isinstance(value, Mapping):
            return ("\n".join(f"{key}: {text}" for key, text in value.items()),)
        case "json":
            return (msgspec.json.format(msgspec.json.encode(value)).decode(),)
    return (str(value),)


# -- back


def read_config(form: Form, fields: Sequence[ConfigField]) -> dict[str, Any]:
    """The config that the form says, without what is as by default; Invalid for what cannot even be read."""
    if [field.name for field in fields] == [WHOLE]:
        return _object(form.one(WHOLE), WHOLE)
    config: dict[str, Any] = {}
    for field in fields:
        value = _read(field, form)
        if value != field.default and value is not None:
            config[field.label] = value
    return config


def _read(field: ConfigField, form: Form) -> Any:
    """None where nothing stands in it. What is no number stays as it is: its connector says what it wants instead."""
    text = form.one(field.name).strip()
    match field.kind:
        case "document":  # lines and columns are counted as they were typed
            return form.one(field.name).replace("\r\n", "\n") or None
        case "flag":
            return text == "on"
        case "choices":
            ticked = form.several(field.name)
            return sorted(ticked) if set(ticked) != set(field.default or ()) else field.default
        case "list":
            return [line.strip() for line in text.splitlines() if line.strip()]
        case "pairs":
            return dict(_pair(line, field.name) for line in text.splitlines() if line.strip())
        case "json":
            return _decoded(text, field.name) if text else None
        case "number":
            return _number(text) if text else None
    return text or None


def _number(text: str) -> float | int | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _pair(line: str, field: str) -> tuple[str, str]:
    name, colon, value = line.partition(":")
    if not colon:
        raise problem(field, _("“%(line)s” is not of the form Name: value.", line=line.strip()))
    return name.strip(), value.strip()


def _object(text: str, field: str) -> dict[str, Any]:
    decoded = _decoded(text or "{}", field)
    if not isinstance(decoded, dict):
        raise problem(field, _("Enter a JSON object, for example {}."))
    return decoded


def _decoded(text: str, field: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise problem(field, _("This is not valid JSON: %(reason)s.", reason=str(error))) from error


def beside_fields(error: Invalid, fields: Sequence[ConfigField]) -> Invalid:
    """The error with each problem at a field of the form: the one whose path is the longest prefix of the problem's."""
    names = {field.name for field in fields}
    found: dict[str, str] = {}
    for one in error.problems:
        name = one.field
        while name not in names and any(mark in name for mark in ".["):
            name = name[: max(name.rfind("."), name.rfind("["))]
        place = name if name in names else next(iter(names), one.field) if name == WHOLE else name
        inside = one.field.removeprefix(place).lstrip(".")
        no_number = _NO_NUMBER.match(one.message)
        message = label_of("config_no", no_number[1]) if no_number else one.message
        words = f"{inside}: {message}" if inside and place != one.field else message
        found[place] = f"{found[place]}\n{words}" if place in found else words
    return Invalid(str(error), tuple(Problem(name, words) for name, words in found.items()))

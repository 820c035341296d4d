"""Named queries out of `.sql` files.

A file holds `-- name: add_item` sections; `:params` are bound by name. `queries.sql` is portable; a section of the same
name in `queries.postgres.sql` replaces it there. A module may have its own beside
it: `groups.sql`, `groups.postgres.sql`. `-- fragment: item_columns` sections are put in for `{item_columns}`.
A section with a line `-- inline: why` is a lookup by key: SQLite answers it on the event loop, however busy that is.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from operator import itemgetter
from typing import Any, Literal

import msgspec

Engine = Literal["sqlite", "postgres"]
Pick = Callable[[Mapping[str, Any]], tuple[Any, ...]]

_SECTION = re.compile(r"^-- (name|fragment): (\w+)\s*$", re.MULTILINE)
_FRAGMENT = re.compile(r"\{(\w+)\}")
_LEXEME = re.compile(r"'(?:[^']|'')*'|--[^\n]*|::|:([a-z_]\w*)")
_WRITES = re.compile(r"\b(insert|update|delete|create|drop|alter|truncate)\b", re.IGNORECASE)
_RETURNING = re.compile(r"\breturning\b", re.IGNORECASE)
_INLINE = re.compile(r"^-- inline: \S", re.MULTILINE)


def _no_values(_: Mapping[str, Any]) -> tuple[Any, ...]:
    return ()


class EngineSql(msgspec.Struct, frozen=True):
    """A query as one engine takes it."""

    sql: str
    params: tuple[str, ...]
    pick: Pick = _no_values
    """The values of `params`, in their order; KeyError for one that is missing."""


class Query(msgspec.Struct, frozen=True):
    """One named query for both engines."""

    name: str
    sqlite: EngineSql
    postgres: EngineSql
    writes: bool
    returns_rows: bool
    inline: bool

    def values_of(self, source: object, /, **others: Any) -> dict[str, Any]:
        """The parameters that `source` has under the same names, and these others."""
        names = [name for name in self.sqlite.params if name not in others and hasattr(source, name)]
        return {name: getattr(source, name) for name in names} | others


Sections = Mapping[str, Mapping[str, str]]
"""Bodies by kind (`name` or `fragment`) and name."""


class Queries:
    """The queries of one area, as attributes. Each is prepared when it is first used: most processes use few."""

    def __init__(self, area: str, common: Sections, special: Sections) -> None:
        self._area = area
        self._common = common
        self._special = special

    def __getattr__(self, name: str) -> Query:
        if name not in self._common["name"]:
            raise AttributeError(f"{self._area} has no query {name!r}")
        query = self._prepared(name)
        self.__dict__[name] = query  # found at once from now on
        return query

    def __iter__(self) -> Iterator[Query]:
        return (getattr(self, name) for name in self._common["name"])

    def _prepared(self, name: str) -> Query:
        body, fragments = self._common["name"][name], self._common["fragment"]
        lite = _prepare(_expand(self._area, body, fragments), "sqlite")
        special = self._special["name"].get(name, body)
        post = _prepare(_expand(self._area, special, {**fragments, **self._special["fragment"]}), "postgres")
        if set(lite.params) != set(post.params):
            raise ValueError(f"{self._area}: {name} takes other parameters on PostgreSQL")
        writes = bool(_WRITES.search(_bare(lite.sql)))
        returns_rows = not writes or bool(_RETURNING.search(_bare(lite.sql)))
        inline = bool(_INLINE.search(body))
        return Query(name, lite, post, writes=writes, returns_rows=returns_rows, inline=inline)


@cache  # several modules of a package share its queries
def load_queries(area: str) -> Queries:
    """The queries of a package (`queries.sql` in it) or of a module (`groups.sql` beside `groups.py`)."""
    parent, _, name = area.rpartition(".")
    folder = files(parent)
    stem = name if (folder / f"{name}.sql").is_file() else f"{name}/queries"
    override = folder / f"{stem}.postgres.sql"
    portable = (folder / f"{stem}.sql").read_text("utf-8")
    return parse_queries(area, portable, override.read_text("utf-8") if override.is_file() else "")


def parse_queries(area: str, portable: str, for_postgres: str = "") -> Queries:
    """Read the sections of both texts. ValueError names what is wrong, here or when the query is first used."""
    common, special = _sections(area, portable), _sections(area, for_postgres)
    if strangers := special["name"].keys() - common["name"].keys():
        raise ValueError(f"{area}: only PostgreSQL has {', '.join(sorted(strangers))}")
    return Queries(area, common, special)


def _sections(area: str, text: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {"name": {}, "fragment": {}}
    starts = list(_SECTION.finditer(text))
    ends = [following.start() for following in starts[1:]] + [len(text)]
    for start, end in zip(starts, ends, strict=False):
        kind, name = start.group(1), start.group(2)
        if name in found[kind]:
            raise ValueError(f"{area}: {name} stands twice")
        found[kind][name] = text[start.end() : end].strip().removesuffix(";")
    return found


def _expand(area: str, body: str, fragments: Mapping[str, str]) -> str:
    def put_in(match: re.Match[str]) -> str:
        if match.group(1) not in fragments:
            raise ValueError(f"{area}: there is no fragment {match.group(1)!r}")
        return _expand(area, fragments[match.group(1)], fragments)

    return _FRAGMENT.sub(put_in, body)


def _prepare(body: str, engine: Engine) -> EngineSql:
    """Drop comments and number the parameters: SQLite takes `?1`, PostgreSQL `$1`, both in order of appearance."""
    params: dict[str, int] = {}
    mark = "?" if engine == "sqlite" else "$"

    def number(match: re.Match[str]) -> str:
        lexeme = match.group(0)
        if lexeme.startswith("--"):
            return ""
        if match.group(1) is None:
            return lexeme
        return f"{mark}{params.setdefault(match.group(1), len(params) + 1)}"

    sql = _LEXEME.sub(number, body)
    lines = (line.rstrip() for line in sql.splitlines())
    return EngineSql("\n".join(line for line in lines if line), tuple(params), _picker(tuple(params)))


def _picker(names: tuple[str, ...]) -> Pick:
    """Made once for each query: looking names up one by one took a tenth of a small read."""
    if not names:
        return _no_values
    if len(names) == 1:
        name = names[0]
        return lambda params: (params[name],)
    return itemgetter(*names)


def _bare(sql: str) -> str:
    return re.sub(r"'(?:[^']|'')*'", "''", sql)

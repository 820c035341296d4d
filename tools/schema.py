"""Write docs/schema.md, out of a freshly migrated SQLite database, and the order of locks into docs/architecture.md."""

import asyncio
import re
import sys
import tempfile
from collections.abc import Container
from pathlib import Path

import apsw

from tsuzuki.db import DatabaseOptions
from tsuzuki.db.locks import ORDER
from tsuzuki.db.migrate import available, migrate

DOCS = Path(__file__).parent.parent / "docs"
SECTION = re.compile(r"(?<= -->\n).*?(?=<!-- /locks -->)", re.DOTALL)
HEAD = """# The schema

Made by `make schema` from a freshly migrated database; a test fails when it is stale. The reasons for keys and checks
stand beside them in `src/tsuzuki/db/migrations/`. Times are integer milliseconds; on PostgreSQL, booleans and JSON have
types of their own, `crawl_log` is partitioned by month, and the search tables hold tsvectors.
"""


def main() -> None:
    architecture = DOCS / "architecture.md"
    made = {DOCS / "schema.md": render(), architecture: SECTION.sub(lock_order(), architecture.read_text("utf-8"), 1)}
    if "--check" in sys.argv:
        sys.exit(any(text != file.read_text("utf-8") for file, text in made.items()))
    for file, text in made.items():
        file.write_text(text, "utf-8")


def lock_order() -> str:
    """The kinds of locks, in the order in which they are taken."""
    lines = [
        "Locks are held to the end of a transaction and taken in this order, several of a kind by their ids.",
        "PostgreSQL waits for them; on SQLite, which has one writer, only the order is checked. After them come rows,",
        "a watch before its feed.",
        "",
        "| lock | what nobody else changes meanwhile | on PostgreSQL |",
        "|---|---|---|",
    ]
    lines += [f"| `{lock.name}` | {lock.what} | {'row' if lock.is_row else 'advisory'} |" for lock in ORDER]
    return "\n".join([*lines, ""])


def render() -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "schema.db"
        asyncio.run(migrate(DatabaseOptions(f"sqlite://{path}"), now=0))
        with apsw.Connection(str(path)) as connection:
            parts = [HEAD]
            existing = {name for (name,) in connection.execute("select name from sqlite_schema where type = 'table'")}
            for title, tables in sections(existing):
                parts += [f"## {title}\n", diagram(connection, tables), *(table(connection, name) for name in tables)]
    return "\n".join(parts)


def sections(existing: Container[str]) -> list[tuple[str, list[str]]]:
    """The headings of the migrations, each with its tables, in the order in which they make them.

    A table that is made anew, under another name at first or under its own, stands where it was made first.
    """
    found: list[tuple[str, list[str]]] = []
    seen = set()
    for line in "".join(step.sql for step in available("sqlite")).splitlines():
        if line.startswith("-- ") and line.endswith("-----"):
            found.append((line.strip("- "), []))
        elif line.startswith(("create table ", "create virtual table ")):
            name = line.split("table ")[1].split()[0]
            if name in existing and name not in seen:
                seen.add(name)
                found[-1][1].append(name)
    return found


def diagram(connection: apsw.Connection, tables: list[str]) -> str:
    """Who points to whom, as a Mermaid picture of this section."""
    lines = ["```mermaid", "erDiagram"]
    for name in tables:
        lines.append(f"  {name} {{")
        lines += [f"    {kind.lower() or 'text'} {column}{mark}" for column, kind, mark in columns(connection, name)]
        lines.append("  }")
    for name in tables:
        lines += [f"  {parent} ||--o{{ {name} : {column}" for column, parent, _ in parents(connection, name)]
    return "\n".join([*lines, "```\n"])


def table(connection: apsw.Connection, name: str) -> str:
    """Where its foreign keys lead, and its indexes."""
    lines = [f"### {name}\n"]
    lines += [f"- `{column}` → `{parent}`, on delete {rule}" for column, parent, rule in parents(connection, name)]
    lines += [f"- {text}" for text in indexes(connection, name)]
    return "\n".join([*lines, ""]) if len(lines) > 1 else "\n".join([*lines, "No foreign keys, no further indexes.\n"])


def columns(connection: apsw.Connection, name: str) -> list[tuple[str, str, str]]:
    own = {column for column, _, _ in parents(connection, name)}
    found = []
    for _, column, kind, _, _, key in connection.execute(f"pragma table_info({name})"):
        marks = [mark for mark, holds in (("PK", key), ("FK", column in own)) if holds]
        found.append((column, kind, f" {', '.join(marks)}" if marks else ""))
    return found


def parents(connection: apsw.Connection, name: str) -> list[tuple[str, str, str]]:
    rows = connection.execute(f"pragma foreign_key_list({name})")
    return sorted((column, parent, rule.lower()) for _, _, parent, column, _, _, rule, _ in rows)


def indexes(connection: apsw.Connection, name: str) -> list[str]:
    found = []
    for _, index, unique, origin, _ in connection.execute(f"pragma index_list({name})"):
        keys = [column or "expression" for _, _, column in connection.execute(f"pragma index_info({index})")]
        sql = connection.execute("select sql from sqlite_schema where name = ?", (index,)).get or ""
        where = sql.partition(" where ")[2]
        kind = {"pk": "primary key", "u": "unique"}.get(origin, f"{'unique ' if unique else ''}index `{index}`")
        found.append(f"{kind} ({', '.join(keys)})" + (f" where `{where}`" if where else ""))
    return sorted(found)


if __name__ == "__main__":
    main()

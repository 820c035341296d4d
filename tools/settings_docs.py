"""Write docs/settings.md and .env.example from the table of settings: `tools/settings-docs`."""

from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from textwrap import wrap

from tsuzuki.settings.table import Variable, variables

_PAGE = """\
# Settings

Everything an operator decides is a `TSUZUKI_*` environment variable, read once at the start. An empty variable counts
as unset. A value that cannot be used stops the start with one line and exit status 2; a variable that is no setting is
a warning. `tsuzuki settings` shows what is in force and where it came from.

*This page is written by `tools/settings-docs`; a test fails when it is stale.*
"""

_EXAMPLE = """\
# Every setting of Tsuzuki with its default. Copy this file to .env beside it and uncomment what you change:
# commands that run from this checkout read it, and a variable of the process wins.
# Written by tools/settings-docs; docs/settings.md says the same in a table.
"""


def markdown() -> str:
    """The page for people."""
    return _document(_PAGE, "\n## {}\n\n| variable | default | takes | what it is for |\n|---|---|---|---|\n", _row)


def env_example() -> str:
    """The same as a file of variables, all commented out."""
    return _document(_EXAMPLE, "\n# -- {}\n", _example)


def _document(opening: str, heading: str, entry: Callable[[str, Variable], str]) -> str:
    parts = [opening]
    for group, entries in groupby(variables().items(), key=lambda one: one[1].group):
        parts.append(heading.format(group))
        parts.extend(entry(name, variable) for name, variable in entries)
    return "".join(parts)


def _row(name: str, variable: Variable) -> str:
    default = f"`{variable.default}`" if variable.default else ""
    return f"| `{name}` | {default} | {variable.kind.takes} | {variable.says} |\n"


def _example(name: str, variable: Variable) -> str:
    says = wrap(f"{variable.says} Takes {variable.kind.takes}.", width=110)
    return "\n" + "".join(f"# {line}\n" for line in says) + f"#{name}={variable.default}\n"


if __name__ == "__main__":
    root = Path(__file__).parents[1]
    (root / "docs/settings.md").write_text(markdown(), "utf-8")
    (root / ".env.example").write_text(env_example(), "utf-8")

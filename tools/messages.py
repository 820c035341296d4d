"""Collect the pages' texts into translations/tsuzuki.pot, and bring every translation up to date with it."""

import re
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.pofile import read_po, write_po

from tsuzuki.notifications.kinds import KINDS
from tsuzuki.web.config_form import config_fields

WEB = Path(__file__).parents[1] / "src/tsuzuki/web"
TEMPLATE = WEB / "translations/tsuzuki.pot"
_METHODS = [("**.py", "python"), ("templates/**.html", "jinja2")]
_OPTIONS = {"templates/**.html": {"trimmed": "true", "silent": "false"}}
_HEADER = "# The texts of Tsuzuki's pages. `make messages` writes this file: docs/translating.md."
# What is different on every run or machine has no place in a file that a test compares.
_DATED = re.compile(rb'^"(POT-Creation-Date|Generated-By):.*\n', re.MULTILINE)


def collect() -> Catalog:
    """Every text that a template or a module marks for translation, and what the forms of channels say."""
    catalogue = Catalog(project="Tsuzuki", version="", header_comment=_HEADER, charset="utf-8", fuzzy=False)
    found = extract_from_dir(WEB, _METHODS, _OPTIONS, keywords=DEFAULT_KEYWORDS, comment_tags=["Translators:"])
    for file, line, text, comments, context in sorted(found, key=lambda one: one[:2]):
        catalogue.add(text, None, [(f"web/{file}", line)], auto_comments=comments, context=context)
    for kind in KINDS.values():
        said = [text for field in config_fields(kind.config, {}, {}) for text in (field.title, field.about)]
        for text in filter(None, [kind.about, *said]):
            catalogue.add(text, None, [(f"notifications/kinds/{kind.name}.py", 0)])
    return catalogue


def written(catalogue: Catalog) -> bytes:
    """The file of a catalogue: places without lines, so that it changes only when a text does."""
    out = BytesIO()
    write_po(out, catalogue, width=120, include_lineno=False, include_previous=False)
    return _DATED.sub(b"", out.getvalue())


def main() -> None:
    """Write the template; what is new in it is empty in the translations, and what only changed a little is fuzzy."""
    template = collect()
    TEMPLATE.write_bytes(written(template))
    for file in sorted(TEMPLATE.parent.glob("*.po")):
        with file.open("rb") as source:
            catalogue = read_po(source, locale=file.stem)
        catalogue.update(template)
        file.write_bytes(written(catalogue))


if __name__ == "__main__":
    main()

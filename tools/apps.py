"""Write the table of docs/apps.md, out of what the page /apps says."""

import re
import sys
from pathlib import Path

from tsuzuki.web.apps import READER_APPS, ReaderApp, Way

PAGE = Path(__file__).parent.parent / "docs" / "apps.md"
SECTION = re.compile(r"(?<= -->\n).*?(?=<!-- /apps -->)", re.DOTALL)
SERVER = "https://read.example"
TITLES = {
    "fever": "Fever",
    "greader": "Google Reader",
    "komga": "Komga",
    "koreader": "KOReader",
    "miniflux": "Miniflux",
    "opds": "OPDS",
    "syncyomi": "SyncYomi",
}

TRIED = {"source": "Calls replayed (from its source).", "notes": "Calls replayed (from notes).", "": ""}


def main() -> None:
    text = PAGE.read_text("utf-8")
    made = SECTION.sub(lambda _: table(), text, 1)
    if "--check" in sys.argv:
        sys.exit(made != text)
    PAGE.write_text(made, "utf-8")


def table() -> str:
    """A line for each kind of account of each app."""
    lines = ["| app | account type | server address | speaks | good to know |", "|---|---|---|---|---|"]
    lines += [line(app, way) for app in READER_APPS for way in app.ways]
    return "\n".join([*lines, ""])


def line(app: ReaderApp, way: Way) -> str:
    name = f"**{app.name}** ({app.systems})" if way == app.ways[0] else ""
    notes = [way.note, TRIED[way.known_from], f"Tried with `{way.library}`." if way.library else ""]
    if not way.known_from and way.protocol in ("fever", "greader", "miniflux"):
        notes.append("Calls not known.")
    said = " ".join(note for note in notes if note)
    return f"| {name} | {way.account} | `{SERVER}{way.path}` | {TITLES[way.protocol]} | {said} |"


if __name__ == "__main__":
    main()

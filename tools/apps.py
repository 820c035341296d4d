"""Write the steps of docs/apps.md, out of what the page /apps says."""

import re
import sys
from pathlib import Path

from tsuzuki.protocols.build import PROTOCOLS
from tsuzuki.web.apps import READER_APPS, ReaderApp, Way

PAGE = Path(__file__).parent.parent / "docs" / "apps.md"
SECTION = re.compile(r"(?<= -->\n).*?(?=<!-- /apps -->)", re.DOTALL)
SERVER = "https://read.example"
TITLES = {one.name: one.title for one in PROTOCOLS}

TRIED = {"source": "Calls replayed (from its source).", "notes": "Calls replayed (from notes).", "": ""}


def main() -> None:
    text = PAGE.read_text("utf-8")
    made = SECTION.sub(lambda _: steps(), text, 1)
    if "--check" in sys.argv:
        sys.exit(made != text)
    PAGE.write_text(made, "utf-8")


def steps() -> str:
    """The apps' names, then what to do in each."""
    names = "\n".join(f"[{app.name}](#{app.anchor})," for app in READER_APPS)
    return "\n".join([f"{names.removesuffix(',')}.", "", *(paragraph(app) for app in READER_APPS)])


def paragraph(app: ReaderApp) -> str:
    return "\n".join([f"### {app.name}", "", f"For {app.systems}.", "", *map(line, app.ways), ""])


def line(way: Way) -> str:
    address, username, password = way.labels
    fields = [f"*{address}* `{SERVER}{way.path}`", f"*{username}* yours" if username else ""]
    typed = ", ".join([*filter(None, fields), f"*{password}* the device password."])
    menu = " › ".join(f"*{name}*" for name in way.menu)
    tried = f"Tried with `{way.library}`." if way.library else ""
    said = [menu and f"{menu}.", typed, way.note, TRIED[way.known_from], tried]
    if not way.known_from and way.protocol in ("fever", "greader", "miniflux"):
        said.append("Calls not known.")
    return f"- **{way.account}**, speaks {TITLES[way.protocol]}: {' '.join(filter(None, said))}"


if __name__ == "__main__":
    main()

"""Fetches what we bring from others for browsers: htmx, uPlot, icons as one sprite, and axe for the tests.

`tools/vendor.py` asks npm (whichever registry it is set up for) for the tarballs, checks each against the hash in
vendor.lock.json, and writes the files with their licences. `--check` only compares what is here with the lock.
"""

import argparse
import base64
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "vendor.lock.json"
STATIC = "src/tsuzuki/web/static/vendor"
TESTS = "tests/vendor"
SPRITE = "src/tsuzuki/web/static/icons.svg"

# package, version, where to, and its files that we want
PACKAGES: tuple[tuple[str, str, str, dict[str, str]], ...] = (
    (
        "htmx.org",
        "4.0.0",
        f"{STATIC}/htmx",
        {"dist/htmx.min.js": "htmx.js", "dist/ext/hx-sse.min.js": "hx-sse.js", "LICENSE": "LICENSE"},
    ),
    (
        "uplot",
        "1.6.32",
        f"{STATIC}/uplot",
        {"dist/uPlot.iife.min.js": "uplot.js", "dist/uPlot.min.css": "uplot.css", "LICENSE": "LICENSE"},
    ),
    ("lucide-static", "1.62.0", f"{STATIC}/lucide", {"LICENSE": "LICENSE"}),
    ("axe-core", "4.14.0", f"{TESTS}/axe", {"axe.min.js": "axe.js", "LICENSE": "LICENSE"}),
)

ICONS = """
activity arrow-down arrow-left arrow-right arrow-up bell book-open bookmark bookmark-check calendar check check-check
chevron-down chevron-left chevron-right chevron-up circle circle-check circle-dot circle-help circle-x clapperboard
clock columns-2 command compass copy credit-card download ellipsis external-link eye eye-off file-text filter folder
folder-plus gauge globe headphones history house image inbox info keyboard layers layout-grid library link list log-out
mail maximize menu minimize monitor moon newspaper palette panel-left pause pencil play plus power refresh-cw rss
scroll-text search server settings share-2 shield skull sliders-horizontal sparkles square-stack star sun tag text
timer trash-2 triangle-alert type undo-2 upload user user-plus users wifi-off wrench x zap zoom-in zoom-out
"""


def main() -> int:
    """0 when all is as the lock says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare only; needs no network")
    wrong = _compare() if parser.parse_args().check else _fetch_all()
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


def _compare() -> list[str]:
    files = json.loads(LOCK.read_text("utf-8"))["files"]
    wrong = [name for name, known in files.items() if not (ROOT / name).exists() or _sha256(ROOT / name) != known]
    brought = {str(path.relative_to(ROOT)) for folder in (STATIC, TESTS) for path in _below(ROOT / folder)}
    return [f"differs from the lock: {name}" for name in wrong] + [
        f"not in the lock: {name}" for name in sorted(brought - files.keys())
    ]


def _below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def _fetch_all() -> list[str]:
    known: dict[str, Any] = json.loads(LOCK.read_text("utf-8")) if LOCK.exists() else {"packages": {}, "files": {}}
    lock: dict[str, Any] = {"packages": {}, "files": {}}
    with tempfile.TemporaryDirectory() as folder:
        for name, version, into, wanted in PACKAGES:
            spec = f"{name}@{version}"
            tarball = _pack(spec, Path(folder))
            integrity = "sha512-" + base64.b64encode(hashlib.sha512(tarball.read_bytes()).digest()).decode()
            if known["packages"].get(spec, integrity) != integrity:
                return [f"{spec} is not the tarball that the lock names"]
            lock["packages"][spec] = integrity
            with tarfile.open(tarball) as archive:
                written = [_write(archive, inside, ROOT / into / name) for inside, name in wanted.items()]
                if name == "lucide-static":
                    written.append(_sprite(archive))
            lock["files"] |= {str(path.relative_to(ROOT)): _sha256(path) for path in written}
    LOCK.write_text(json.dumps(lock, indent=2) + "\n", "utf-8")
    return []


def _pack(spec: str, folder: Path) -> Path:
    """npm checks the registry's own hash while it downloads."""
    done = subprocess.run(["npm", "pack", "--json", spec], cwd=folder, check=True, capture_output=True, text=True)
    name: str = json.loads(done.stdout)[0]["filename"]
    return folder / name


def _read(archive: tarfile.TarFile, inside: str) -> bytes:
    member = archive.extractfile(f"package/{inside}")
    assert member is not None, inside
    return member.read()


def _write(archive: tarfile.TarFile, inside: str, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = re.sub(rb"\n?//# sourceMappingURL=\S+\s*$", b"\n", _read(archive, inside))
    path.write_bytes(content)
    return path


def _sprite(archive: tarfile.TarFile) -> Path:
    """Every icon as a symbol of its own; lines and joins are the style sheet's."""
    symbols = [_symbol(name, _read(archive, f"icons/{name}.svg").decode()) for name in sorted(ICONS.split())]
    note = "<!-- Icons: Lucide (ISC licence, see vendor/lucide/LICENSE); made by tools/vendor.py -->"
    text = f'<svg xmlns="http://www.w3.org/2000/svg">{note}\n' + "\n".join(symbols) + "\n</svg>\n"
    path = ROOT / SPRITE
    path.write_text(text, "utf-8")
    return path


def _symbol(name: str, svg: str) -> str:
    found = re.search(r"<svg[^>]*>(.*)</svg>", svg, re.DOTALL)
    assert found is not None, name
    inside = re.sub(r"\s*\n\s*", "", found[1]).replace(" />", "/>")
    return f'<symbol id="{name}" viewBox="0 0 24 24">{inside}</symbol>'


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


if __name__ == "__main__":
    raise SystemExit(main())

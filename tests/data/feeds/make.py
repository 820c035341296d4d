"""Write the corpus: `python -m tests.data.feeds.make`. Every file is ours and is made here.

`generators/` beside it holds the shapes of well-known programs and services, with texts of our own, written by hand;
`expected.jsonl` says what a reader is to find in them.
"""

from pathlib import Path

import msgspec

from tests.data.feeds.recipes import atom, damage, dates, extensions, rss

FOLDER = Path(__file__).parent / "corpus"
GENERATORS = Path(__file__).parent / "generators"
EXPECTED = Path(__file__).parent / "expected.jsonl"
URL = "https://comic.example/feeds/all.xml"
"""Where every file of the corpus is said to come from."""


def corpus() -> dict[str, bytes]:
    """Every file by its name."""
    files: dict[str, bytes] = {}
    for recipe in (rss, atom, dates, extensions, damage):
        for name, body in recipe.recipes().items():
            assert name not in files, name
            files[name] = body
    return files


class Expected(msgspec.Struct, frozen=True):
    """An entry of a file; each of its own files as address, type and seconds."""

    file: str
    key: str
    title: str
    at: str | None
    author: str | None
    files: tuple[tuple[str, str | None, int | None], ...]


def generators() -> dict[str, bytes]:
    """Every file by its name."""
    return {path.name: path.read_bytes() for path in sorted(GENERATORS.iterdir())}


def expected() -> list[Expected]:
    """Every entry of every file, in order."""
    return [msgspec.json.decode(line, type=Expected) for line in EXPECTED.read_bytes().splitlines()]


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    made = corpus()
    for stale in {path.name for path in FOLDER.iterdir()} - made.keys():
        (FOLDER / stale).unlink()
    for name, body in made.items():
        (FOLDER / name).write_bytes(body)


if __name__ == "__main__":
    main()

"""Write the corpus: `python -m tests.data.feeds.make`. Every file is ours and is made here."""

from pathlib import Path

from tests.data.feeds.recipes import atom, damage, dates, extensions, rss

FOLDER = Path(__file__).parent / "corpus"
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


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    made = corpus()
    for stale in {path.name for path in FOLDER.iterdir()} - made.keys():
        (FOLDER / stale).unlink()
    for name, body in made.items():
        (FOLDER / name).write_bytes(body)


if __name__ == "__main__":
    main()

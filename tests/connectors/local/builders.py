"""A library on disk: folders, images and archives."""

import zipfile
from pathlib import Path

PNG = b"\x89PNG\r\n\x1a\n" + b"\x00" * 40


def an_archive(path: Path, *names: str, info: str | None = None) -> Path:
    """A CBZ with an image under each name, and a ComicInfo.xml."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, PNG)
        if info is not None:
            archive.writestr("ComicInfo.xml", info)
    return path


def images(folder: Path, *names: str) -> Path:
    """A folder with an image under each name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_bytes(PNG)
    return folder

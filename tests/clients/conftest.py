"""Programs made of the libraries of real reader apps, compiled for `make clients` and `make soak`."""

import asyncio
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def feeds_program() -> Path:
    """The libraries of feed readers."""
    return built("feeds")


@pytest.fixture(scope="session")
def comics_program() -> Path:
    """The libraries of comic readers."""
    return built("comics")


@pytest.fixture(scope="session")
def catalogues_program() -> Path:
    """Parsers of catalogues, in JavaScript; its packages are those of its lock file."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        pytest.skip("npm or node is missing: install Node.js to run the apps' own parsers")
    folder = HERE / "catalogues"
    subprocess.run([npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=True, timeout=600)
    return folder / "main.mjs"


def built(name: str) -> Path:
    """A program of Rust libraries; its first build takes minutes."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is missing: install Rust to run the apps' own libraries")
    folder = HERE / name
    subprocess.run([cargo, "build", "--quiet"], cwd=folder, check=True, timeout=1200)
    return folder / "target" / "debug" / name


async def run(program: Path | str, *said: str) -> dict[str, list[str]]:
    """What the program printed, by the first word of each line."""
    process = await asyncio.create_subprocess_exec(program, *said, stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()
    lines = defaultdict[str, list[str]](list)
    for line in printed.decode().splitlines():
        word, _, rest = line.partition(" ")
        lines[word].append(rest)
    assert process.returncode == 0, lines["failed"]
    return lines


@pytest.fixture(scope="session")
def backup_program() -> list[str]:
    """The command of the program with Mihon's own library of backups; its first build takes a minute."""
    maven, java = shutil.which("mvn"), shutil.which("java")
    if maven is None or java is None:
        pytest.skip("Maven or Java is missing: install maven to read backups with Mihon's own library")
    folder = HERE / "backup"
    subprocess.run([maven, "--quiet", "--batch-mode", "compile"], cwd=folder, check=True, timeout=1200)
    path = f"{folder / 'target' / 'classes'}:{folder / 'target' / 'dependency'}/*"
    return [java, "-cp", path, "MainKt"]

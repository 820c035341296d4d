"""Builds the others from their sources, and says what is missing."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.harness import say


class Missing(Exception):
    """Why somebody does not take part; a sentence."""


class Recipe(msgspec.Struct, frozen=True):
    """How one of them is built."""

    name: str
    repository: str
    command: tuple[str, ...]
    """What follows `go build -o ...`."""
    folder: str = "."
    """Where in the checkout."""

    @property
    def variable(self) -> str:
        return f"PEERS_{self.name.upper()}"

    @property
    def option(self) -> str:
        return f"--{self.name.lower()}"


class Built(msgspec.Struct, frozen=True):
    """A program and the commit it was built from."""

    binary: Path
    version: str


MINIFLUX = Recipe("Miniflux", "https://github.com/miniflux/v2", ("-ldflags=-s -w", "."))
FUSION = Recipe("Fusion", "https://github.com/0x2E/fusion", ("-trimpath", "./cmd/fusion"), "backend")
YARR = Recipe(
    "yarr",
    "https://github.com/nkanaev/yarr",
    ("-mod=mod", "-tags=sqlite_foreign_keys sqlite_json sqlite_fts5", "-ldflags=-s -w", "./cmd/yarr"),
)
"""`-mod=mod`: the modules that go.sum names, also where the checkout's copy of them is not whole."""


def build(recipe: Recipe, given: Path | None, cache: Path, *, clones: bool) -> Built:
    """The program, built unless the cache has this commit of it. `given` may be a checkout, or a program."""
    if given is not None and given.is_file():
        return Built(given.resolve(), "as given")
    checkout = _checkout(recipe, given, cache, clones=clones)
    go = shutil.which("go")
    if go is None:
        raise Missing(f"{recipe.name} is left out: there is no `go` on the PATH to build it with.")
    version = _read(["git", "describe", "--tags", "--always"], checkout)
    binary = cache / f"{recipe.name.lower()}-{version}"
    if not binary.exists():
        say(f"building {recipe.name} {version}")
        _run(recipe, [go, "build", "-p", "1", "-o", str(binary.resolve()), *recipe.command], checkout / recipe.folder)
    return Built(binary.resolve(), version)


def _checkout(recipe: Recipe, given: Path | None, cache: Path, *, clones: bool) -> Path:
    if given is not None:
        if not (given / recipe.folder / "go.mod").is_file():
            raise Missing(f"{recipe.name} is left out: {given} is no checkout of {recipe.repository}.")
        return given
    if not clones:
        raise Missing(
            f"{recipe.name} is left out: no checkout was given. Name one with {recipe.option} or {recipe.variable},"
            f" or let --clone fetch {recipe.repository}."
        )
    folder = cache / "src" / recipe.name.lower()
    if not folder.exists():
        say(f"cloning {recipe.repository}")
        folder.parent.mkdir(parents=True, exist_ok=True)
        _run(recipe, ["git", "clone", "--quiet", recipe.repository, str(folder)], folder.parent)
    return folder


def _run(recipe: Recipe, command: Sequence[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            ["nice", "-n", "19", *command], cwd=folder, capture_output=True, text=True, check=False, env=os.environ
        )
    except OSError as error:
        raise Missing(f"{recipe.name} is left out: {command[0]} does not run ({error}).") from error
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise Missing(f"{recipe.name} is left out: `{' '.join(command[:2])}` failed: {last}")


def _read(command: Sequence[str], folder: Path) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"

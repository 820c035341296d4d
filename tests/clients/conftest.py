"""Programs made of the libraries of real reader apps, compiled for `make clients` and `make soak`."""

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def feeds_program() -> Path:
    """The program of Rust libraries; its first build takes minutes."""
    cargo = shutil.which("cargo")
    if cargo is None:
        pytest.skip("cargo is missing: install Rust to run the apps' own libraries")
    folder = HERE / "feeds"
    subprocess.run([cargo, "build", "--quiet"], cwd=folder, check=True, timeout=1200)
    return folder / "target" / "debug" / "feeds"

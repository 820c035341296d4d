"""Each import contract fails on a planted violation: a contract that cannot fail holds nothing."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import tsuzuki

ROOT = Path(__file__).parent.parent
CONTRACTS = [
    contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
]

# "Only net calls out" is what I6 rests on: there is no other way past the guard.
PLANTED = {
    "Imports point the way the data flows, then down": ("db/planted.py", "import tsuzuki.queue.store\n"),
    "Policies, connectors and the model are pure": ("model/planted.py", "import time\n"),
    "Entrypoints call services, never stores": ("api/planted.py", "import tsuzuki.queue.store\n"),
    "An area's store is its own": ("retention/planted.py", "import tsuzuki.accounts.store\n"),
    "Only db imports a database driver": ("shelves/planted.py", "import apsw\n"),
    "Only net calls out, and only coord speaks to Redis": ("shelves/planted_client.py", "import aiohttp\n"),
    "No cycles": ("shelves/planted_cycle.py", "import tsuzuki.shelves.planted_other\n"),
}
ALSO = {"shelves/planted_other.py": "import tsuzuki.shelves.planted_cycle\n"}


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    """What the linter says of each contract, in a copy with every violation in it."""
    copy = tmp_path_factory.mktemp("planted")
    shutil.copytree(Path(tsuzuki.__file__).parent, copy / "tsuzuki", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    for file, text in (ALSO | dict(PLANTED.values())).items():
        (copy / "tsuzuki" / file).write_text(text)
    linter = "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports_command as run; run()"
    done = subprocess.run(
        [sys.executable, "-c", linter, "--no-logo", "--no-cache"], cwd=copy, capture_output=True, text=True, check=False
    )
    return dict(re.findall(r"^(.+?) (KEPT|BROKEN)\b", done.stdout, re.MULTILINE))


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_contract_fails_on_a_planted_violation(contract, verdicts):
    assert contract in PLANTED, "plant a violation of this contract"
    assert verdicts[contract] == "BROKEN"

"""What we bring from others is what the lock says, with its licence."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_files_of_others_are_those_of_the_lock():
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "vendor.py", "--check"], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_each_of_them_has_its_licence():
    folders = [
        folder
        for parent in (ROOT / "src/tsuzuki/web/static/vendor", ROOT / "tests/vendor")
        for folder in parent.iterdir()
        if folder.is_dir()
    ]
    assert {"htmx", "lucide", "axe"} <= {folder.name for folder in folders}
    assert all((folder / "LICENSE").read_text("utf-8").strip() for folder in folders)

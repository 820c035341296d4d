"""Starting `tests.db.child`."""

import asyncio
import sys
from pathlib import Path

from tests.scale import scaled

ROOT = Path(__file__).parents[2]
PATIENCE_S = scaled(60, 900)


async def child(*arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.db.child",
        *arguments,
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def finished(process: asyncio.subprocess.Process) -> list[str]:
    """What it said; its last words when it failed."""
    out, err = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    assert process.returncode == 0, err.decode()
    return out.decode().split("\n")[:-1]

"""The key that secrets are sealed with: what the operator set, else a file that nobody else may read (R123)."""

import os
import secrets
from collections.abc import Sequence
from pathlib import Path

from tsuzuki.db.disk import sync
from tsuzuki.db.vault import Vault
from tsuzuki.model.errors import Unavailable

FILE = "secret.key"
SHORTEST = 32


def load_vault(keys: Sequence[str], folder: Path) -> Vault:
    """The vault of these keys; without any, of the one in the folder, which is made at the first start.

    What was sealed with the file's key is opened by it still, after the operator has set another.
    """
    file = folder / FILE
    if not keys and not file.exists():
        _make(file)
    return Vault([*keys, *(_read(file) if file.exists() else ())])


def _make(file: Path) -> None:
    """Whole or not at all; of several processes that start at once, one makes it."""
    part = file.with_name(f"{FILE}.{secrets.token_hex(8)}.part")  # not by process: containers have the same ids
    try:
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
            opened.write(secrets.token_hex(32) + "\n")
        sync(part)
        try:
            os.link(part, file)
        except FileExistsError:
            return
        sync(file.parent)
    except OSError as error:
        why = error.strerror or error
        raise Unavailable(f"The secret key {file} cannot be made: {why}. Set TSUZUKI_SECRET_KEY instead.") from error
    finally:
        part.unlink(missing_ok=True)


def _read(file: Path) -> list[str]:
    try:
        keys = file.read_text("ascii").split()
    except (OSError, UnicodeDecodeError) as error:
        raise Unavailable(f"The secret key {file} cannot be read: {error}.") from error
    if not keys or min(map(len, keys)) < SHORTEST:
        raise Unavailable(f"{file} holds no secret key: one has at least {SHORTEST} characters, on a line of its own.")
    return keys

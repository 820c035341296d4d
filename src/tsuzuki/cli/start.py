"""What commands share: reading the settings, setting up the log, showing progress."""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tsuzuki
from tsuzuki.settings import PREFIX, Settings, checkout, read_env_file, read_settings, unknown_variables

Watch = Callable[[str, int, int], None]
"""Called with what is being done, how much is done, and the total, 0 where it is unknown."""


@contextmanager
def shown_progress(*, in_logs: bool = False) -> Iterator[Watch]:
    """A progress bar for each task on a terminal; elsewhere its last state, printed at the end if `in_logs`."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    count = TextColumn("{task.completed:,}")
    columns = TextColumn("{task.description:<28}"), BarColumn(), count, TimeElapsedColumn()
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not (console.is_terminal or in_logs)) as progress:
        lines: dict[str, TaskID] = {}

        def watch(what: str, done: int, total: int) -> None:
            if what not in lines:
                lines[what] = progress.add_task(what, total=total or None)
            progress.update(lines[what], completed=done, total=total or None)

        yield watch


def environment(**overrides: object) -> dict[str, str]:
    """The variables of this process; where it has none, of a checkout's `.env`; options of the command line win."""
    said = {PREFIX + name.upper(): str(value) for name, value in overrides.items() if value is not None}
    beside = checkout(Path(tsuzuki.__file__).parent)
    return {**({} if beside is None else read_env_file(beside / ".env")), **os.environ, **said}


def load_settings(environ: dict[str, str]) -> Settings:
    """The settings; `BadSetting` stops the command."""
    return read_settings(environ, beside=checkout(Path(tsuzuki.__file__).parent))


def start(**overrides: object) -> Settings:
    """The settings, with the log set up by them and a warning for each variable that means nothing."""
    structlog = _import_structlog()
    from tsuzuki.log import set_up_logging

    environ = environment(**overrides)
    settings = load_settings(environ)
    set_up_logging(level=settings.log_level, style=settings.log_format, secrets=settings.secrets())
    for sentence in unknown_variables(environ):
        structlog.stdlib.get_logger("tsuzuki.settings").warning("unknown_variable", why=sentence)
    return settings


def _import_structlog() -> Any:
    """Without rich, which it takes where it finds it, for tracebacks that we do not print: a tenth of a start."""
    sys.modules["rich"] = None  # type: ignore[assignment]  # this is how an import is refused
    try:
        import structlog
    finally:
        del sys.modules["rich"]
    return structlog


def start_server(**overrides: object) -> Settings:
    """As `start`, for what runs on. Nothing of the start is garbage: `freeze_startup_objects` begins to collect it."""
    gc.disable()
    return start(**overrides)


def log_start(schema_version: int) -> None:
    """What a server or worker says of itself at its start."""
    import structlog

    structlog.stdlib.get_logger("tsuzuki.start").info("schema", version=schema_version, program=tsuzuki.__version__)

"""How far something long has come, on a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Watch = Callable[[str, int, int], None]
"""Told what is being done, how far it came, and of how much: 0 where nobody knows."""


@contextmanager
def shown_progress(*, in_logs: bool = False) -> Iterator[Watch]:
    """A line for each thing that is told of, where a terminal shows it; elsewhere once, at the end, if `in_logs`."""
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

"""The services of a shelf, built once for a process."""

import msgspec

from tsuzuki.shelves.bookmarks.service import Bookmarks
from tsuzuki.shelves.deps import ShelfDeps
from tsuzuki.shelves.groups.service import Groups
from tsuzuki.shelves.library.follows.service import Follows
from tsuzuki.shelves.library.progress.service import ReadingProgress
from tsuzuki.shelves.library.series.service import SeriesLooks
from tsuzuki.shelves.subscriptions.service import Subscriptions


class ShelfServices(msgspec.Struct, frozen=True):
    """Every service of this area, by name."""

    deps: ShelfDeps
    groups: Groups
    subscriptions: Subscriptions
    bookmarks: Bookmarks
    follows: Follows
    progress: ReadingProgress
    series: SeriesLooks


def build_reading(deps: ShelfDeps) -> ShelfServices:
    """The services, given these."""
    return ShelfServices(
        deps=deps,
        groups=Groups(deps),
        subscriptions=Subscriptions(deps),
        bookmarks=Bookmarks(deps),
        follows=Follows(deps),
        progress=ReadingProgress(deps),
        series=SeriesLooks(deps.db),
    )

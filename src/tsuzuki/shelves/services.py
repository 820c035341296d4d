"""The services of a shelf, built once for a process."""

import msgspec

from tsuzuki.shelves.bookmarks.service import Bookmarks
from tsuzuki.shelves.deps import ShelfDeps
from tsuzuki.shelves.groups.service import Groups
from tsuzuki.shelves.library.follows.service import Follows
from tsuzuki.shelves.library.progress.service import ReadingProgress
from tsuzuki.shelves.library.series.service import SeriesLooks
from tsuzuki.shelves.lists import Lists
from tsuzuki.shelves.subscriptions.service import Subscriptions


class ShelfServices(msgspec.Struct, frozen=True):
    """Every service of this area, by name."""

    groups: Groups
    subscriptions: Subscriptions
    bookmarks: Bookmarks
    lists: Lists
    follows: Follows
    progress: ReadingProgress
    series: SeriesLooks


def build_reading(deps: ShelfDeps) -> ShelfServices:
    """The services, given these."""
    subscriptions = Subscriptions(deps)
    return ShelfServices(
        groups=Groups(deps),
        subscriptions=subscriptions,
        bookmarks=Bookmarks(deps),
        lists=Lists(deps, subscriptions),
        follows=Follows(deps),
        progress=ReadingProgress(deps),
        series=SeriesLooks(deps.db),
    )

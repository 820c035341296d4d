"""The services of a shelf, built once for a process."""

import msgspec

from tsuzuki.shelves.bookmarks import Bookmarks
from tsuzuki.shelves.deps import ShelfDeps
from tsuzuki.shelves.documents import Documents
from tsuzuki.shelves.follows import Follows
from tsuzuki.shelves.groups import Groups
from tsuzuki.shelves.library import Library
from tsuzuki.shelves.progress import ReadingProgress
from tsuzuki.shelves.series import SeriesService
from tsuzuki.shelves.subscriptions import Subscriptions
from tsuzuki.shelves.tags import Tags


class ShelfServices(msgspec.Struct, frozen=True):
    """Every service of this area, by name."""

    deps: ShelfDeps
    groups: Groups
    subscriptions: Subscriptions
    bookmarks: Bookmarks
    follows: Follows
    progress: ReadingProgress
    series: SeriesService
    library: Library
    documents: Documents
    tags: Tags


def build_reading(deps: ShelfDeps) -> ShelfServices:
    """The services of shelves over these dependencies."""
    return ShelfServices(
        deps=deps,
        groups=Groups(deps),
        subscriptions=Subscriptions(deps),
        bookmarks=Bookmarks(deps),
        follows=Follows(deps),
        progress=ReadingProgress(deps),
        series=SeriesService(deps.db),
        library=Library(deps.db),
        documents=Documents(deps.db),
        tags=Tags(deps),
    )

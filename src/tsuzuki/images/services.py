"""Every service of images, built once for a process."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from tsuzuki.catalogue.calls import CallLocks, Calls
from tsuzuki.catalogue.chapters import Chapters
from tsuzuki.catalogue.details import DetailsService
from tsuzuki.db import Database
from tsuzuki.images.articles import ArticleImages
from tsuzuki.images.downloads import ChapterDownloader, Downloads
from tsuzuki.images.fetcher import ImageClient, ImageFetcher
from tsuzuki.images.files import ImageCache, ImageFiles
from tsuzuki.images.icons import Icons
from tsuzuki.images.service import Images, Prefetch
from tsuzuki.model.requests import Parsers
from tsuzuki.model.times import Millis
from tsuzuki.parsing.pool import ParsePool, PoolOptions

DECODING = PoolOptions(processes=2, cpu_seconds=10, wall_seconds=30, memory_bytes=1024 * 1024 * 1024)
"""The largest image that we accept takes a third of a gigabyte while it is decoded."""


class ImageDeps(msgspec.Struct, frozen=True, kw_only=True):
    """What the services for images need."""

    db: Database
    client: ImageClient
    parsers: Parsers
    calls: Calls
    chapters: Chapters
    details: DetailsService
    locks: CallLocks
    downloads: Downloads
    clock: Callable[[], Millis]
    random_bytes: Callable[[int], bytes]
    files: ImageFiles
    size: int
    """The size of the cache, in bytes."""


class ImageServices(msgspec.Struct, frozen=True, kw_only=True):
    """Every service of images."""

    images: Images
    prefetch: Prefetch
    downloads: Downloads
    articles: ArticleImages
    icons: Icons
    room: ImageCache
    downloader: ChapterDownloader


@asynccontextmanager
async def open_images(deps: ImageDeps) -> AsyncIterator[ImageServices]:
    """The services; what is under way is ended at the end of the block."""
    db, clock = deps.db, deps.clock
    async with AsyncExitStack() as parts:
        room = ImageCache(db, deps.files, clock, size=deps.size)
        parts.push_async_callback(room.close)
        pool = ParsePool(DECODING)
        parts.push_async_callback(pool.close)
        fetcher = ImageFetcher(db, deps.client, deps.calls, chapters=deps.chapters, details=deps.details)
        parts.push_async_callback(fetcher.close)
        images = Images(db, deps.files, fetcher, pool, locks=deps.locks, clock=clock, stored=room.stored)
        parts.push_async_callback(images.close)
        prefetch = Prefetch(db, images, clock)
        parts.push_async_callback(prefetch.close)
        yield ImageServices(
            images=images,
            prefetch=prefetch,
            downloads=deps.downloads,
            articles=await ArticleImages.open(db, deps.parsers, deps.random_bytes, clock()),
            icons=Icons(
                db, deps.client, pages=deps.parsers, pictures=pool, clock=clock, random_bytes=deps.random_bytes
            ),
            room=room,
            downloader=ChapterDownloader(db, images, deps.chapters, clock),
        )

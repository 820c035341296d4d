"""Every service that handlers and pages are given, by name and type."""

import msgspec

from tsuzuki.accounts.services import Accounts
from tsuzuki.billing.services import Billing
from tsuzuki.books.articles import ArticleFiles
from tsuzuki.books.chapters import ChapterFiles
from tsuzuki.catalogue.merges.service import SeriesMerges
from tsuzuki.catalogue.series_links import SeriesLinks
from tsuzuki.catalogue.services import Catalogue
from tsuzuki.connectors.registry import Registry
from tsuzuki.coord.cache import Cache
from tsuzuki.crawler.figures import Figures
from tsuzuki.crawler.services import Crawling
from tsuzuki.crawler.trials import Trials
from tsuzuki.http.auth import Callers, OidcDeps
from tsuzuki.images.app_pictures import AppPictures
from tsuzuki.images.icons import Icons
from tsuzuki.images.media import MediaLinks, MediaService
from tsuzuki.images.services import ImageServices
from tsuzuki.inbox.events import Events
from tsuzuki.inbox.feeds_out.hub import Hub
from tsuzuki.inbox.feeds_out.service import FeedsOut
from tsuzuki.inbox.search.service import Search
from tsuzuki.inbox.service import Inbox
from tsuzuki.inbox.sync import SyncInbox
from tsuzuki.notifications.channels import Channels
from tsuzuki.parsing.pool import ParsePool
from tsuzuki.polling.addresses import Trier
from tsuzuki.polling.articles import Articles
from tsuzuki.queue.workers import Workers
from tsuzuki.retention.preview import Preview
from tsuzuki.shelves.services import ShelfServices
from tsuzuki.transfer.imports.service import Imports
from tsuzuki.transfer.mihon.export import MihonExport
from tsuzuki.transfer.opml import Lists
from tsuzuki.transfer.synced import SyncedBackups


class About(msgspec.Struct, frozen=True):
    """The program, its version and its database engine."""

    name: str
    version: str
    engine: str


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """A page takes a service by its name here; a handler of the API by its type, also from within a group of them."""

    about: About
    callers: Callers
    oidc: OidcDeps
    accounts: Accounts
    reading: ShelfServices
    billing: Billing
    crawling: Crawling
    catalogue: Catalogue
    pictures: ImageServices
    app_pictures: AppPictures
    chapter_files: ChapterFiles
    article_files: ArticleFiles
    icons: Icons
    lists: Lists
    imports: Imports
    mihon_export: MihonExport
    synced: SyncedBackups
    inbox: Inbox
    sync: SyncInbox
    feeds_out: FeedsOut
    hub: Hub
    search: Search
    events: Events
    channels: Channels
    trier: Trier
    articles: Articles
    merging: SeriesMerges
    series_links: SeriesLinks
    media: MediaService
    media_links: MediaLinks
    figures: Figures
    preview: Preview
    workers: Workers
    trials: Trials
    registry: Registry
    cache: Cache
    parsers: ParsePool

"""Builds each area's services from the settings and the parts below it."""

import os
from collections.abc import Callable
from urllib.parse import urlsplit

from tsuzuki.accounts.services import Accounts
from tsuzuki.api import PREFIX
from tsuzuki.app.fetching import client_options, folder_of
from tsuzuki.app.pipeline import Pipeline, files_of, ids_of
from tsuzuki.billing.services import Billing, build_billing
from tsuzuki.catalogue.calls import Calls
from tsuzuki.catalogue.services import Catalogue, CatalogueDeps, Ttls, build_catalogue
from tsuzuki.crawler.services import CrawlerDeps, Crawling, build_crawling
from tsuzuki.db import Database
from tsuzuki.delivery.portions import deliver_before_leaving_tx
from tsuzuki.files.stores import IMAGES, IMPORTS
from tsuzuki.http.auth import OidcDeps
from tsuzuki.images.downloads import Downloads
from tsuzuki.images.files import ImageFiles
from tsuzuki.images.services import ImageDeps
from tsuzuki.model.times import Millis
from tsuzuki.settings import Settings
from tsuzuki.shelves.deps import ShelfDeps
from tsuzuki.shelves.services import ShelfServices, build_reading
from tsuzuki.transfer.imports.service import Imports

Clock = Callable[[], Millis]

CALLBACK = f"{PREFIX}/oidc/callback"


def oidc_deps(settings: Settings, accounts: Accounts) -> OidcDeps:
    """The way in by a provider; its libraries are loaded only where there is one."""
    if settings.oidc_issuer is None:
        return OidcDeps()
    from tsuzuki.accounts.oidc import Oidc
    from tsuzuki.accounts.oidc_provider import OidcOptions, OidcProvider

    options = OidcOptions(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id or "",
        client_secret=settings.oidc_client_secret or "",
        redirect_uri=settings.oidc_redirect_uri or f"{settings.public_url}{CALLBACK}",
    )
    provider = OidcProvider(options, accounts.deps.clock)
    oidc = Oidc(accounts.deps, accounts.sign_in, provider, allowed_user=settings.oidc_allowed_user)
    return OidcDeps(oidc, urlsplit(settings.oidc_issuer).hostname or settings.oidc_issuer)


def reading_of(pipeline: Pipeline, db: Database, clock: Clock) -> ShelfServices:
    """The services of shelves."""
    deps = ShelfDeps(
        db=db,
        clock=clock,
        new_id=ids_of(clock),
        parsers=pipeline.fetching.parsers,
        after_commit=pipeline.wakeup.wake,
        vet=pipeline.fetching.client.vet,
        ask_refresh=pipeline.poller.ask_refresh,
        ask_refresh_all=pipeline.poller.ask_refresh_all,
        deliver_before_leaving_tx=deliver_before_leaving_tx,
    )
    return build_reading(deps)


def billing_of(settings: Settings, accounts: Accounts, pipeline: Pipeline) -> Billing:
    """The services of renting and paying."""
    secret = settings.stripe_webhook_secret if settings.stripe else None
    return build_billing(
        accounts.deps, is_on=settings.billing, stripe_secret=secret or "", after_commit=pipeline.wakeup.wake
    )


def crawling_of(settings: Settings, pipeline: Pipeline, db: Database, clock: Clock) -> Crawling:
    """The services of sources, comics and crawl jobs."""
    deps = CrawlerDeps(
        db=db,
        wakeup=pipeline.wakeup,
        clock=clock,
        random_bytes=os.urandom,
        registry=pipeline.fetching.registry,
        guard=client_options(settings).guard,
        cache=pipeline.cache,
        tasks=pipeline.tasks,
    )
    return build_crawling(deps)


def imports_of(settings: Settings, pipeline: Pipeline, reading: ShelfServices, crawling: Crawling) -> Imports:
    """The services of imports."""
    return Imports(
        reading.subscriptions,
        reading.follows,
        crawling.sources,
        registry=pipeline.fetching.registry,
        files=files_of(settings, IMPORTS),
        client=pipeline.fetching.client,
    )


def catalogue_of(
    settings: Settings, pipeline: Pipeline, db: Database, clock: Clock, *, downloads: Downloads
) -> Catalogue:
    """The services of browsing."""
    deps = CatalogueDeps(
        db=db,
        clock=clock,
        new_id=ids_of(clock),
        registry=pipeline.fetching.registry,
        driver=pipeline.fetching.driver,
        folder_of=folder_of,
        after_commit=pipeline.wakeup.wake,
        ttls=Ttls(settings.manga_list_ttl, settings.manga_detail_ttl, settings.chapter_list_ttl),
        downloaded_of=downloads.downloaded_of,
        is_shared=db.engine == "postgres" or settings.redis_url is not None,
    )
    return build_catalogue(deps)


def image_deps(settings: Settings, pipeline: Pipeline, catalogue: Catalogue, downloads: Downloads) -> ImageDeps:
    """The dependencies of images."""
    deps = catalogue.deps
    return ImageDeps(
        db=deps.db,
        client=pipeline.fetching.client,
        parsers=pipeline.fetching.parsers,
        calls=Calls(deps.db, deps.registry, deps.driver, deps.folder_of),
        chapters=catalogue.chapters,
        details=catalogue.details,
        locks=catalogue.locks,
        downloads=downloads,
        clock=deps.clock,
        random_bytes=os.urandom,
        files=ImageFiles(files_of(settings, IMAGES), settings.data_dir / IMAGES.name),
        size=settings.image_cache_size,
    )

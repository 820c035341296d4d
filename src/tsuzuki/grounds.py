"""The grounds: what each area is given of the settings and of the parts below it."""

import os
from collections.abc import Callable, Mapping
from functools import partial
from urllib.parse import urlsplit

from tsuzuki.accounts.ground import Ground
from tsuzuki.accounts.guard.policy import Limits
from tsuzuki.accounts.passwords import USUAL_COST, HashCost, Passwords
from tsuzuki.accounts.services import Accounts, build_accounts
from tsuzuki.api import PREFIX
from tsuzuki.billing.services import Billing, build_billing
from tsuzuki.catalogue.calling import Calls
from tsuzuki.catalogue.images.kept import KeptChapters
from tsuzuki.catalogue.images.services import ImageGround
from tsuzuki.catalogue.services import Catalogue, Ttls, build_catalogue
from tsuzuki.catalogue.services import Ground as CatalogueGround
from tsuzuki.crawl.services import Crawling, build_crawling
from tsuzuki.crawl.services import Ground as CrawlGround
from tsuzuki.db import Database
from tsuzuki.edge.oidc import OidcDoor
from tsuzuki.model.times import Millis
from tsuzuki.polling.shelving import ForShelves
from tsuzuki.retention.policy import RetentionRules
from tsuzuki.settings import Settings, effective
from tsuzuki.shelves.ground import Ground as ShelvesGround
from tsuzuki.shelves.services import Reading, build_reading
from tsuzuki.way import Way, client_options, folder_of, ids_of
from tsuzuki.web.desk.in_force import InForce, SettingRow
from tsuzuki.worker.polls import POLL_BELL

Clock = Callable[[], Millis]

CALLBACK = f"{PREFIX}/oidc/callback"


def accounts_of(settings: Settings, db: Database, clock: Clock, hash_cost: HashCost = USUAL_COST) -> Accounts:
    """The services of accounts, as the settings want them."""
    limits = Limits(settings.login_limit, settings.login_window, settings.login_block)
    return build_accounts(
        Ground(db, clock, os.urandom),
        limits,
        is_open=settings.allow_empty_password,
        passwords=Passwords(hash_cost),
    )


def oidc_door(settings: Settings, accounts: Accounts) -> OidcDoor:
    """The way in by a provider; its libraries are loaded only where there is one."""
    if settings.oidc_issuer is None:
        return OidcDoor()
    from tsuzuki.accounts.oidc.provider import Options, Provider
    from tsuzuki.accounts.oidc.service import Oidc

    options = Options(
        issuer=settings.oidc_issuer,
        client_id=settings.oidc_client_id or "",
        client_secret=settings.oidc_client_secret or "",
        redirect_uri=settings.oidc_redirect_uri or f"{settings.public_url}{CALLBACK}",
    )
    provider = Provider(options, accounts.ground.clock)
    oidc = Oidc(accounts.ground, accounts.sign_in, provider, allowed_user=settings.oidc_allowed_user)
    return OidcDoor(oidc, urlsplit(settings.oidc_issuer).hostname or settings.oidc_issuer)


def reading_of(way: Way, db: Database, clock: Clock) -> Reading:
    """The services of shelves, joined to what lies above them."""
    above = ForShelves(way.poller, way.outside.client, way.bell, poll_bell=POLL_BELL)
    return build_reading(ShelvesGround(db, clock, ids_of(clock), above, way.outside.parsers))


def rules_of(settings: Settings) -> RetentionRules:
    """How long things are kept."""
    return RetentionRules(
        keep_read=settings.keep_read,
        keep_jobs=settings.keep_jobs,
        keep_audit=settings.keep_audit,
        hours=settings.prune_hours,
    )


def billing_of(settings: Settings, accounts: Accounts, way: Way) -> Billing:
    """The services of renting and paying."""
    secret = settings.stripe_webhook_secret if settings.stripe else None
    return build_billing(accounts.ground, is_on=settings.billing, stripe_secret=secret or "", ring=way.bell.ring)


def crawling_of(settings: Settings, way: Way, db: Database, clock: Clock) -> Crawling:
    """The services of sources, comics and crawl jobs."""
    ground = CrawlGround(
        db=db,
        bell=way.bell,
        clock=clock,
        dice=os.urandom,
        registry=way.outside.registry,
        guard=client_options(settings).guard,
        cache=way.cache,
        tasks=way.tasks,
        due=partial(way.bell.ring, POLL_BELL),
    )
    return build_crawling(ground)


def catalogue_of(settings: Settings, way: Way, db: Database, clock: Clock, *, kept: KeptChapters) -> Catalogue:
    """The services of browsing."""
    ground = CatalogueGround(
        db=db,
        clock=clock,
        new_id=ids_of(clock),
        registry=way.outside.registry,
        driver=way.outside.driver,
        folder_of=folder_of,
        ring=way.bell.ring,
        ttls=Ttls(settings.manga_list_ttl, settings.manga_detail_ttl, settings.chapter_list_ttl),
        kept_of=kept.kept_of,
        is_shared=db.engine == "postgres" or settings.redis_url is not None,
    )
    return build_catalogue(ground)


def image_ground(settings: Settings, way: Way, catalogue: Catalogue, kept: KeptChapters) -> ImageGround:
    """What images stand on."""
    ground = catalogue.ground
    return ImageGround(
        db=ground.db,
        client=way.outside.client,
        parsers=way.outside.parsers,
        calls=Calls(ground.db, ground.registry, ground.driver, ground.folder_of),
        chapters=catalogue.chapters,
        details=catalogue.details,
        locks=catalogue.locks,
        kept=kept,
        clock=ground.clock,
        dice=os.urandom,
        folder=settings.data_dir / "images",
        size=settings.image_cache_size,
    )


def in_force(settings: Settings, environ: Mapping[str, str]) -> InForce:
    """The settings as the operator sees them."""
    return InForce(
        tuple(
            SettingRow(
                name=one.name,
                value=one.value,
                is_set=one.origin == "environment",
                group=one.variable.group,
                says=one.variable.says,
            )
            for one in effective(settings, environ)
        )
    )

"""Every service of the crawler and of sources, built once for a process."""

from collections.abc import Callable

import msgspec

from tsuzuki.connectors.registry import Registry
from tsuzuki.coord.cache import Cache
from tsuzuki.coord.wakeup import Wakeup
from tsuzuki.crawler.dead_letters import DeadLetters
from tsuzuki.crawler.figures import HealthService
from tsuzuki.crawler.runner import CRAWLS
from tsuzuki.crawler.service import Follower, Jobs
from tsuzuki.db import Database
from tsuzuki.model.ids import uuid7
from tsuzuki.model.times import Millis
from tsuzuki.net.guard import AddressGuard
from tsuzuki.queue.service import Tasks
from tsuzuki.sources.comics import Comics
from tsuzuki.sources.sites import Sources, callable_with


class CrawlerDeps(msgspec.Struct, frozen=True, kw_only=True):
    """What these services stand on. `due` wakes the pollers."""

    db: Database
    wakeup: Wakeup
    clock: Callable[[], Millis]
    random_bytes: Callable[[int], bytes]
    registry: Registry
    guard: AddressGuard
    cache: Cache
    tasks: Tasks


class Crawling(msgspec.Struct, frozen=True):
    """The services, by name."""

    sources: Sources
    comics: Comics
    jobs: Jobs
    follower: Follower
    health: HealthService
    letters: DeadLetters


def build_crawling(deps: CrawlerDeps) -> Crawling:
    """The services over these dependencies."""
    db, clock, is_callable = deps.db, deps.clock, callable_with(deps.guard)

    return Crawling(
        sources=Sources(
            db,
            deps.registry,
            clock,
            is_callable=is_callable,
            cache=deps.cache,
            after_commit=lambda *names: deps.wakeup.wake(*names, CRAWLS.name),
        ),
        comics=Comics(
            db,
            deps.registry,
            clock,
            new_id=lambda: uuid7(clock(), deps.random_bytes(10)),
            is_callable=is_callable,
            after_commit=deps.wakeup.wake,
            cache=deps.cache,
        ),
        jobs=Jobs(db, deps.wakeup, clock, random_bytes=deps.random_bytes, cache=deps.cache),
        follower=Follower(db, deps.wakeup),
        health=HealthService(db, clock),
        letters=DeadLetters(db, deps.tasks, clock),
    )

"""Every service of this area and of the sources below it, built once for a process."""

from collections.abc import Callable

import msgspec

from tsuzuki.connectors.registry import Registry
from tsuzuki.coord.bell import Bell
from tsuzuki.coord.cache import Cache
from tsuzuki.crawl.following import Follower
from tsuzuki.crawl.health import HealthDesk
from tsuzuki.crawl.letters import Letters
from tsuzuki.crawl.service import Jobs
from tsuzuki.crawl.tasks import CRAWLS
from tsuzuki.db import Database
from tsuzuki.model.ids import uuid7
from tsuzuki.model.times import Millis
from tsuzuki.net.guard import Guard
from tsuzuki.queue.service import Tasks
from tsuzuki.sources.comics.service import Comics
from tsuzuki.sources.sites.addresses import callable_with
from tsuzuki.sources.sites.service import Sources


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """What these services stand on. `due` wakes the pollers."""

    db: Database
    bell: Bell
    clock: Callable[[], Millis]
    dice: Callable[[int], bytes]
    registry: Registry
    guard: Guard
    cache: Cache
    tasks: Tasks
    due: Callable[[], None]


class Crawling(msgspec.Struct, frozen=True):
    """The services, by name."""

    sources: Sources
    comics: Comics
    jobs: Jobs
    follower: Follower
    health: HealthDesk
    letters: Letters

    def by_type(self) -> dict[type, object]:
        """Each service under its own type: how handlers ask for it."""
        return {type(service): service for service in msgspec.structs.astuple(self)}


def build_crawling(ground: Ground) -> Crawling:
    """The services over this ground."""
    db, clock, is_callable = ground.db, ground.clock, callable_with(ground.guard)

    def wake() -> None:
        ground.due()
        ground.bell.ring(CRAWLS.name)

    return Crawling(
        sources=Sources(db, ground.registry, clock, is_callable=is_callable, changed=ground.cache.forget, wake=wake),
        comics=Comics(
            db,
            ground.registry,
            clock,
            new_id=lambda: uuid7(clock(), ground.dice(10)),
            is_callable=is_callable,
            due=ground.due,
            changed=ground.cache.forget,
        ),
        jobs=Jobs(db, ground.bell, clock, dice=ground.dice, changed=ground.cache.forget),
        follower=Follower(db, ground.bell),
        health=HealthDesk(db, clock),
        letters=Letters(db, ground.tasks, clock),
    )

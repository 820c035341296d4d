"""Trying a source as it is configured: every call it makes and what it finds, with nothing stored."""

import asyncio

import msgspec

from tsuzuki.catalogue.calls import source_call
from tsuzuki.connectors.registry import Registry
from tsuzuki.connectors.selectors.trial import Trial, try_source
from tsuzuki.model.errors import SourceError, TsuzukiError
from tsuzuki.model.requests import Ask, Reply
from tsuzuki.model.secrets import mask_text
from tsuzuki.polling.driver import Driver, FolderOf
from tsuzuki.sources.types import Source

LONGEST_S = 60.0
MOST_CALLS = 200
"""So many are shown."""


class TrialCall(msgspec.Struct, frozen=True, kw_only=True):
    """A request that the trial made; `status` is None when there was no answer."""

    method: str
    url: str
    status: int | None
    took_ms: int
    size: int | None
    error: str | None


class SourceTrial(msgspec.Struct, frozen=True):
    """What was asked and what came of it; `trouble` says why it could not even begin, or did not end."""

    calls: list[TrialCall]
    trial: Trial
    trouble: str | None

    @property
    def is_good(self) -> bool:
        """Whether the source answered with what a source needs."""
        return self.trouble is None and self.trial.is_good


class Trials:
    """Tries sources."""

    def __init__(self, registry: Registry, driver: Driver, folder_of: FolderOf) -> None:
        self._registry = registry
        self._driver = driver
        self._folder_of = folder_of

    async def run(self, source: Source) -> SourceTrial:
        """One list, the first series' details and chapters, and the newest chapter's pages. A failure is data."""
        calls: list[TrialCall] = []

        def on_call(ask: Ask, outcome: Reply | SourceError, seconds: float, /) -> None:
            calls.append(_call(ask, outcome, seconds))

        try:
            way = source_call(source, self._registry, self._driver.with_listener(on_call), folder_of=self._folder_of)
            async with asyncio.timeout(LONGEST_S):
                trial = await way.ask(try_source(way.connector, way.config))
        except TimeoutError:
            late = f"It did not finish within {LONGEST_S:.0f} seconds."
            return SourceTrial(calls[:MOST_CALLS], Trial(), late)
        except TsuzukiError as error:
            return SourceTrial(calls[:MOST_CALLS], Trial(), mask_text(str(error)))
        shown = {verb: mask_text(why) for verb, why in trial.failures.items()}
        return SourceTrial(calls[:MOST_CALLS], msgspec.structs.replace(trial, failures=shown), None)


def _call(ask: Ask, outcome: Reply | SourceError, seconds: float) -> TrialCall:
    if isinstance(outcome, Reply):
        size, error = len(outcome.body), None
    else:
        size, error = None, mask_text(str(outcome))
    return TrialCall(
        method=ask.method,
        url=mask_text(ask.url),
        status=outcome.status,
        took_ms=round(seconds * 1000),
        size=size,
        error=error,
    )

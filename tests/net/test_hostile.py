"""REL-34 to REL-38, SEC-04: whatever an origin does ends in a named error, in time, and hurts nobody else."""

import asyncio

import msgspec
import pytest

from tests.net.builders import SHORT, SOMEONE, a_client, a_server, always, answer
from tests.net.hostile import BEHAVIOURS, FEED, NAMES, Behaviour, play
from tests.stopwatch import Stopwatch
from tsuzuki.model.errors import SourceError, TimedOut
from tsuzuki.model.requests import Ask
from tsuzuki.net.options import Deadlines

HEALTHY = 50
PATIENT = Deadlines()
DEADLINES = {"sent nothing for": "idle", "in all": "total", "did not finish its answer within": "body"}


def deadlines_for(behaviour: Behaviour) -> Deadlines:
    """Short is only the one that ends it, so that a busy machine meets no other; most end by what they are."""
    meant = {name for words, name in DEADLINES.items() if words in behaviour.says}
    assert len(meant) == (behaviour.error is TimedOut)
    return msgspec.structs.replace(PATIENT, **{name: getattr(SHORT, name) for name in meant})


@pytest.mark.parametrize("name", sorted(BEHAVIOURS))
async def test_a_hostile_origin_fails_while_others_go_on(name):
    behaviour = BEHAVIOURS[name]
    deadlines = deadlines_for(behaviour)
    async with (
        a_server(play) as hostile,
        a_server(always(answer(200, FEED)), host="127.0.0.2") as healthy,
        a_client(NAMES, deadlines=deadlines) as hasty,
        a_client(NAMES) as patient,  # so that a busy machine is not taken for a hostile origin
    ):
        bad = asyncio.create_task(hasty.fetch(Ask(f"{hostile.url}/{name}"), SOMEONE))
        stopwatch = Stopwatch()
        good = await asyncio.gather(*(patient.fetch(Ask(f"{healthy.url}/{n}"), SOMEONE) for n in range(HEALTHY)))
        with pytest.raises(SourceError) as ended:
            await bad
    assert stopwatch.seconds() < deadlines.total + 2
    assert type(ended.value) is behaviour.error, ended.value
    assert behaviour.says in str(ended.value)
    assert str(ended.value).endswith(".")
    assert [reply.body for reply in good] == [FEED] * HEALTHY


def test_the_origin_knows_at_least_fifty_ways_to_be_hostile():
    assert len(BEHAVIOURS) >= 50

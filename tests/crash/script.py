"""What the publisher brings out, in which order: installments, and repeats of them that nobody may be told of."""

import random
from typing import Literal

import msgspec

SITES = ("a", "b")
BACK_CATALOGUE = 3
"""What each outlet has before anybody looks (R8)."""
SHOWN = 40
"""A feed shows no more than its newest."""
EACH = 20
"""New ones of one outlet: one more within minutes would be a flood, which is told once (REL-29)."""

Repeat = Literal["twice", "rekeyed", "edited", "mirrored", "readdressed"]


class Step(msgspec.Struct, frozen=True):
    """One thing that the publisher does: a new installment, or a repeat of one that it brought out before."""

    outlet: str
    number: int
    repeat: Repeat | None = None

    @property
    def name(self) -> str:
        return f"{self.outlet}-{self.number}"


class Publishers(msgspec.Struct, frozen=True):
    """Who brings things out."""

    feeds: tuple[str, ...]
    comics: tuple[str, ...]

    @property
    def outlets(self) -> tuple[str, ...]:
        return (*self.feeds, *self.comics)


def cast_for(installments: int) -> Publishers:
    """As many feeds and comics as it takes, three to two."""
    count = -(-installments // EACH)
    comics = max(1, count * 2 // 5)
    return Publishers(tuple(f"f{n}" for n in range(count - comics)), tuple(f"c{n}" for n in range(comics)))


def write(cast: Publishers, installments: int, repeats: int, rng: random.Random) -> list[Step]:
    """So many new installments spread over all outlets, with repeats of earlier ones in between."""
    outlets = cast.outlets
    news: list[Step] = []
    for index in range(installments):
        outlet = outlets[index % len(outlets)]
        news.append(Step(outlet, BACK_CATALOGUE + index // len(outlets)))
    steps: list[Step] = list(news)
    for _ in range(repeats):
        place = rng.randrange(len(steps))
        step = steps[place]
        if step.repeat is None:
            kinds: tuple[Repeat, ...] = (
                ("mirrored", "readdressed") if step.outlet in cast.comics else ("twice", "rekeyed", "edited")
            )
            again = Step(step.outlet, step.number, rng.choice(kinds))
            steps.insert(min(len(steps), place + 1 + rng.randrange(len(outlets))), again)
        else:
            steps.insert(place + 1, step)
    return steps

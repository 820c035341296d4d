"""What the publisher brings out, in which order: installments, and repeats of them that nobody may be told of."""

import random
from typing import Literal

import msgspec

FEEDS, COMICS = 12, 8
SITES = ("a", "b")
BACK_CATALOGUE = 3
"""What each outlet has before anybody looks (R8)."""
SHOWN = 40
"""A feed shows no more than its newest."""
OUTSTANDING = 12
"""Of one outlet, not yet told: below the count that makes a flood, which is told once (REL-29)."""

Repeat = Literal["twice", "rekeyed", "edited", "mirrored", "readdressed"]


class Step(msgspec.Struct, frozen=True):
    """One thing that the publisher does: a new installment, or a repeat of one that it brought out before."""

    outlet: str
    number: int
    repeat: Repeat | None = None

    @property
    def name(self) -> str:
        return f"{self.outlet}-{self.number}"


def feeds() -> list[str]:
    return [f"f{number}" for number in range(FEEDS)]


def comics() -> list[str]:
    return [f"c{number}" for number in range(COMICS)]


def write(installments: int, repeats: int, dice: random.Random) -> list[Step]:
    """So many new installments spread over all outlets, with repeats of earlier ones in between."""
    outlets = [*feeds(), *comics()]
    news: list[Step] = []
    for index in range(installments):
        outlet = outlets[index % len(outlets)]
        news.append(Step(outlet, BACK_CATALOGUE + index // len(outlets)))
    steps: list[Step] = list(news)
    for _ in range(repeats):
        place = dice.randrange(len(steps))
        step = steps[place]
        if step.repeat is None:
            kinds: tuple[Repeat, ...] = (
                ("mirrored", "readdressed") if step.outlet in comics() else ("twice", "rekeyed", "edited")
            )
            again = Step(step.outlet, step.number, dice.choice(kinds))
            steps.insert(min(len(steps), place + 1 + dice.randrange(len(outlets))), again)
        else:
            steps.insert(place + 1, step)
    return steps

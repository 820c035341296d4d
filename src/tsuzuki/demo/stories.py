"""What the sample publisher publishes: two comics and two feeds. Pure: the same number gives the same installment."""

from collections.abc import Sequence
from typing import Literal

import msgspec

Direction = Literal["ltr", "rtl"]
Scene = Literal["harbour", "night"]

BACKLOG = 8
"""How many installments of each there are before anything new appears."""


class DemoComic(msgspec.Struct, frozen=True):
    """A comic whose pages are drawn on demand."""

    slug: str
    title: str
    about: str
    genres: tuple[str, ...]
    direction: Direction
    scene: Scene
    names: tuple[str, ...]
    captions: tuple[str, ...]


class DemoJournal(msgspec.Struct, frozen=True):
    """A feed whose posts are put together from sentences."""

    slug: str
    title: str
    about: str
    subjects: tuple[str, ...]
    openings: tuple[str, ...]
    sentences: tuple[str, ...]


class DemoChapter(msgspec.Struct, frozen=True):
    """One installment of a comic."""

    number: int
    name: str
    pages: int


class Post(msgspec.Struct, frozen=True):
    """One installment of a journal."""

    number: int
    title: str
    paragraphs: tuple[str, ...]


COMICS = (
    DemoComic(
        slug="tin-fisherman",
        title="The Tin Fisherman",
        about="A fisherman made of tin must not get wet. He goes to sea all the same, every day, and comes back with "
        "something that is not a fish.",
        genres=("Adventure", "Sea"),
        direction="ltr",
        scene="harbour",
        names=("Low Tide", "A Net of Clocks", "The Bottle", "Rust", "Fog Horn", "The Quiet Gull", "Driftwood", "Salt"),
        captions=(
            "The tide went out.",
            "Something ticked.",
            "It was not a fish.",
            "He oiled his knees.",
            "The gull said nothing.",
            "To be continued.",
            "Rain by noon.",
            "The net was heavy.",
        ),
    ),
    DemoComic(
        slug="star-post-office",
        title="星の郵便局 (The Star Post Office)",
        about="On the roof of the post office letters arrive at night, from very far away. Somebody has to answer "
        "them. Read from right to left.",
        genres=("Fantasy", "Slice of Life"),
        direction="rtl",
        scene="night",
        names=("Return to Sender", "Express", "A Stamp for Vega", "The Dark Letter", "Weight", "Two Moons", "Postmark"),
        captions=(
            "A letter fell.",
            "No address.",
            "It was still warm.",
            "Vega, by Monday?",
            "The stamp was glowing.",
            "To be continued.",
            "Nobody was awake.",
            "Except the cat.",
        ),
    ),
)

JOURNALS = (
    DemoJournal(
        slug="harbour-log",
        title="Harbour Log",
        about="What was seen from the pier.",
        subjects=(
            "Wind from the west",
            "Three boats out",
            "Fog until ten",
            "A seal in the basin",
            "High water",
            "Calm",
        ),
        openings=("Early this morning", "Towards noon", "Just before dark", "After the rain"),
        sentences=(
            "the buoys leaned over and the ropes sang.",
            "a crate of oranges drifted in and nobody had lost it.",
            "the ferry was late by the length of one song.",
            "the paint on the second crane has begun to flake again.",
            "seven gulls shared one mast without a quarrel.",
            "the water stood a hand higher than the table said.",
        ),
    ),
    DemoJournal(
        slug="small-machines",
        title="Small Machines",
        about="Notes on things that turn, tick or hum.",
        subjects=("A hinge", "The music box", "Escapements", "One loose screw", "Why it hums", "Grease or oil"),
        openings=(
            "Take the lid off and",
            "With the lamp turned low",
            "If you listen for a minute",
            "On the bench today",
        ),
        sentences=(
            "the smallest wheel is the one that wears first.",
            "a spring keeps its promise longer than most.",
            "the trick is to leave some room for the dust.",
            "whoever built this counted in twelfths.",
            "you hear the fault before you can see it.",
            "nothing here needed a battery, ever.",
        ),
    ),
)


def chapter(comic: DemoComic, number: int) -> DemoChapter:
    """The chapter of that number; 1 is the first."""
    name = comic.names[(number - 1) % len(comic.names)]
    return DemoChapter(number, f"Chapter {number}: {name}", pages=4 + number % 3)


def post(journal: DemoJournal, number: int) -> Post:
    """The post of that number; 1 is the first."""
    paragraphs = tuple(_paragraph(journal, number * 3 + index) for index in range(3))
    return Post(number, f"{_pick(journal.subjects, number)}, no. {number}", paragraphs)


def _paragraph(journal: DemoJournal, seed: int) -> str:
    """An opening and three different sentences."""
    first, *rest = (_pick(journal.sentences, seed + step) for step in range(3))
    return " ".join([f"{_pick(journal.openings, seed)} {first}", *(f"{text[0].upper()}{text[1:]}" for text in rest)])


def _pick(choices: Sequence[str], seed: int) -> str:
    return choices[seed % len(choices)]

"""Canned answers, and a driver that runs a verb without a server."""

from collections.abc import Callable, Generator, Mapping
from typing import Any

from tests.data.feeds.recipes.shapes import rss
from tsuzuki.connectors.feed.parser import parse_anyhow
from tsuzuki.model.errors import HttpStatus
from tsuzuki.model.harvest import FeedHarvest, FoundItem
from tsuzuki.model.requests import Ask, Hop, Parse, Reply
from tsuzuki.model.times import Millis

URL = "https://comic.example/feeds/all.xml"


def a_reply(
    body: bytes = b"", *, url: str = URL, status: int = 200, hops: tuple[Hop, ...] = (), **headers: str
) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(url, status=status, headers=named, body=body, received_at=Millis(0), hops=hops)


class Outside:
    """The world as a table of answers. What is not in it is a 404. It remembers what it was asked and made to parse."""

    def __init__(self, answers: Mapping[str, Reply | Exception]) -> None:
        self.answers = answers
        self.asked: list[Ask] = []
        self.parsed: list[Callable[..., Any]] = []

    def run(self, verb: Generator[Any, Any, Any]) -> Any:
        try:
            want = next(verb)
            while True:
                try:
                    answer = self._answer(want)
                except Exception as error:  # noqa: BLE001 - whatever went wrong is the verb's to see
                    want = verb.throw(error)
                else:
                    want = verb.send(answer)
        except StopIteration as end:
            return end.value

    def _answer(self, want: Any) -> Any:
        if isinstance(want, Parse):
            self.parsed.append(want.function)
            return want.function(*want.arguments)
        self.asked.append(want)
        answer = self.answers.get(want.url)
        if isinstance(answer, Exception):
            raise answer
        if answer is not None:
            return answer
        if 404 in want.accept_statuses:
            return a_reply(b"nothing here", url=want.url, status=404)
        raise HttpStatus(f"{want.url} answered 404.", status=404)


def harvest_of(*items: str, **over: Any) -> FeedHarvest:
    """The harvest of an RSS feed made of these items' insides."""
    return parse_anyhow(rss(*(f"<item>{inside}</item>" for inside in items), **over), URL)


def item_of(inside: str, **over: Any) -> FoundItem:
    """The one item of an RSS feed."""
    return harvest_of(inside, **over).items[0]

"""Canned answers, and a driver that steps a connector without any server."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from tsuzuki.connectors.protocol import Visit
from tsuzuki.model.errors import SourceError
from tsuzuki.model.requests import Ask, Parse, Reply, Want
from tsuzuki.model.times import Millis

NOON = Millis(1_780_000_000_000)
T = TypeVar("T")
Answer = Callable[[Any], Any]


def a_reply(body: bytes | str | object = b"", *, url: str = "https://site.example/", **over: Any) -> Reply:
    """An answer; anything but text and bytes is sent as JSON."""
    if isinstance(body, str):
        body = body.encode()
    if not isinstance(body, bytes):
        body = msgspec.json.encode(body)
    fields: dict[str, Any] = {"url": url, "status": 200, "headers": {}, "body": body, "received_at": NOON}
    return Reply(**fields | over)


def run(visit: Visit[T], answer: Answer | Mapping[str, Any]) -> T:
    """What the visit returns; `answer` is a function, or canned bodies by address. Parsing is done here and now."""
    return run_and_record(visit, answer)[0]


def run_and_record(visit: Visit[T], answer: Answer | Mapping[str, Any]) -> tuple[T, list[Any]]:
    """The same, with all that it asked for."""
    wants: list[Any] = []
    reply: Any = None
    failure: Exception | None = None
    while True:
        try:
            want = visit.send(reply) if failure is None else visit.throw(failure)
        except StopIteration as end:
            return end.value, wants
        failure = None
        if isinstance(want, Parse):
            try:
                reply = want.function(*want.arguments)
            except SourceError as error:
                failure = error
            continue
        wants.append(want)
        try:
            reply = answer(want) if callable(answer) else _canned(answer, want)
        except SourceError as error:
            failure = error


def _canned(bodies: Mapping[str, Any], want: Want) -> Reply:
    assert isinstance(want, Ask)
    assert want.url in bodies, f"nobody expected {want.url}"
    body = bodies[want.url]
    return body if isinstance(body, Reply) else a_reply(body, url=want.url)

"""Where images come from, and what their hosts are told."""

import asyncio
from typing import Any, cast

import msgspec
import pytest

from tests.images.builders import a_picture
from tests.net.builders import SOMEONE, a_client, a_server, answer, by_path
from tsuzuki.catalogue.calls import SourceCall
from tsuzuki.connectors.config import SourceConfig
from tsuzuki.connectors.protocol import Connector, ConnectorInfo, ImageOutcome
from tsuzuki.images.fetcher import ImageFetcher
from tsuzuki.model.errors import HttpStatus, NotAnImage, RefusedAddress
from tsuzuki.model.ids import SourceId
from tsuzuki.model.requests import Ask, ReadFolder
from tsuzuki.polling.driver import Driver

PICTURE = a_picture()
NOBODY = cast("Any", None)
"""For what these tests do not ask."""


class Curious(Connector):
    """Wants to hear of every image."""

    info = ConnectorInfo(id="test.curious", name="Curious", languages=("en",), base_url="https://example.org")

    def __init__(self, reports: str) -> None:
        self._reports = reports

    def image_report(self, outcome: ImageOutcome) -> Ask:
        body = msgspec.json.encode(outcome)
        return Ask(self._reports, method="POST", headers={"content-type": "application/json"}, body=body)


def called(url: str, reports: str) -> tuple[SourceCall, Ask]:
    call = SourceCall(Curious(reports), SourceConfig(), Driver(NOBODY, NOBODY), SOMEONE, None, SourceId(1))
    return call, Ask(url, headers={"referer": "https://example.org/"})


async def test_a_host_that_wants_reports_gets_one_per_image():
    routes = {
        "/a.png": answer(200, PICTURE, x_cache="HIT"),
        "/b.png": answer(500, b"no"),
        "/none.png": answer(204, b""),
        "/report": answer(200, b"{}"),
    }
    async with a_server(by_path(routes)) as server, a_client() as client:
        fetcher = ImageFetcher(NOBODY, client, NOBODY, chapters=NOBODY, details=NOBODY)
        call, ask = called(f"{server.url}/a.png", f"{server.url}/report")
        async with fetcher._called(call, ask) as pieces:
            assert b"".join([piece async for piece in pieces]) == PICTURE
        for name, error in (("b", HttpStatus), ("none", NotAnImage)):
            call, ask = called(f"{server.url}/{name}.png", f"{server.url}/report")
            with pytest.raises(error):
                async with fetcher._called(call, ask):
                    pass
        await asyncio.gather(*fetcher._reports)
        assert server.paths.count("/report") == 3
        assert b"referer: https://example.org/" in server.heads[0].lower()
        assert b"accept: image/avif" in server.heads[0].lower()
        await fetcher.close()


async def test_a_connector_that_names_no_file_is_refused():
    fetcher = ImageFetcher(NOBODY, NOBODY, NOBODY, chapters=NOBODY, details=NOBODY)
    call, _ = called("https://example.org/", "https://example.org/")
    with pytest.raises(RefusedAddress):
        async with fetcher._called(call, ReadFolder("elsewhere")):
            pass

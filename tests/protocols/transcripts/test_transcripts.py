"""What apps say, replayed: each is answered as it needs, from signing in to leaving a feed."""

from pathlib import Path

import pytest

from tests.api.people import a_running_app
from tests.app import in_settings
from tests.net.builders import a_server
from tests.protocols.transcripts.replay import Transcript, a_prepared_shelf, publishing, replay, transcripts
from tsuzuki.web.apps import READER_APPS

ALL = transcripts()
REFERENCE = [one for one in ALL if one.is_reference]
OTHERS = [one for one in ALL if not one.is_reference]


SETTINGS = {"allow_private_networks": "127.0.0.0/8", "cors_allowed_origins": "https://flux.example"}


async def replayed(transcript: Transcript, database_url: str, folder: Path) -> None:
    async with (
        a_server(publishing()) as site,
        a_running_app(folder, database_url=in_settings(database_url), **SETTINGS) as app,
    ):
        await replay(transcript, await a_prepared_shelf(app, site.url), site.url)


@pytest.mark.both_engines
@pytest.mark.parametrize("transcript", REFERENCE, ids=lambda one: one.name)
async def test_one_app_of_each_protocol_is_answered_on_both_engines(database_url, tmp_path, transcript):
    await replayed(transcript, database_url, tmp_path)


@pytest.mark.parametrize("transcript", OTHERS, ids=lambda one: one.name)
async def test_every_app_is_answered_as_it_needs(database_url, tmp_path, transcript):
    await replayed(transcript, database_url, tmp_path)


def test_the_page_of_apps_says_whose_calls_are_replayed():
    said = {(app.name, way.protocol): way.known_from for app in READER_APPS for way in app.ways if way.known_from}
    assert said == {(one.app, one.protocol): one.known_from for one in ALL}

"""The guide's sample site and its definition, tried as its author would."""

from pathlib import Path

import pytest

from tests.connectors.builders import NOON, a_reply, run
from tests.connectors.sample_site import from_files
from tests.connectors.selectors.builders import CONFIG, SMALL, a_source
from tsuzuki.connectors.registry import SAMPLE
from tsuzuki.connectors.selectors.connector import SelectorsSource
from tsuzuki.connectors.selectors.reader import load_definition
from tsuzuki.connectors.selectors.trial import describe_try, try_source
from tsuzuki.model.errors import Unreachable
from tsuzuki.model.times import DAY, HOUR, Millis, iso

ROOT = Path(__file__).parents[3]


@pytest.fixture
def sample():
    text = (ROOT / "src/tsuzuki/connectors/examples" / SAMPLE).read_text("utf-8")
    return SelectorsSource(load_definition(text, SAMPLE))


def test_the_guides_sample_works_from_list_to_image(sample):
    trial = run(try_source(sample, CONFIG), from_files)
    assert trial.is_good
    assert describe_try(sample, trial) == [
        "Sample site (localhost.sample, en) at http://127.0.0.1:8765",
        "series: 2 found, more on the next page",
        "  The Lighthouse Cat  http://127.0.0.1:8765/cat/",
        "  Seven Stations  http://127.0.0.1:8765/stations/",
        "details: The Lighthouse Cat",
        "  author: A. Keeper",
        "  artist: -",
        "  genres: Cats, Sea",
        "  status: 1",
        "  cover_url: http://127.0.0.1:8765/images/1.png",
        "  description: A cat keeps the light. The sea keeps the cat.",
        "chapters: 4 found, 0 without a number, 0 without a date",
        f"  3  {iso(Millis(NOON - 3 * HOUR))}  Chapter 3: Fog  http://127.0.0.1:8765/cat/3.html",
        f"  2.5  {iso(Millis(NOON - DAY))}  Chapter 2.5: An Extra  http://127.0.0.1:8765/cat/2.5.html",
        "  2  2026-02-14T00:00:00.000Z  Chapter 2: Storm  http://127.0.0.1:8765/cat/2.html",
        "  1  2026-02-07T00:00:00.000Z  Chapter 1: Light  http://127.0.0.1:8765/cat/1.html",
        "pages: 3 found",
        "  1  http://127.0.0.1:8765/images/1.png",
        "  2  http://127.0.0.1:8765/images/2.png",
        "  3  http://127.0.0.1:8765/images/3.png",
    ]


def test_one_series_can_be_tried_by_its_address(sample):
    trial = run(try_source(sample, CONFIG, series_url="http://127.0.0.1:8765/stations/"), from_files)
    assert trial.is_good
    assert trial.series is not None
    assert trial.details is not None
    assert [series.title for series in trial.series.series] == ["Seven Stations"]
    assert trial.details.status == 2


def test_a_failing_step_is_named_beside_the_others(sample):
    def without_chapters(want):
        if want.url.endswith("/cat/older.html"):
            raise Unreachable("older.html did not answer.")
        return from_files(want)

    trial = run(try_source(sample, CONFIG), without_chapters)
    lines = describe_try(sample, trial)
    assert not trial.is_good
    assert "details: The Lighthouse Cat" in lines
    assert lines[lines.index("chapters: FAILED") + 1] == "  older.html did not answer."
    assert "pages: not tried" in lines


def test_a_list_that_finds_nothing_ends_the_trial(sample):
    trial = run(try_source(sample, CONFIG), lambda want: a_reply("<p>captcha</p>", url=want.url))
    lines = describe_try(sample, trial)
    assert "series: FAILED" in lines
    assert lines[-1] == "pages: not tried"


def test_a_missing_search_is_reported_and_lists_are_cut():
    source = a_source(SMALL)
    trial = run(try_source(source, CONFIG, text="cat"), {})
    assert trial.failures == {"series": "Site cannot search."}
    rows = "".join(f'<li><a href="/c/{n}">{"long " * 40}{n}</a></li>' for n in range(9))
    found = run(try_source(source, CONFIG), lambda want: a_reply(rows + "<img src=/1.png>", url=want.url))
    assert "  ... and 4 more" in describe_try(source, found)

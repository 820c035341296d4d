"""Which comic a series is, how a source fares, which language it speaks, which addresses it may have."""

import pytest

from tests.builders import NOON
from tsuzuki.connectors.protocol import ConnectorInfo
from tsuzuki.model.ids import SourceId
from tsuzuki.net.guard import AddressGuard, AllowList
from tsuzuki.sources.policy import is_matchable, language_of, match_key, source_standing
from tsuzuki.sources.sites import callable_with
from tsuzuki.sources.types import Source


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Solo Leveling", "Chugong"), ("SOLO  LEVELING!", "chugong")),
        (("Café", "José"), ("cafe", "jose")),
        (("ﾜﾝﾋﾟｰｽ", "尾田"), ("ワンピース", "尾田")),
    ],
)
def test_the_same_work_in_other_letters_has_the_same_key(one, other):
    assert match_key(*one) == match_key(*other)


@pytest.mark.parametrize(
    ("one", "other"), [(("One", "A"), ("One", "B")), (("One", "A"), ("Two", "A")), (("ab", "c"), ("a", "bc"))]
)
def test_another_title_or_author_is_another_work(one, other):
    assert match_key(*one) != match_key(*other)


def test_a_work_whose_author_nobody_names_matches_nothing():
    assert not is_matchable(match_key("One", None))
    assert not is_matchable(match_key("!!", "A"))
    assert is_matchable(match_key("One", "A"))


@pytest.mark.parametrize(
    ("name", "languages", "language"),
    [
        ("MangaDex (EN)", ("ja", "en"), "en"),
        ("MangaDex (pt-BR)", ("en", "pt-BR"), "pt-BR"),
        ("MangaDex", ("ja", "en"), "ja"),
        ("MangaDex (XX)", ("all", "en"), "all"),
    ],
)
def test_a_source_speaks_the_language_that_its_name_ends_with(name, languages, language):
    """R9."""
    info = ConnectorInfo(id="a.b", name="B", languages=languages, base_url="https://b.example")
    assert language_of(name, info) == language
    assert language_of(name, info, "vi") == "vi"
    assert language_of(name, None, "vi") == "all"


@pytest.mark.parametrize(
    ("is_enabled", "is_installed", "is_paused", "fails", "word"),
    [
        (True, True, False, 0, "ok"),
        (True, True, False, 3, "failing"),
        (True, True, True, 3, "paused"),
        (True, False, True, 3, "not_installed"),
        (False, False, True, 3, "disabled"),
    ],
)
def test_the_worst_lasting_problem_names_a_sources_state(is_enabled, is_installed, is_paused, fails, word):
    source = Source(
        id=SourceId(1),
        uid=1,
        name="One",
        slug="one",
        lang="en",
        base_url="https://one.example",
        connector="a.b",
        config={},
        is_enabled=is_enabled,
        is_nsfw=False,
        supports_latest=False,
        consecutive_fails=fails,
        last_succeeded_at=None,
        last_failed_at=None,
        created_at=NOON,
        updated_at=NOON,
    )
    assert source_standing(source, is_installed=is_installed, is_paused=is_paused) == word


@pytest.mark.parametrize("url", ["http://127.0.0.1", "http://localhost:1", "http://[::1]:80/x"])
def test_http_is_callable_only_on_a_loopback_that_was_opened(url):
    assert callable_with(AddressGuard(allow=AllowList.read(["127.0.0.0/8"])))(url)
    assert not callable_with(AddressGuard())(url)
    assert not callable_with(AddressGuard(allow=AllowList.read(["10.0.0.0/8"])))("http://10.0.0.1")

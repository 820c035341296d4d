import pytest

from tsuzuki.connectors.local import LocalFolder
from tsuzuki.connectors.mangadex.connector import MangaDex
from tsuzuki.connectors.protocol import ConnectorInfo, computed_uid, default_name, source_uid


@pytest.mark.parametrize(
    ("name", "language", "uid"),
    [
        ("MangaDex", "en", 2499283573021220255),
        ("MangaDex", "ja", 1411768577036936240),
        ("MANGA Plus by SHUEISHA", "en", 1998944621602463790),
        ("Webtoons.com", "en", 2522335540328470744),
        ("Mangakakalot", "en", 2528986671771677900),
        ("Asura Scans", "en", 6247824327199706550),
        ("Komga", "en", 4508733312114627536),
    ],
)
def test_r9_the_uid_is_the_one_that_other_readers_compute(name, language, uid):
    assert computed_uid(name, language) == uid


def test_r9_another_version_of_a_source_is_another_source():
    assert computed_uid("MangaDex", "en", 2) != computed_uid("MangaDex", "en", 1)


def test_r9_the_uid_fits_a_positive_bigint():
    assert all(0 <= computed_uid(f"Source {number}", "en") < 2**63 for number in range(500))


def test_r9_a_source_may_override_its_uid():
    komga = ConnectorInfo(
        id="org.komga",
        name="Komga",
        languages=("all",),
        base_url="http://k",
        uid_overrides={"all": 4508733312114627536},
    )
    mangahere = ConnectorInfo(
        id="cc.mangahere", name="Mangahere", languages=("en",), base_url="http://m", uid_overrides={"en": 2}
    )
    assert source_uid(komga, "all") == computed_uid("Komga", "en")
    assert source_uid(mangahere, "en") == 2
    assert source_uid(LocalFolder.info, "all") == 0
    assert source_uid(MangaDex.info, "en") == 2499283573021220255


def test_r9_a_connector_of_several_languages_names_its_sources_by_them():
    assert default_name(MangaDex.info, "pt-br") == "MangaDex (PT-BR)"
    assert default_name(LocalFolder.info, "all") == "Local"

"""One series, and answers that are none."""

from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.connectors.builders import run, run_and_record
from tests.connectors.mangadex.calls import CHAPTER, CONFIG, DEX, SERIES, always
from tests.connectors.mangadex.entities import (
    CAT,
    a_manga,
    an_error,
)
from tsuzuki.connectors.mangadex.connector import MangaDexConfig
from tsuzuki.model.errors import HttpStatus, Invalid, ShapeChanged


def test_details_hold_all_that_the_site_tells():
    details, (ask,) = run_and_record(DEX.details(CONFIG, SERIES), always({"result": "ok", "data": a_manga()}))
    assert parse_qsl(urlsplit(ask.url).query) == [("includes[]", kind) for kind in ("cover_art", "author", "artist")]
    assert details.title == "The Lighthouse Cat"
    assert details.alt_titles == ("灯台の猫", "Toudai no Neko")
    assert (details.author, details.artist) == ("A. Keeper", "A. Keeper, B. Brush")
    assert details.description == "A cat keeps the light."
    assert details.genres == ("Seinen", "Comedy")
    assert details.status == 1
    assert details.cover_url == f"https://uploads.mangadex.org/covers/{CAT}/cover.png.512.jpg"
    assert (details.language, details.is_nsfw, details.real_url) == ("en", False, SERIES)


@pytest.mark.parametrize(
    ("status", "code"), [("ongoing", 1), ("completed", 2), ("cancelled", 5), ("hiatus", 6), ("new", 0), (None, 0)]
)
def test_r10_statuses_have_our_codes(status, code):
    assert run(DEX.details(CONFIG, SERIES), always({"data": a_manga(status=status)})).status == code


def test_an_empty_map_sent_as_list_is_no_text():
    manga = a_manga(description=[], altTitles=[], tags=[], publicationDemographic=None)
    details = run(DEX.details(CONFIG, SERIES), always({"data": manga}))
    assert (details.description, details.alt_titles, details.genres) == (None, (), ())


@pytest.mark.parametrize(
    ("title", "language", "expected"),
    [
        ({"en": "Cat", "fr": "Chat"}, "fr", "Chat"),
        ({"en": "Cat", "ja": "猫"}, "de", "Cat"),
        ({"ja": "猫", "ja-ro": "Neko"}, "en", "Neko"),
        ({"ja": "猫"}, "en", "猫"),
        ({"ko": "고양이"}, "en", "고양이"),
        ([], "en", CAT),
    ],
)
def test_the_title_is_in_the_readers_language_or_the_nearest(title, language, expected):
    config = MangaDexConfig(language=language)
    assert run(DEX.details(config, SERIES), always({"data": a_manga(title=title)})).title == expected


@pytest.mark.parametrize(
    ("rating", "is_nsfw"), [("safe", False), ("suggestive", False), ("erotica", True), ("pornographic", True)]
)
def test_content_ratings_say_what_is_nsfw(rating, is_nsfw):
    assert run(DEX.details(CONFIG, SERIES), always({"data": a_manga(contentRating=rating)})).is_nsfw is is_nsfw


def test_a_file_name_of_a_cover_cannot_lead_elsewhere():
    manga = a_manga()
    manga["relationships"] = [{"id": "c", "type": "cover_art", "attributes": {"fileName": "../../evil/x.png"}}]
    assert run(DEX.details(CONFIG, SERIES), always({"data": manga})).cover_url is None


def test_a_series_that_was_removed_says_so():
    missing = always(an_error(404, "Not Found", "Manga not found"), status=404)
    for visit in (DEX.details(CONFIG, SERIES), DEX.chapters(CONFIG, SERIES)):
        with pytest.raises(HttpStatus, match=r"does not have this series.*Manga not found") as caught:
            run(visit, missing)
        assert caught.value.status == 404


@pytest.mark.parametrize(
    "url", ["https://evil.example/", "", "local:x", "https://mangadex.org/title/not-an-id", "../../admin"]
)
def test_sec_05_an_address_without_an_id_asks_nothing(url):
    for verb in (DEX.details, DEX.chapters, DEX.pages):
        with pytest.raises(Invalid):
            run(verb(CONFIG, url), {})


def test_sec_05_only_the_id_of_an_address_is_used():
    _, (ask,) = run_and_record(DEX.details(CONFIG, f"https://evil.example/{CAT}/../x"), always({"data": a_manga()}))
    assert ask.url.startswith(f"https://api.mangadex.org/manga/{CAT}?")


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"[]", b'{"data": 3}', b"[" * 100_000, b'{"data": [{"id": 1}], "total": 1}']
)
def test_an_answer_of_another_shape_is_named(body):
    for visit in (
        DEX.popular(CONFIG, 1),
        DEX.details(CONFIG, SERIES),
        DEX.chapters(CONFIG, SERIES),
        DEX.pages(CONFIG, CHAPTER),
    ):
        with pytest.raises(ShapeChanged, match="MangaDex sent an unexpected answer"):
            run(visit, always(body))
    with pytest.raises(HttpStatus):
        run(DEX.details(CONFIG, SERIES), always(body, status=404))

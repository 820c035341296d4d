import os
from decimal import Decimal

import pytest

from tests.connectors.builders import run
from tests.connectors.local.builders import PNG, an_archive, images
from tsuzuki.connectors.local import LocalConfig, LocalFolder, address, parts
from tsuzuki.model.errors import Invalid, RefusedAddress, ShapeChanged, Unreachable
from tsuzuki.model.text import natural
from tsuzuki.model.times import from_iso
from tsuzuki.net.localfiles import LocalFiles

LOCAL = LocalFolder()


@pytest.fixture
def library(tmp_path):
    root = tmp_path / "library"
    an_archive(root / "The Cat" / "The Cat 002.cbz", "10.png", "2.png", "1.png", info=INFO)
    an_archive(root / "The Cat" / "The Cat v01 c010.cbz", "a/1.jpg", "__MACOSX/a/._1.jpg", "notes.txt")
    images(root / "The Cat" / "Chapter 1", "p1.webp", "p2.webp", ".hidden.png")
    images(root / "The Cat", "cover.jpg")
    images(root / "Loose Pages", "1.png", "2.png")
    an_archive(root / "One Shot.cbz", "1.png")
    (root / "The Cat" / "readme.txt").write_text("hi")
    (root / ".git").mkdir()
    (root / "empty").mkdir()
    return root


INFO = """<ComicInfo><Title>Storm</Title><Series>The Lighthouse Cat</Series><Number>2</Number><Volume>1</Volume>
<Writer>A. Keeper</Writer><Summary>Sea.</Summary><Genre>Sea, Cats</Genre><LanguageISO>en</LanguageISO>
<Year>2026</Year><Month>2</Month><Day>14</Day><Translator>Harbour</Translator></ComicInfo>"""


@pytest.fixture
def read(library):
    files = LocalFiles(library)
    return lambda visit: run(visit, files.answer)


@pytest.fixture
def config(library):
    return LocalConfig(folder=str(library))


def test_folders_and_archives_are_series_in_natural_order(read, config):
    page = read(LOCAL.popular(config, 1))
    assert [series.title for series in page.series] == ["empty", "Loose Pages", "One Shot", "The Cat"]
    assert page.series[3].url == "local:The%20Cat"
    assert not page.has_next
    assert read(LOCAL.popular(config, 2)).series == ()


def test_the_latest_is_what_changed_last(read, config, library):
    os.utime(library / "Loose Pages", (2_000_000_000, 2_000_000_000))
    assert read(LOCAL.latest(config, 1)).series[0].title == "Loose Pages"


def test_search_is_by_a_part_of_the_name(read, config):
    assert [series.title for series in read(LOCAL.search(config, 1, text=" cat")).series] == ["The Cat"]


def test_a_library_of_many_series_has_pages(read, config, library):
    for number in range(60):
        (library / f"S{number}").mkdir()
    first = read(LOCAL.popular(config, 1))
    assert (len(first.series), first.has_next) == (50, True)
    assert not read(LOCAL.popular(config, 2)).has_next


def test_details_come_from_comicinfo_and_the_cover_by_its_name(read, config):
    details = read(LOCAL.details(config, "local:The%20Cat"))
    assert details.title == "The Lighthouse Cat"
    assert (details.author, details.description, details.genres) == ("A. Keeper", "Sea.", ("Sea", "Cats"))
    assert details.cover_url == "local:The%20Cat/cover.jpg"


def test_a_comicinfo_in_the_series_folder_counts_first(read, config, library):
    (library / "The Cat" / "ComicInfo.xml").write_text("<ComicInfo><Series>Le Chat</Series></ComicInfo>")
    assert read(LOCAL.details(config, "local:The%20Cat")).title == "Le Chat"


def test_a_series_of_folders_uses_its_first_page_as_cover(read, config, library):
    images(library / "Quay" / "Chapter 10", "1.png")
    images(library / "Quay" / "Chapter 2", "10.png", "9.png")
    assert read(LOCAL.details(config, "local:Quay")).cover_url == "local:Quay/Chapter%202/9.png"
    assert read(LOCAL.details(config, "local:empty")).cover_url is None


def test_an_archive_in_the_root_is_one_chapter(read, config):
    details = read(LOCAL.details(config, "local:One%20Shot.cbz"))
    assert (details.title, details.cover_url) == ("One Shot", "local:One%20Shot.cbz?entry=1.png")
    (chapter,) = read(LOCAL.chapters(config, "local:One%20Shot.cbz"))
    assert (chapter.title, chapter.number, chapter.page_count) == ("One Shot", None, 1)


def test_chapters_are_archives_and_folders_of_images_newest_first(read, config):
    newest, second, first = read(LOCAL.chapters(config, "local:The%20Cat"))
    assert [chapter.number for chapter in (newest, second, first)] == [Decimal(10), Decimal(2), Decimal(1)]
    assert (second.title, second.volume, second.language, second.group) == ("Storm", Decimal(1), "en", "Harbour")
    assert second.published_at == from_iso("2026-02-14")
    assert (first.title, first.page_count) == ("Chapter 1", 2)
    assert newest.page_count == 1
    assert newest.published_at is not None


def test_a_date_that_does_not_exist_is_not_believed(read, config, library):
    impossible = "<ComicInfo><Year>2026</Year><Month>2</Month><Day>31</Day></ComicInfo>"
    an_archive(library / "Dated" / "c1.cbz", "1.png", info=impossible)
    os.utime(library / "Dated" / "c1.cbz", (1_700_000_000, 1_700_000_000))
    (chapter,) = read(LOCAL.chapters(config, "local:Dated"))
    assert chapter.published_at == 1_700_000_000_000


def test_a_folder_of_images_alone_is_one_chapter(read, config):
    (chapter,) = read(LOCAL.chapters(config, "local:Loose%20Pages"))
    assert chapter.title == "Loose Pages"
    assert len(read(LOCAL.pages(config, chapter.url))) == 2
    assert read(LOCAL.chapters(config, "local:empty")) == ()


def test_pages_are_images_in_natural_order_and_can_be_read(read, config, library):
    chapters = read(LOCAL.chapters(config, "local:The%20Cat"))
    pages = read(LOCAL.pages(config, chapters[1].url))
    assert [parts(page.image_url)[1] for page in pages] == ["1.png", "2.png", "10.png"]
    assert LocalFiles(library).answer(LOCAL.image(config, pages[0].image_url)) == PNG
    (only,) = read(LOCAL.pages(config, chapters[0].url))
    assert parts(only.image_url)[1] == "a/1.jpg"
    in_folder = read(LOCAL.pages(config, chapters[2].url))
    assert [page.image_url for page in in_folder] == [
        "local:The%20Cat/Chapter%201/p1.webp",
        "local:The%20Cat/Chapter%201/p2.webp",
    ]
    assert LocalFiles(library).answer(LOCAL.image(config, in_folder[0].image_url)) == PNG


def test_a_broken_archive_is_listed_as_unreadable(read, config, library):
    (library / "The Cat" / "The Cat c011.cbz").write_bytes(b"PK not really")
    chapters = read(LOCAL.chapters(config, "local:The%20Cat"))
    assert [(chapter.number, chapter.is_readable) for chapter in chapters] == [
        (Decimal(11), False),
        (Decimal(10), True),
        (Decimal(2), True),
        (Decimal(1), True),
    ]


def test_details_of_a_series_with_broken_archives_are_still_shown(read, config, library):
    (library / "Bad").mkdir()
    (library / "Bad" / "1.cbz").write_bytes(b"nothing")
    details = read(LOCAL.details(config, "local:Bad"))
    assert (details.title, details.cover_url) == ("Bad", None)


def test_a_chapter_without_images_has_no_pages(read, config):
    with pytest.raises(ShapeChanged):
        read(LOCAL.pages(config, "local:empty"))


@pytest.mark.parametrize(
    "url",
    [
        "local:../secret",
        "local:%2e%2e/secret",
        "local:/etc",
        "local:The%20Cat/../../secret",
        "local:a%00b",
        "local:C%3A/x",
    ],
)
def test_sec_23_an_address_that_leads_out_of_the_folder_is_refused(read, config, url):
    for visit in (LOCAL.details(config, url), LOCAL.chapters(config, url), LOCAL.pages(config, url)):
        with pytest.raises((RefusedAddress, Unreachable)):
            read(visit)


@pytest.mark.parametrize("url", ["https://evil.example/", "file:///etc/passwd", "/etc/passwd", ""])
def test_sec_08_only_our_own_addresses_are_read(config, url):
    with pytest.raises(Invalid):
        LOCAL.image(config, url)
    with pytest.raises(Invalid):
        run(LOCAL.pages(config, url), {})


def test_names_sort_as_people_count():
    names = ["10.png", "9.png", "2b.png", "2a.png", "Page 1.png", "page 02.png", "１０a.png"]
    assert sorted(names, key=natural) == [
        "2a.png",
        "2b.png",
        "9.png",
        "10.png",
        "１０a.png",
        "Page 1.png",
        "page 02.png",
    ]


@pytest.mark.parametrize("path", ["a/b c.cbz", "100%?#&.cbz", "続き/第1話.cbz", "a+b"])
def test_any_name_survives_as_an_address(path):
    assert parts(address(path)) == (path, None)
    assert parts(address(path, "x/ü &=?.png")) == (path, "x/ü &=?.png")

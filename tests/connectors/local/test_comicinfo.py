from decimal import Decimal

import pytest

from tsuzuki.connectors.local import ComicInfo, read_comic_info

FULL = """<?xml version="1.0" encoding="utf-8"?>
<ComicInfo xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
  <Title> Fog </Title><Series>The Cat</Series><Number>2.50</Number><Volume>1</Volume><Summary>Sea &amp; light.</Summary>
  <Writer>A. Keeper</Writer><Penciller>B. Brush</Penciller><Genre>Sea, Cats</Genre><Tags>Cats,Fog</Tags>
  <LanguageISO>en</LanguageISO><Translator>Harbour</Translator><Web>https://a.example/1 https://b.example/</Web>
  <Year>2026</Year><Month>2</Month><Day>14</Day><AgeRating>Adults Only 18+</AgeRating>
  <Pages><Page Image="0" Type="FrontCover"/></Pages>
</ComicInfo>"""


def test_all_that_it_says_is_read():
    assert read_comic_info(FULL.encode()) == ComicInfo(
        title="Fog",
        series="The Cat",
        number=Decimal("2.5"),
        volume=Decimal(1),
        summary="Sea & light.",
        writer="A. Keeper",
        artist="B. Brush",
        genres=("Sea", "Cats", "Fog"),
        language="en",
        translator="Harbour",
        web="https://a.example/1",
        year=2026,
        month=2,
        day=14,
        is_nsfw=True,
    )


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        ("<Number>-1</Number>", ComicInfo()),
        ("<Number>Extra</Number>", ComicInfo()),
        ("<Volume>2019</Volume>", ComicInfo()),
        ("<Year>20x6</Year><Month>13</Month><Day>0</Day>", ComicInfo()),
        ("<Web>javascript:alert(1)</Web>", ComicInfo()),
        ("<Title/><Series> </Series>", ComicInfo()),
        ("<!-- x --><?y z?><Title>T</Title>", ComicInfo(title="T")),
    ],
)
def test_what_makes_no_sense_is_left_out(element, expected):
    assert read_comic_info(f"<ComicInfo>{element}</ComicInfo>".encode()) == expected


LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
BOMB = f'<!DOCTYPE x [<!ENTITY l0 "lol">{LAUGHS}]><ComicInfo><Title>&l9;</Title></ComicInfo>'
LEAK = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]><ComicInfo><Title>&e;</Title></ComicInfo>'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not xml",
        b"<ComicInfo><Title>cut",
        BOMB.encode(),
        LEAK.encode(),
        BOMB.encode("utf-16"),
        LEAK.encode("utf-16"),
        b"<ComicInfo>" + b"<a>" * 50_000 + b"</ComicInfo>",
        b"<ComicInfo><Title>" + b"x" * 300_000 + b"</Title></ComicInfo>",
        b'<?xml version="1.0" encoding="no-such"?><ComicInfo/>',
        b"\x00" * 100,
    ],
)
def test_sec_19_a_bomb_or_rubbish_says_nothing(data):
    assert read_comic_info(data) == ComicInfo()

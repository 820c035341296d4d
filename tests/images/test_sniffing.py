"""What an image is, by its first bytes."""

import pytest

from tests.images.builders import a_bomb, a_picture, an_animation
from tsuzuki.images.fetcher import LONGEST_HEADER, sniff_image
from tsuzuki.images.formats import MOST_PIXELS, ImageHead, MediaType
from tsuzuki.model.errors import NotAnImage, TooLarge

KINDS: dict[str, MediaType] = {
    "JPEG": "image/jpeg",
    "PNG": "image/png",
    "WEBP": "image/webp",
    "GIF": "image/gif",
    "AVIF": "image/avif",
}

NOT_IMAGES = {
    "html": b"<!doctype html><html><script>alert(1)</script>",
    "html after white space": b"\n\n  <html><body>hello</body></html>",
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
    "svg in xml": b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"/>',
    "archive": b"PK\x03\x04" + b"\0" * 60,
    "pdf": b"%PDF-1.7 and so on",
    "script": b"GIF89 = alert(1) // not quite a GIF",
    "bmp": b"BM" + b"\0" * 60,
    "tiff": b"II*\0" + b"\0" * 60,
    "heic": b"\0\0\0\x18ftypheic" + b"\0" * 60,
    "nothing": b"",
}


@pytest.mark.parametrize("kind", KINDS)
def test_type_and_size_are_read_from_the_first_bytes(kind):
    assert sniff_image(a_picture(kind, (123, 45))) == ImageHead(KINDS[kind], 123, 45)


@pytest.mark.parametrize("kind", KINDS)
def test_the_size_is_known_as_soon_as_it_arrives(kind):
    picture = a_picture(kind, (123, 45))
    heads = [sniff_image(picture[:length]) for length in range(len(picture) + 1)]
    known = [head for head in heads if head is not None]
    assert set(known) == {ImageHead(KINDS[kind], 123, 45)}
    assert heads[-len(known) :] == known


@pytest.mark.parametrize("mode", ["lossless", "animated"])
def test_every_kind_of_webp_is_known(mode):
    picture = an_animation(3, (50, 40), "WEBP") if mode == "animated" else _lossless((50, 40))
    assert sniff_image(picture) == ImageHead("image/webp", 50, 40)


def _lossless(size):
    from PIL import Image

    from tests.images.builders import packed

    return packed(Image.new("RGBA", size), "WEBP", lossless=True)


@pytest.mark.parametrize("name", NOT_IMAGES)
def test_what_is_no_image_is_refused_whatever_it_is_called(name):
    """SEC-12: never HTML or SVG under our name."""
    with pytest.raises(NotAnImage) as refused:
        sniff_image(NOT_IMAGES[name], is_whole=True)
    assert "<" not in str(refused.value)


def test_svg_and_web_pages_are_called_by_their_names():
    for data, word in ((NOT_IMAGES["svg in xml"], "SVG"), (NOT_IMAGES["html"], "web page")):
        with pytest.raises(NotAnImage, match=word):
            sniff_image(data)


def test_a_bomb_is_refused_by_its_header_alone():
    """SEC-24: 81 megapixels, seen before a single pixel is."""
    with pytest.raises(TooLarge, match="81 megapixels"):
        sniff_image(a_bomb()[:24])
    assert sniff_image(a_picture("PNG", (9, 9))) is not None
    assert MOST_PIXELS < 81_000_000


def test_an_endless_side_is_refused():
    with pytest.raises(TooLarge, match="longer side"):
        sniff_image(a_bomb(70_000, 2)[:24])


def test_an_image_without_a_size_is_refused():
    with pytest.raises(NotAnImage, match="no size"):
        sniff_image(a_bomb(0, 5)[:24])


def test_a_jpeg_hiding_its_size_behind_notes_is_refused():
    notes = b"\xff\xe1\xff\xff" + b"\0" * 65_533
    jpeg = b"\xff\xd8" + notes * (LONGEST_HEADER // len(notes) + 2)
    assert sniff_image(jpeg[:100_000]) is None
    with pytest.raises(NotAnImage, match="how large"):
        sniff_image(jpeg)


def test_a_jpeg_with_pixels_before_its_size_is_refused():
    with pytest.raises(NotAnImage):
        sniff_image(b"\xff\xd8\xff\xda\0\x08" + b"\0" * 20)

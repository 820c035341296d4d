"""Images are decoded whole before they count, in processes that can be lost."""

import random
from contextlib import suppress
from io import BytesIO

import pytest
from PIL import Image as Picture

from tests.images.builders import a_bomb, a_flicker, a_picture, an_animation, packed
from tests.scale import scaled
from tsuzuki.images.decoder import examine, shrink, to_jpeg
from tsuzuki.images.fetcher import sniff_image
from tsuzuki.images.formats import MOST_FRAMES, ImageHead, Thumbnail
from tsuzuki.images.services import DECODING
from tsuzuki.model.errors import NotAnImage, TooLarge
from tsuzuki.parsing.pool import ParsePool

KINDS = ["JPEG", "PNG", "WEBP", "GIF", "AVIF"]


@pytest.fixture
def written(tmp_path):
    def write(data: bytes) -> str:
        path = tmp_path / "image"
        path.write_bytes(data)
        return str(path)

    return write


@pytest.mark.parametrize("kind", KINDS)
def test_what_decodes_is_what_its_header_says(kind, written):
    picture = a_picture(kind, (70, 50))
    head = sniff_image(picture)
    assert head is not None
    assert examine(written(picture)) == ImageHead(head.media_type, 70, 50)


@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_image_is_refused(kind, written):
    picture = a_picture(kind, (200, 200), noisy=True)
    with pytest.raises(NotAnImage):
        examine(written(picture[: len(picture) // 2]))


def test_a_bomb_behind_its_header_is_refused_before_decoding(written):
    with pytest.raises(TooLarge, match="megapixels"):
        examine(written(a_bomb()))


def test_an_animation_of_too_many_frames_is_refused(written):
    assert examine(written(an_animation(20))).media_type == "image/gif"
    with pytest.raises(TooLarge, match="frames"):
        examine(written(an_animation(MOST_FRAMES + 1)))


def test_an_animation_of_too_many_pixels_is_refused(written):
    with pytest.raises(TooLarge, match="frames"):
        examine(written(a_flicker(8000, 8000, frames=5)))


def test_what_another_decoder_of_pillow_would_read_is_refused(written):
    for kind in ("BMP", "TIFF", "ICO", "PPM"):
        with pytest.raises(NotAnImage):
            examine(written(a_picture(kind)))


def test_a_thumbnail_is_webp_of_the_requested_width(written):
    small = shrink(written(a_picture("JPEG", (1000, 1500))), 160)
    assert (small.width, small.height) == (160, 240)
    head = sniff_image(small.data)
    assert head is not None
    assert (head.media_type, head.width, head.height) == ("image/webp", 160, 240)


def test_a_thumbnail_is_never_larger_than_its_image(written):
    assert shrink(written(a_picture("PNG", (50, 40))), 320).width == 50


def test_a_thumbnail_of_a_long_strip_shows_its_beginning(written):
    small = shrink(written(a_picture("JPEG", (800, 20_000))), 160)
    assert (small.width, small.height) == (160, 480)


def test_a_thumbnail_of_an_animation_is_its_first_frame(written):
    assert isinstance(shrink(written(an_animation(5, (300, 200))), 160), Thumbnail)


async def test_the_largest_accepted_image_decodes_within_the_bounds(written):
    pool = ParsePool(DECODING)
    try:
        seen = await pool.run(examine, (written(a_bomb(8900, 8900)),))
        assert (seen.width, seen.height) == (8900, 8900)
        with pytest.raises(TooLarge):
            await pool.run(examine, (written(a_bomb()),))
    finally:
        await pool.close()


@pytest.mark.soak
def test_a_damaged_image_gives_only_named_errors(written):
    rng = random.Random(7)
    for _ in range(scaled(40, 2_000)):
        kind = rng.choice(KINDS)
        data = bytearray(a_picture(kind, (40, 30), noisy=True))
        for _ in range(rng.randrange(1, 6)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        with suppress(NotAnImage, TooLarge):
            sniff_image(bytes(data), is_whole=True)
        with suppress(NotAnImage, TooLarge):
            examine(written(data))


def test_a_jpeg_shows_all_of_a_strip_on_white(written):
    path = written(packed(Picture.new("RGBA", (100, 1000), (0, 0, 0, 0)), "PNG"))
    for width, size in ((0, (100, 1000)), (50, (50, 500)), (640, (100, 1000))):
        made = to_jpeg(path, width)
        shown = Picture.open(BytesIO(made.data))
        assert (shown.format, shown.size, made.media_type) == ("JPEG", size, "image/jpeg")
        assert shown.getpixel((0, 0)) == (255, 255, 255)

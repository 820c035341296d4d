"""How `decoder` does it, with Pillow, which only parser processes import."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Final

from PIL import (
    AvifImagePlugin,
    GifImagePlugin,
    IcoImagePlugin,
    Image,
    JpegImagePlugin,
    PngImagePlugin,
    UnidentifiedImageError,
    WebPImagePlugin,
)

from tsuzuki.images.formats import (
    LONGEST_SIDE,
    MOST_ANIMATED,
    MOST_FRAMES,
    MOST_PIXELS,
    TALLEST,
    ImageHead,
    MediaType,
    Thumbnail,
)
from tsuzuki.model.errors import NotAnImage, SourceError, TooLarge

_TYPES: dict[str, MediaType] = {
    "JPEG": "image/jpeg",
    "MPO": "image/jpeg",  # a JPEG with a second picture behind it, as some cameras write them
    "PNG": "image/png",
    "WEBP": "image/webp",
    "GIF": "image/gif",
    "AVIF": "image/avif",
}
_DECODERS = (AvifImagePlugin, GifImagePlugin, IcoImagePlugin, JpegImagePlugin, PngImagePlugin, WebPImagePlugin)
"""Imported, and so known to Pillow: these and no others are tried."""
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "AVIF")
_ICON_FORMATS = (*_FORMATS, "ICO")
_QUALITY = 80
_JPEG_QUALITY = 90
_TALLEST_JPEG = 65_500
"""Pixels; a JPEG's header has 16 bits for them."""


ICON_PIXELS: Final = 16_000_000
"""The most pixels of an icon: podcasts name covers of three thousand pixels square."""
LARGEST_ICON: Final = 64
SMALLEST_ICON: Final = 32
_LEAST_SIDE: Final = 8
_LONGEST_RATIO: Final = 2
"""What is longer is a banner, of which nothing could be seen."""


def examine(path: str) -> ImageHead:
    """See `decoder`."""
    with _opened(path) as image:
        frames: int = getattr(image, "n_frames", 1)
        if frames > MOST_FRAMES or frames * image.width * image.height > max(MOST_ANIMATED, MOST_PIXELS):
            raise TooLarge(f"The animation has {frames:,} frames of {image.width} x {image.height}; that is too much.")
        for frame in range(frames):
            image.seek(frame)
            image.load()
        return ImageHead(_TYPES[image.format or ""], image.width, image.height)


def shrink(path: str, width: int) -> Thumbnail:
    """See `decoder`."""
    with _opened(path) as image:
        tall = min(image.height, TALLEST * image.width)
        image.draft("RGB", (width * 2, max(1, tall * width * 2 // image.width)))
        image.load()
        small = image.convert("RGBA" if image.has_transparency_data else "RGB")
        small = small.crop((0, 0, small.width, min(small.height, TALLEST * small.width)))
        small.thumbnail((width, TALLEST * width), reducing_gap=2.0)
        written = BytesIO()
        small.save(written, "WEBP", quality=_QUALITY)
        return Thumbnail(written.getvalue(), small.width, small.height)


def to_jpeg(path: str, width: int) -> Thumbnail:
    """See `decoder`."""
    with _opened(path) as image:
        if width:
            image.draft("RGB", (width * 2, max(1, image.height * width * 2 // image.width)))
        image.load()
        if image.has_transparency_data:
            drawn = image.convert("RGBA")
            picture = Image.new("RGB", drawn.size, "white")
            picture.paste(drawn, mask=drawn.getchannel("A"))
        else:
            picture = image.convert("RGB")
        picture.thumbnail((width or picture.width, _TALLEST_JPEG), reducing_gap=2.0)
        written = BytesIO()
        picture.save(written, "JPEG", quality=_JPEG_QUALITY)
        return Thumbnail(written.getvalue(), picture.width, picture.height, "image/jpeg")


def make_icon(data: bytes) -> bytes:
    """See `decoder`."""
    opened = _opened(BytesIO(data), _ICON_FORMATS, ICON_PIXELS, inner=ICON_PIXELS)
    with warnings.catch_warnings(action="ignore"), opened as image:
        image.draft("RGB", (2 * LARGEST_ICON, 2 * LARGEST_ICON))
        image.load()
        _check_size(image, ICON_PIXELS)  # the picture within an ICO may be another than its directory says
        if min(image.size) < _LEAST_SIDE or max(image.size) > _LONGEST_RATIO * min(image.size):
            raise NotAnImage(f"The image is {image.width} x {image.height}, which is no icon.")
        picture = image.convert("RGBA")
        if max(picture.size) > LARGEST_ICON:
            picture.thumbnail((LARGEST_ICON, LARGEST_ICON), reducing_gap=2.0)
        elif max(picture.size) < SMALLEST_ICON:
            times = -(-SMALLEST_ICON // max(picture.size))
            picture = picture.resize((picture.width * times, picture.height * times), Image.Resampling.NEAREST)
        side = max(picture.size)
        square = Image.new("RGBA", (side, side))
        square.paste(picture, ((side - picture.width) // 2, (side - picture.height) // 2))
        written = BytesIO()
        square.save(written, "PNG", optimize=True)
        return written.getvalue()


@contextmanager
def _opened(
    file: str | BytesIO, formats: tuple[str, ...] = _FORMATS, pixels: int = MOST_PIXELS, *, inner: int | None = None
) -> Iterator[Image.Image]:
    """The file as an image within bounds; whatever a decoder raises becomes one of our errors.

    `inner` is for types that hold pictures of other types, which Pillow opens by itself.
    """
    Image.MAX_IMAGE_PIXELS = inner  # our own bounds are narrower, and refuse instead of warning
    try:
        with Image.open(file, formats=formats) as image:
            _check_size(image, pixels)
            yield image
    except (SourceError, MemoryError):
        raise
    except FileNotFoundError:
        raise NotAnImage("The image is no longer available.") from None
    except UnidentifiedImageError:
        raise NotAnImage("This is not an image that we can read.") from None
    except Exception as error:  # a decoder raises anything at all over a hostile file
        raise NotAnImage(f"The image cannot be decoded: {error}.") from error


def _check_size(image: Image.Image, pixels: int) -> None:
    if image.width * image.height > pixels or max(image.size) > LONGEST_SIDE:
        raise TooLarge(f"The image has {image.width * image.height / 1e6:.0f} megapixels; that is too much.")

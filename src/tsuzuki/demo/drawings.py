"""Pages of the sample comics, drawn with a few shapes. The same page always looks the same."""

import io
import math
import random

from PIL import Image, ImageDraw, ImageFont

from tsuzuki.demo.stories import DemoChapter, DemoComic, DemoJournal, Scene

PAGE = (800, 1160)
COVER = (600, 840)
PICTURE = (960, 540)
GUTTER = 20
INK = "#221f1c"
PAPER = "#fbf6ec"
VERMILION = "#c8452c"

Box = tuple[int, int, int, int]
Size = tuple[int, int]
Hues = tuple[str, str, str]

_SKIES: dict[Scene, tuple[Hues, ...]] = {
    "harbour": (
        ("#f3d9b1", "#e8b48a", "#4a7c8c"),
        ("#cfe0e6", "#a9c6d0", "#3f6a7a"),
        ("#f0c7a0", "#d98e6b", "#345a6b"),
    ),
    "night": (("#1d2340", "#2c3564", "#141729"), ("#241f3d", "#3a2f5f", "#171427"), ("#16283a", "#224460", "#0e1a27")),
}


def page(comic: DemoComic, chapter: DemoChapter, index: int) -> bytes:
    """A page of panels, as PNG."""
    rng = random.Random(f"{comic.slug}/{chapter.number}/{index}")
    image = Image.new("RGB", PAGE, PAPER)
    draw = ImageDraw.Draw(image)
    for place, (left, top, right, bottom) in enumerate(_panels(rng)):
        caption = comic.captions[(chapter.number * 5 + index * 3 + place) % len(comic.captions)]
        panel = _panel((right - left, bottom - top), comic.scene, rng)
        _caption(ImageDraw.Draw(panel), caption)
        image.paste(panel, (left, top))
    _text(draw, (PAGE[0] // 2, PAGE[1] - 14), f"{chapter.number} / {index + 1}", size=18, fill=INK)
    return _png(image)


def cover(comic: DemoComic) -> bytes:
    """The comic's cover, as PNG."""
    rng = random.Random(comic.slug)
    image = _panel(COVER, comic.scene, rng)
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, COVER[1] - 150, COVER[0], COVER[1]), fill=VERMILION)
    title = comic.title.partition("(")[2].rstrip(")") or comic.title  # the drawing font has Latin letters only
    _text(draw, (COVER[0] // 2, COVER[1] - 75), title, size=46, fill=PAPER)
    return _png(image)


def picture(journal: DemoJournal, number: int) -> bytes:
    """The picture of a post, as PNG."""
    rng = random.Random(f"{journal.slug}/{number}")
    if journal.slug == "harbour-log":
        return _png(_panel(PICTURE, "harbour", rng))
    image = Image.new("RGB", PICTURE, PAPER)
    draw = ImageDraw.Draw(image)
    for _ in range(7):
        _gear(draw, rng.randrange(80, PICTURE[0] - 80), rng.randrange(80, PICTURE[1] - 80), rng.randrange(30, 110))
    return _png(image)


def _panels(rng: random.Random) -> list[Box]:
    """Three rows; a row is one wide panel or two."""
    width, height = PAGE
    row = (height - 40 - GUTTER * 4) // 3
    boxes: list[Box] = []
    for index in range(3):
        top = GUTTER + index * (row + GUTTER)
        if rng.random() < 0.4:
            boxes.append((GUTTER, top, width - GUTTER, top + row))
        else:
            middle = rng.randrange(width // 3, 2 * width // 3)
            boxes.append((GUTTER, top, middle - GUTTER // 2, top + row))
            boxes.append((middle + GUTTER // 2, top, width - GUTTER, top + row))
    return boxes


def _panel(size: Size, scene: Scene, rng: random.Random) -> Image.Image:
    image = Image.new("RGB", size, PAPER)
    draw = ImageDraw.Draw(image)
    box = left, top, right, bottom = (0, 0, size[0] - 1, size[1] - 1)
    light, deep, ground = rng.choice(_SKIES[scene])
    horizon = top + int((bottom - top) * rng.uniform(0.55, 0.72))
    draw.rectangle(box, fill=light)
    draw.rectangle((left, top + (horizon - top) // 2, right, horizon), fill=deep)
    _light(draw, box, scene, rng)
    draw.rectangle((left, horizon, right, bottom), fill=ground)
    if scene == "harbour":
        _waves(draw, (left, horizon, right, bottom), rng)
        _fisherman(draw, rng.randint(left + 60, max(left + 61, right - 60)), horizon + 12, (bottom - top) // 3)
    else:
        _office(draw, (left, horizon, right, bottom), rng)
    draw.rectangle(box, outline=INK, width=4)
    return image


def _light(draw: ImageDraw.ImageDraw, box: Box, scene: Scene, rng: random.Random) -> None:
    """A sun, or a moon among stars."""
    left, top, right, bottom = box
    size = (bottom - top) // 9
    x, y = rng.randint(left + size, right - size), top + size + 14
    if scene == "night":
        for _ in range(26):
            star = rng.randint(left + 4, right - 4), rng.randint(top + 4, top + (bottom - top) // 2)
            draw.ellipse((*star, star[0] + 3, star[1] + 3), fill=PAPER)
    draw.ellipse((x - size, y - size, x + size, y + size), fill=PAPER if scene == "night" else VERMILION)


def _waves(draw: ImageDraw.ImageDraw, box: Box, rng: random.Random) -> None:
    left, top, right, bottom = box
    for row, y in enumerate(range(top + 18, bottom - 6, 22)):
        shift = rng.uniform(0, math.tau)
        points = [(x, y + 5 * math.sin(x / (24 + 4 * row) + shift)) for x in range(left + 4, right - 3, 4)]
        draw.line(points, fill=PAPER, width=2)


def _fisherman(draw: ImageDraw.ImageDraw, x: int, y: int, size: int) -> None:
    """A boat, and in it somebody with a body like a can and a pointed hat."""
    draw.polygon(
        [(x - size, y), (x + size, y), (x + size // 2, y + size // 3), (x - size // 2, y + size // 3)], fill=INK
    )
    can = (x - size // 6, y - size // 2, x + size // 6, y)
    draw.rectangle(can, fill="#b9bdc0", outline=INK, width=3)
    for line in (y - size // 3, y - size // 6):
        draw.line((can[0], line, can[2], line), fill=INK, width=2)
    draw.polygon(
        [(x - size // 4, y - size // 2), (x + size // 4, y - size // 2), (x, y - size)], fill=VERMILION, outline=INK
    )
    draw.line((x + size // 6, y - size // 3, x + size, y - size), fill=INK, width=3)
    draw.line((x + size, y - size, x + size, y + size // 6), fill=PAPER, width=1)


def _office(draw: ImageDraw.ImageDraw, box: Box, rng: random.Random) -> None:
    """Roofs with windows, a cat on one of them, and a letter on its way down."""
    left, top, right, bottom = box
    x = left + 6
    while x < right - 40:
        width = rng.randint(50, 120)
        roof = top - rng.randint(0, 60)
        end = min(x + width, right - 6)
        draw.rectangle((x, roof, end, bottom - 3), fill=INK)
        for window in range(x + 10, end - 14, 24):
            if rng.random() < 0.5:
                draw.rectangle((window, roof + 16, window + 10, roof + 32), fill="#f2c14e")
        x += width + 6
    cat = rng.randint(left + 30, right - 40)
    draw.ellipse((cat, top - 22, cat + 26, top + 2), fill=INK)
    draw.polygon([(cat + 2, top - 14), (cat + 5, top - 32), (cat + 12, top - 20)], fill=INK)
    draw.polygon([(cat + 14, top - 20), (cat + 21, top - 32), (cat + 24, top - 14)], fill=INK)
    letter = rng.randint(left + 20, right - 60)
    draw.rectangle((letter, top - 90, letter + 34, top - 68), fill=PAPER, outline=INK, width=2)
    draw.line((letter, top - 90, letter + 17, top - 78, letter + 34, top - 90), fill=VERMILION, width=2)


def _gear(draw: ImageDraw.ImageDraw, x: int, y: int, size: int) -> None:
    teeth = 12
    points = []
    for step in range(teeth * 4):
        reach = size if step % 4 < 2 else size * 0.82
        angle = math.tau * step / (teeth * 4)
        points.append((x + reach * math.cos(angle), y + reach * math.sin(angle)))
    draw.polygon(points, fill="#c9a25f", outline=INK)
    draw.ellipse((x - size // 4, y - size // 4, x + size // 4, y + size // 4), fill=PAPER, outline=INK, width=3)


def _caption(draw: ImageDraw.ImageDraw, words: str) -> None:
    font = ImageFont.load_default(22)
    left, top = 12, 12
    measured = draw.textbbox((left + 8, top + 5), words, font=font)
    draw.rectangle((left, top, measured[2] + 8, measured[3] + 7), fill=PAPER, outline=INK, width=2)
    draw.text((left + 8, top + 5), words, font=font, fill=INK)


def _text(draw: ImageDraw.ImageDraw, centre: tuple[int, int], words: str, *, size: int, fill: str) -> None:
    draw.text(centre, words, font=ImageFont.load_default(size), fill=fill, anchor="mm")


def _png(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.quantize(64).save(out, "png", optimize=False, compress_level=4)
    return out.getvalue()

"""Decoding and shrinking images, in the parser processes.

These functions run in children of a `ParsePool`, which have little memory, little time and no way to write (SEC-24).
They are given the name of a file, because an image is larger than what one likes to copy through a pipe.
"""

from tsuzuki.images.formats import ImageHead, Thumbnail

FOR_PARSERS = ("tsuzuki.images.pillow",)


def examine(path: str) -> ImageHead:
    """What the file is, every frame of it decoded; NotAnImage or TooLarge with the reason."""
    from tsuzuki.images import pillow

    return pillow.examine(path)


def shrink(path: str, width: int) -> Thumbnail:
    """The first frame, at most this wide; never larger than it was."""
    from tsuzuki.images import pillow

    return pillow.shrink(path, width)


def to_jpeg(path: str, width: int) -> Thumbnail:
    """The first frame as JPEG on white, nothing of it cut off; at most this wide, if this is not 0."""
    from tsuzuki.images import pillow

    return pillow.to_jpeg(path, width)


def make_icon(data: bytes) -> bytes:
    """A square PNG, 32 to 64 pixels wide, drawn anew from the first frame; NotAnImage for what is too long or tiny."""
    from tsuzuki.images import pillow

    return pillow.make_icon(data)

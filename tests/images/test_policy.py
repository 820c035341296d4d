"""What counts as a sound or a film, and which part of it is meant."""

import pytest

from tests.images.media_builders import a_wave
from tsuzuki.images.policy import ByteRange, ContentRange, Kind, kind_of, read_part, read_range, sniff_media
from tsuzuki.model.errors import NotMedia


@pytest.mark.parametrize(
    ("head", "audio", "video"),
    [
        (b"ID3\x04\0\0\0\0\0\0", "audio/mpeg", "audio/mpeg"),
        (b"\xff\xfb\x90\x64" + bytes(60), "audio/mpeg", "audio/mpeg"),
        (b"\xff\xf1\x50\x80" + bytes(60), "audio/aac", "audio/aac"),
        (b"OggS\0\x02" + bytes(60), "audio/ogg", "video/ogg"),
        (b"fLaC\0\0\0\x22", "audio/flac", "audio/flac"),
        (b"\x1a\x45\xdf\xa3\x01", "audio/webm", "video/webm"),
        (b"\0\0\0\x20ftypM4A \0\0", "audio/mp4", "video/mp4"),
        (a_wave(0.1)[:64], "audio/wav", "audio/wav"),
    ],
)
def test_what_browsers_play_is_known_by_its_first_bytes(head, audio, video):
    found = sniff_media(head)
    assert (found.called("audio"), found.called("video")) == (audio, video)


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"<!doctype html><script>alert(1)</script>",
        b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
        b"alert(document.cookie)",
        "<script>alert(1)</script>".encode("utf-16"),
        b"\xff\xfe<\0",
        b"#EXTM3U\nhttps://example.org/a.ts",
        b"RIFF\0\0\0\0AVI LIST",
        b"\xff\xff\xff\xff",
        b"\x89PNG\r\n\x1a\n",
        b"%PDF-1.7",
        b"ff",
    ],
)
def test_sec_12_nothing_else_is_a_recording_whatever_it_is_called(head):
    with pytest.raises(NotMedia):
        sniff_media(head)


@pytest.mark.parametrize(
    ("declared", "told", "kind"),
    [
        ("audio/mpeg", "video", "audio"),
        ("Video/MP4; codecs=x", "audio", "video"),
        ("", "audio", "audio"),
        ("application/octet-stream", "video", "video"),
    ],
)
def test_the_publisher_or_else_the_feed_tells_the_media_kind(declared, told: Kind, kind):
    assert kind_of(declared, told) == kind


@pytest.mark.parametrize("declared", ["text/html", "image/svg+xml", "text/javascript", "application/json", "audio"])
def test_media_declared_as_something_else_is_refused(declared):
    with pytest.raises(NotMedia, match="neither audio nor video"):
        kind_of(declared, "audio")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("bytes=0-", ByteRange(0, None)),
        ("bytes=5-9", ByteRange(5, 9)),
        ("bytes=-500", ByteRange(None, 500)),
        ("bytes=9-5", None),
        ("bytes=-", None),
        ("bytes=0-1,5-9", None),
        ("items=0-1", None),
        ("bytes=0-\r\nx: y", None),
        ("", None),
    ],
)
def test_sec_45_one_range_is_read_and_anything_else_is_the_whole(text, wanted):
    assert read_range(text) == wanted
    assert wanted is None or read_range(str(wanted)) == wanted


def test_a_part_must_be_the_one_that_was_asked_for():
    assert read_part("bytes 5-9/20", ByteRange(5, None)) == ContentRange(5, 9, 20)
    assert read_part("bytes 5-9/*", ByteRange(None, 5)) == ContentRange(5, 9, None)
    for text in ("", "bytes 0-9/20", "bytes 5-4/20", "bytes 5-20/20", "bytes */20"):
        with pytest.raises(NotMedia):
            read_part(text, ByteRange(5, None))

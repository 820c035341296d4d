"""SEC-20: depth is seen before any parser has to suffer it."""

import pytest

from tsuzuki.connectors.html.tags import is_deeper, shape_of


@pytest.mark.parametrize(
    ("html", "depth", "tags"),
    [
        ("", 0, 0),
        ("words", 0, 0),
        ("<a><b></b></a>", 2, 4),
        ("<a/><b/><c/>", 0, 3),
        ("<a></a>" * 9, 1, 18),
        ("<br><img src=x><p><p><li>", 0, 0),
        ("<a b='x'/><a b='x'>", 1, 2),
        ("<A><a></A></a>", 2, 4),
        ("<a></x><a></x><a></x>", 3, 6),
        ("</a></a><a>", 1, 3),
        ("<![CDATA[<a><a><a>]]><b>", 1, 1),
        ("<!-- <a><a><a> --><b>", 1, 1),
        ("<b><![CDATA[<a><a>", 1, 1),
        ("a < b <c", 0, 0),
    ],
)
def test_depth_and_size(html: str, depth: int, tags: int):
    assert shape_of(html, max_depth=100, max_tags=100) == (depth, tags)


def test_counting_ends_where_a_limit_is_passed():
    assert shape_of("<a>" * 1000, max_depth=5, max_tags=100) == (6, 6)
    assert shape_of("<a></a>" * 1000, max_depth=5, max_tags=10) == (1, 11)


def test_a_limit_is_a_limit():
    assert not is_deeper("<a>" * 5, 5)
    assert is_deeper("<a>" * 6, 5)
    assert not is_deeper("<a></a>" * 600, 5)

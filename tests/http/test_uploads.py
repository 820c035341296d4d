"""Files that forms bring, and forms that bring trouble."""

import pytest

from tests.growth import within
from tsuzuki.http.body import MOST_PARTS, first_file
from tsuzuki.model.errors import Invalid

FORM = "multipart/form-data; boundary=b0"


def a_form(*parts: tuple[str, bytes], boundary: str = "b0") -> bytes:
    """Parts with the rest of their Content-Disposition."""
    begun = [f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + body for head, body in parts]
    return b"\r\n".join([*begun, f"--{boundary}--\r\n".encode()])


@pytest.mark.parametrize(
    "head", ['name="file"; filename="a.opml"', "name=f; FILENAME=a", "name=f; filename*=utf-8''%C3%A4"]
)
def test_the_first_file_of_a_form_is_unchanged(head):
    body = b"<opml/>\r\n\r\n--b\r\n\0\xff"
    assert first_file(FORM, a_form(('name="filename"', b"no"), (head, body), (head, b"second"))) == body


@pytest.mark.parametrize(
    "content_type", ['Multipart/Form-Data; charset=x; boundary="b 0"', 'multipart/x;boundary="b 0"']
)
def test_a_boundary_may_be_quoted(content_type):
    assert first_file(content_type, a_form(("filename=a", b"x"), boundary="b 0")) == b"x"


def test_a_file_may_be_the_last_part_of_a_form():
    assert first_file(FORM, a_form(*[("name=a", b"")] * (MOST_PARTS - 1), ("filename=a", b"x"))) == b"x"


def test_what_is_no_form_is_the_file_itself():
    assert first_file("text/xml", b"--b0") == b"--b0"


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (FORM, b""),
        (FORM, a_form(('name="a"', b"filename=b"))),
        (FORM, b"--b0\r\nContent-Disposition: form-data; filename=a"),
        ("multipart/form-data", a_form(("filename=a", b"x"))),
        ("multipart/form-data; boundary=", a_form(("filename=a", b"x"))),
        ("multipart/form-data; boundary=\x80\u20ac", a_form(("filename=a", b"x"))),
        (FORM, a_form(*[("name=a", b"")] * MOST_PARTS, ("filename=a", b"x"))),
        (FORM, a_form((f"name={'a' * 10_000}; filename=a", b"x"))),
    ],
)
def test_a_form_without_a_file_is_refused(content_type, body):
    with pytest.raises(Invalid, match="contains no file"):
        first_file(content_type, body)


def test_forms_within_forms_cost_no_more_than_their_bytes():
    """SEC-45: read as a mail, this took a quarter of a minute, and a deeper one ended in a failure of ours."""
    inner = (b"--b%d\r\nContent-Type: multipart/mixed; boundary=b%d\r\n\r\n" % (n - 1, n) for n in range(1, 3_000))
    body = b"".join(inner) + b"--x\r\n" * 500_000

    def refused() -> None:
        with pytest.raises(Invalid, match="contains no file"):
            first_file(FORM, body)

    within(1.0, refused)

"""Files that a form brings."""

from email.parser import BytesParser

from tsuzuki.model.errors import Invalid


def first_file(content_type: str, body: bytes) -> bytes:
    """The first file of a multipart form; the body itself when it is no form. Invalid for a form without one."""
    if not content_type.lower().startswith("multipart/"):
        return body
    form = BytesParser().parsebytes(b"Content-Type: " + content_type.encode("latin-1", "replace") + b"\r\n\r\n" + body)
    for part in form.walk():
        document = part.get_payload(decode=True)
        if part.get_filename() is not None and isinstance(document, bytes):
            return document
    raise Invalid("The form holds no file.")

"""Files that a form brings.

Read once from the front, without a parser of mails: one of those takes a form within a form within a form, and with
half a megabyte of them a quarter of a minute.
"""

import re

from tsuzuki.model.errors import Invalid

MOST_PARTS = 50
LONGEST_HEAD = 8 * 1024

_BOUNDARY = re.compile(r';\s{0,10}boundary=(?:"([^"]{1,70})"|([^\s";,]{1,70}))', re.IGNORECASE)
_DISPOSITION = b"content-disposition:"
_FILENAME = re.compile(rb";\s{0,10}filename\*?=")
_LINE_END = b"\r\n"


def first_file(content_type: str, body: bytes) -> bytes:
    """The first file of a multipart form; the body itself when it is no form. Invalid for a form without one."""
    if not content_type.lower().startswith("multipart/"):
        return body
    found = _BOUNDARY.search(content_type)
    if found is not None:
        boundary = (found[1] or found[2]).encode("latin-1", "replace")
        parts = (_LINE_END + body).split(_LINE_END + b"--" + boundary, MOST_PARTS + 1)
        for part in parts[1 : MOST_PARTS + 1]:
            head, blank, content = part.partition(_LINE_END * 2)
            if blank and _is_file(head):
                return content
    raise Invalid("The form holds no file.")


def _is_file(head: bytes) -> bool:
    if len(head) > LONGEST_HEAD:
        return False
    lines = head.lower().split(_LINE_END)
    return any(line.startswith(_DISPOSITION) and _FILENAME.search(line) for line in lines)

"""The address of a store that speaks S3: `s3://key:secret@bucket/prefix?endpoint=...&region=...&style=...`. Pure."""

from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

_OPTIONS = frozenset({"endpoint", "region", "style"})
_STYLES = frozenset({"path", "virtual"})


class S3Address(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a store; what is None comes from the AWS_* variables."""

    bucket: str
    prefix: str = ""
    endpoint: str | None = None
    region: str | None = None
    style: str = "path"
    """`virtual` where the endpoint's name begins with the bucket's."""
    key_id: str | None = None
    secret: str | None = None

    @property
    def name(self) -> str:
        """The address as logs and pages show it, without credentials."""
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    def __repr__(self) -> str:
        """Without the secret: this may appear in tracebacks and log lines."""
        return f"S3Address({self.name})"


def read_address(text: str) -> S3Address:
    """The address that this text says; ValueError, which does not repeat it, when it says none."""
    parts = urlsplit(text)
    options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    said = dict(options)
    prefix = unquote(parts.path).strip("/")
    is_address = parts.scheme == "s3" and parts.hostname and parts.port is None and not parts.fragment
    is_known = len(said) == len(options) and said.keys() <= _OPTIONS and said.get("style", "path") in _STYLES
    is_plain = all(part not in {"", ".", ".."} for part in prefix.split("/")) if prefix else True
    if not (is_address and is_known and is_plain and bool(parts.username) == bool(parts.password)):
        raise ValueError("not the address of a store")
    _check_endpoint(said.get("endpoint"))
    return S3Address(
        bucket=parts.hostname or "",
        prefix=prefix,
        key_id=unquote(parts.username) if parts.username else None,
        secret=unquote(parts.password) if parts.password else None,
        **said,
    )


def _check_endpoint(text: str | None) -> None:
    if text is None:
        return
    parts = urlsplit(text)
    _ = parts.port  # reading it is what checks it
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username or parts.query or parts.fragment:
        raise ValueError("not the address of a server")

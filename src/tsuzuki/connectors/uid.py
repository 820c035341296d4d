"""The id that readers of the Tachiyomi family know a source by (R9)."""

import hashlib

from tsuzuki.connectors.protocol import ConnectorInfo

MASK = 2**63 - 1


def computed_uid(name: str, language: str, version_id: int = 1) -> int:
    """The first 8 bytes of md5("name/language/version"), as a positive BIGINT. Over 2^53: JSON gets it as a string."""
    digest = hashlib.md5(f"{name.lower()}/{language}/{version_id}".encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "big") & MASK


def default_name(info: ConnectorInfo, language: str) -> str:
    """What a source is called until someone renames it: names are unique, and a source has one language (R9)."""
    return info.name if len(info.languages) == 1 else f"{info.name} ({language.upper()})"


def source_uid(info: ConnectorInfo, language: str) -> int:
    """The uid of a connector's source in one language: its own override, else computed."""
    if language in info.uid_overrides:
        return info.uid_overrides[language]
    return computed_uid(info.name, language, info.version_id)

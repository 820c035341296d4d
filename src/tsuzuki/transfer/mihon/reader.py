"""Reads a backup portion by portion in the parser processes, and says of each series where it can be read here."""

from collections import Counter
from collections.abc import AsyncIterator

import msgspec

from tsuzuki.model.requests import Parsers
from tsuzuki.model.times import Millis
from tsuzuki.transfer.archive.format import GroupLine
from tsuzuki.transfer.foreign import ForeignLines, LeftOut, UnlinkedSource
from tsuzuki.transfer.mihon.lines import BackupContext, group_name, read_series
from tsuzuki.transfer.mihon.sources import BackupSources, language_of
from tsuzuki.transfer.mihon.unpack import Unpacked, unpack

PREFERENCES = "Settings of the app and of its sources are not imported: passwords stand in them."


async def read_backup(
    parsers: Parsers, body: bytes, sources: BackupSources, *, now: Millis
) -> AsyncIterator[ForeignLines]:
    """The lines of a backup; NotAFeed or TooLarge says in a sentence why not."""
    unpacked = await parsers.run(unpack, (body,))
    context = BackupContext(unpacked.categories, unpacked.sources, now)
    yield _beginning(unpacked)
    for portion in unpacked.portions:
        places = [sources.places(head, unpacked.sources) for head in portion.heads]
        lines = await parsers.run(read_series, (portion.series, places, context))
        missing = Counter(
            _source_name(head.source, unpacked.sources.get(head.source, ""))
            for head, where in zip(portion.heads, places, strict=True)
            if not where.all
        )
        yield msgspec.structs.replace(
            lines,
            sources=[sources.line(slug) for slug in sorted({place.slug for where in places for place in where.all})],
            unlinked=[UnlinkedSource(name, count) for name, count in missing.items()],
        )


def _source_name(uid: int, name: str) -> str:
    """A source by its name, and its language where that is known."""
    language = language_of(uid, name) if name else None
    return f"{name} ({language.upper()})" if language and language != "all" else name or str(uid)


def _beginning(unpacked: Unpacked) -> ForeignLines:
    groups = [
        GroupLine(name=group_name(name), position=place + 1)
        for place, (_, name) in enumerate(sorted(unpacked.categories.items()))
    ]
    left = [LeftOut("preferences", 1, PREFERENCES)] if unpacked.has_preferences else []
    return ForeignLines(groups=groups, left_out=left, backup_rest=unpacked.rest)

"""By what KOReader knows a document: an MD5 of samples of its file, or of the file's name."""

import hashlib
from typing import BinaryIO, Final

SAMPLE: Final = 1024
# KOReader's util.partialMD5 begins with a shift by -2, which comes out as 0 in LuaJIT.
SAMPLES: Final = (0, *(SAMPLE << 2 * power for power in range(11)))
"""Where in a file the samples begin."""


def partial_md5(file: BinaryIO) -> str:
    """The MD5 of samples at growing distances, as KOReader takes it; the last sample may be shorter."""
    digest = hashlib.md5(usedforsecurity=False)
    for offset in SAMPLES:
        file.seek(offset)
        sample = file.read(SAMPLE)
        if not sample:
            break
        digest.update(sample)
    return digest.hexdigest()


def name_md5(name: str) -> str:
    """The MD5 of a file's name with its ending, without folders."""
    return hashlib.md5(name.encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()

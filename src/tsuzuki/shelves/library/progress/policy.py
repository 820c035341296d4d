"""What a device's word counts for. Pure."""

from typing import Final

from tsuzuki.model.times import Millis
from tsuzuki.shelves.library.progress.nouns import ReadChapter, ReportedReading

EARLIEST: Final = Millis(0)


def moment(said: Millis | None, now: Millis) -> Millis:
    """When it was: a device whose clock is ahead must not win for ever, so never later than now."""
    return now if said is None else max(EARLIEST, min(said, now))


def is_finished(reading: ReportedReading, chapter: ReadChapter) -> bool:
    """Whether the last page was reached; False where nobody knows how many pages there are."""
    count = reading.page_count if reading.page_count is not None else chapter.page_count
    return reading.page is not None and count > 0 and reading.page >= count - 1


def decided(reading: ReportedReading, chapter: ReadChapter) -> bool | None:
    """Whether this says that the chapter is read, or is not; None when it says neither."""
    if reading.is_read is not None:
        return reading.is_read
    return True if is_finished(reading, chapter) else None

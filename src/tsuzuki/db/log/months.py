"""Calendar months, UTC."""

from datetime import UTC, datetime

import msgspec

from tsuzuki.model.times import Millis, from_datetime


class Month(msgspec.Struct, frozen=True, order=True):
    """A month, and what its part of the log is called."""

    year: int
    number: int

    @property
    def start(self) -> Millis:
        """Its first millisecond."""
        return from_datetime(datetime(self.year, self.number, 1, tzinfo=UTC))

    @property
    def end(self) -> Millis:
        """The first millisecond after it."""
        return self.plus(1).start

    @property
    def table(self) -> str:
        """The name of its partition and of its archive."""
        return f"crawl_log_{self.year:04d}_{self.number:02d}"

    def plus(self, months: int) -> "Month":
        """So many months later, or earlier."""
        years, number = divmod(self.number - 1 + months, 12)
        return Month(self.year + years, number + 1)


def month_of(moment: Millis) -> Month:
    """The month that a moment lies in."""
    day = datetime.fromtimestamp(moment // 1000, UTC)
    return Month(day.year, day.month)

"""What would be removed because it is old."""

import msgspec

from tsuzuki.api.endpoints import Access, declaring
from tsuzuki.api.views import Time, shown, view_of
from tsuzuki.model.times import DAY
from tsuzuki.retention.preview import Preview, Removable


class RemovableView(msgspec.Struct, frozen=True, kw_only=True):
    """What would go of one kind now. `keep_days` is the server's setting, 0 for ever.

    `is_more`: counting was ended before all was counted. `removed` is how many rows went since the beginning.
    """

    what: str
    keep_days: int | None
    rows: int
    bytes: int
    is_more: bool
    removed: int
    finished_at: Time | None


_removable_view = view_of(
    RemovableView,
    Removable,
    "removed",
    "finished_at",
    keep_days=lambda each: None if each.keep is None else each.keep // DAY,
)


class RetentionView(msgspec.Struct, frozen=True):
    """By kind, in the order in which they are removed, from one full hour to another."""

    hours: tuple[int, int]
    removable: list[RemovableView]


async def show_retention(preview: Preview) -> RetentionView:
    """What would be removed in the next night, and about how many bytes that is. Counting takes two seconds at most."""
    steps = {step.name: step for step in await preview.steps()}

    def view(each: Removable) -> RemovableView:
        step = steps.get(each.what)
        return _removable_view(
            each,
            removed=0 if step is None else step.pruned,
            finished_at=None if step is None else shown(step.finished_at or None),
        )

    return RetentionView(preview.rules.hours, [view(each) for each in await preview.removable()])


_admin = declaring("audit", Access.ADMIN)

ENDPOINTS = (_admin("GET", "/admin/retention", show_retention, "What would be removed"),)

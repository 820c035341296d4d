"""A shelf as what it is rented on."""

import msgspec

from tsuzuki.accounts.activity.nouns import ShelfSnapshot, ShelfStatus
from tsuzuki.model.ids import PublicId, ShelfId, TenantId
from tsuzuki.model.times import Millis


class RentedShelf(msgspec.Struct, frozen=True):
    """R80: `synced` and `sync_error` say whether the reactor has applied what plan and status say."""

    id: ShelfId
    public_id: PublicId
    tenant_id: TenantId
    name: str
    plan: str
    status: ShelfStatus
    synced: bool
    sync_error: str
    sync_attempts: int
    sync_at: Millis | None
    created_at: Millis
    updated_at: Millis

    def snapshot(self) -> ShelfSnapshot:
        """As activities remember it."""
        return ShelfSnapshot(self.name, self.plan, self.status)


class Used(msgspec.Struct, frozen=True):
    """What a shelf uses of what its plan counts."""

    public_id: PublicId
    follows: int
    kept_chapters: int


class PlannedHold(msgspec.Struct, frozen=True):
    """A feed or series that a plan is about to hold, or held from then on."""

    of_id: int
    held_at: Millis | None

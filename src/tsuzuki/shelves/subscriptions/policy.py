"""What becomes of a subscription that its reader changes, or comes back to. Pure."""

import msgspec
from msgspec import UnsetType

from tsuzuki.model.ids import GroupId
from tsuzuki.model.times import Millis
from tsuzuki.shelves.saying import new_or
from tsuzuki.shelves.subscriptions.nouns import FormerSubscription, NewRow, Subscription, SubscriptionChange


def changed(before: Subscription, change: SubscriptionChange, *, group_id: GroupId, now: Millis) -> Subscription:
    """What is the reader's own, as they want it from now on."""
    return msgspec.structs.replace(
        before,
        group_id=group_id,
        name=new_or(change.name, before.name),
        suspended_at=_suspended(before.suspended_at, now, wanted=change.is_suspended),
        notify=new_or(change.notify, before.notify),
        full_text=new_or(change.full_text, before.full_text),
        poll_interval=new_or(change.poll_interval, before.poll_interval),
        retention=new_or(change.retention, before.retention),
    )


def as_before(former: FormerSubscription, row: NewRow, *, keeps_group: bool) -> NewRow:
    """What the reader says now, else what was before."""
    return msgspec.structs.replace(
        row,
        public_id=former.public_id,
        group_id=(former.group_id or row.group_id) if keeps_group else row.group_id,
        name=row.name or former.name,
        site_url=row.site_url or former.site_url,
        notify=former.notify,
        full_text=row.full_text or former.full_text,
        poll_interval=former.poll_interval,
        retention=former.retention,
        created_at=former.created_at,
    )


def _suspended(before: Millis | None, now: Millis, *, wanted: bool | UnsetType) -> Millis | None:
    if isinstance(wanted, UnsetType):
        return before
    return (before or now) if wanted else None

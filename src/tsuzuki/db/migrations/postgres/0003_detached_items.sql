-- What a feed holds comes only from fetching it. An item without a feed was brought by a merge, a move or an import: it
-- belongs to the shelves that have entries of it, and is never known to a feed.
alter table item alter column feed_id drop not null;

-- When the feed last said of itself what the row says; null where somebody else did, or it was said at another address.
alter table feed add column described_at bigint;
update feed set described_at = updated_at;

-- REL-39d, for one shelf: what it had and pruned, here or elsewhere, is no news to it when the feed brings it.
create table entry_tombstone (
  shelf_id bigint not null references shelf (id) on delete cascade,
  feed_id bigint not null references feed (id) on delete cascade,
  key text not null,
  at bigint not null,
  primary key (feed_id, key, shelf_id)
);
create index entry_tombstone_shelf on entry_tombstone (shelf_id);
create index entry_tombstone_age on entry_tombstone (at);
insert into entry_tombstone (shelf_id, feed_id, key, at)
select subscription.shelf_id, item_tombstone.feed_id, item_tombstone.key, item_tombstone.at
from item_tombstone join subscription on subscription.feed_id = item_tombstone.feed_id;
drop table item_tombstone;

-- name: shelf_items
-- OFFSET 0, here and below, keeps it a look into indexes for each row: a join would be planned for a thousand of them.
select found.key, found.id from json_each(cast(:rows as text)) as wanted, lateral (
  select item.key, item.id from item join entry on entry.item_id = item.id
  where item.feed_id is null and item.key = wanted.value ->> 0
    and entry.shelf_id = :shelf_id and entry.feed_id = :feed_id
  union all
  select item.key, item.id from item join entry on entry.item_id = item.id
  where item.feed_id = :feed_id and item.key = wanted.value ->> 0 and entry.shelf_id = :shelf_id
  offset 0
) as found;

-- name: feed_items
select found.key, found.id from json_each(cast(:rows as text)) as wanted, lateral (
  select item.key, item.id from item where item.feed_id = :feed_id and item.key = wanted.value ->> 0 offset 0
) as found;

-- name: adoptable
select found.shelf_id, cast(wanted.value ->> 0 as bigint) as item_id, min(found.detached_id) as detached_id
from json_each(cast(:rows as text)) as wanted, lateral (
  select entry.shelf_id, detached.id as detached_id
  from item as detached join entry on entry.item_id = detached.id
  where {is_same} and entry.feed_id = cast(wanted.value ->> 1 as bigint)
  union all
  select former_entry.shelf_id, detached.id
  from item as detached join former_entry on former_entry.item_id = detached.id
  where {is_same} and former_entry.feed_id = cast(wanted.value ->> 1 as bigint)
  offset 0
) as found
group by found.shelf_id, cast(wanted.value ->> 0 as bigint);

-- fragment: item_json
cast(value ->> 'categories' as jsonb), cast(value ->> 'enclosures' as jsonb), cast(value ->> 'page_urls' as jsonb)

-- name: add_item_entries
-- Counted here for each shelf and lot: a thousand entries need not travel to be added up.
with placed as ({item_entries} returning shelf_id, item_id, id)
select placed.shelf_id, min(placed.item_id) as installment_id, count(*) as count, max(placed.id) as newest
from placed
join (
  select cast(value ->> 0 as bigint) as item_id, cast(value ->> 2 as bigint) as lot from json_each(cast(:rows as text))
) as wanted on wanted.item_id = placed.item_id
group by placed.shelf_id, wanted.lot;

-- fragment: wanted_item
-- OFFSET 0, here and below, keeps it a look into an index for each row: a join would be planned for a thousand of them,
-- and would read all items for each few, until the table is analyzed.
lateral (
  select id, feed_id, key, sort_at from item where item.id = cast(wanted.value ->> 0 as bigint) offset 0
) as item

-- fragment: wanted_chapter
lateral (
  select id, series_id, published_at, first_seen_at from chapter
  where chapter.id = cast(wanted.value ->> 0 as bigint) offset 0
) as chapter

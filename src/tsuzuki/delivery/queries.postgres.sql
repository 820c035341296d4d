-- name: lock_feeds_shared
-- Held to the end of the transaction, together with others who deliver, apart from those who subscribe: an item that is
-- not yet committed and a subscription that is not yet committed cannot see each other, and the entry would be lost.
-- The one lock of a feed (sources: hold_feed). By their ids, as everyone who locks several; OFFSET keeps the sorting before
-- the locking.
select pg_advisory_xact_lock_shared(1, cast(feed_id % 2147483647 as integer))
from (select cast(value ->> 0 as bigint) as feed_id from json_each(cast(:rows as text)) order by 1 offset 0) as wanted;

-- name: add_item_entries
-- Counted here for each shelf and lot: a thousand entries need not travel to be added up.
with placed as ({item_entries} returning shelf_id, item_id, id)
select placed.shelf_id, min(placed.item_id) as installment_id, count(*) as count, max(placed.id) as newest
from placed
join (
  select cast(value ->> 0 as bigint) as item_id, cast(value ->> 2 as bigint) as lot from json_each(cast(:rows as text))
) as wanted on wanted.item_id = placed.item_id
group by placed.shelf_id, wanted.lot;

-- name: horizon
-- Below this txid nothing can appear any more. One writer commits in the order of the ids, so here all are below.
select 1 as horizon;

-- name: next_events
select txid, id, kind, payload
from event
where shelf_id = :shelf_id and (txid, id) > (cast(:txid as bigint), cast(:id as bigint)) and txid < :horizon
order by txid, id
limit :most;

-- name: newest_of_shelf
select txid, id from event where shelf_id = :shelf_id and txid < :horizon order by txid desc, id desc limit 1;

-- name: settled_of_shelf
select txid, id from event where shelf_id = :shelf_id and {is_settled} order by txid desc, id desc limit 1;

-- name: newest_event
select txid, id from event where txid < :horizon order by txid desc, id desc limit 1;

-- name: find_event
select id from event where shelf_id = :shelf_id and txid = :txid and id = :id and txid < :horizon;

-- name: shelves_with_news
select txid, id, shelf_id
from event
where (txid, id) > (cast(:txid as bigint), cast(:id as bigint)) and txid < :horizon
order by txid, id
limit :most;

-- name: unsettled_event
select id from event where txid >= :horizon limit 1;

-- fragment: is_settled
true

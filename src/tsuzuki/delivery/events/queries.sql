-- name: add_events
insert into event (shelf_id, kind, payload, created_at)
select cast(value ->> 0 as bigint), value ->> 1, value ->> 2, cast(:now as bigint)
from json_each(cast(:rows as text));

-- name: operator_shelves
-- The shelf that each of those who run this server reads from.
select distinct shelf_member.shelf_id
from user_account
join shelf_member on shelf_member.user_id = user_account.id and shelf_member.shelf_id = coalesce(
  user_account.default_shelf_id,
  (select min(own.shelf_id) from shelf_member as own where own.user_id = user_account.id)
)
where user_account.role = 'admin' and user_account.disabled_at is null
order by shelf_member.shelf_id;

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

-- name: prune_events
delete from event where id in (select id from event where created_at < :before or {is_foreign} limit :most);

-- fragment: is_foreign
false

-- fragment: is_settled
true

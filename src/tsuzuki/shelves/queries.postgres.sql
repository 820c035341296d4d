-- name: add_events
-- Whoever writes for the same shelf waits here for the other's commit, so places become visible in their order. In the
-- order of the shelves, that no two wait for each other. The time begins a shelf's count, and carries it over what was
-- given out after a backup that was restored.
with wanted as materialized (
  select cast(value ->> 0 as bigint) as shelf_id, value ->> 1 as kind, value ->> 2 as payload,
    cast(value ->> 3 as bigint) as nth
  from json_each(cast(:rows as text))
), present as materialized (
  -- Before the counter, as who deletes a shelf locks them. A shelf that is gone by now needs no events.
  select id from shelf where id in (select shelf_id from wanted) order by id for key share
), counted as (
  insert into event_counter (shelf_id, place)
  select id, cast(:now as bigint) from present order by id
  on conflict (shelf_id) do update set place = greatest(event_counter.place + 1, excluded.place)
  returning shelf_id, place
)
insert into event (place, shelf_id, kind, payload, created_at)
select counted.place, wanted.shelf_id, wanted.kind, wanted.payload, cast(:now as bigint)
from wanted join counted on counted.shelf_id = wanted.shelf_id
order by wanted.nth;

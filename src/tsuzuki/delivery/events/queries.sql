-- name: add_events
insert into event (shelf_id, kind, payload, created_at)
select cast(value ->> 0 as bigint), value ->> 1, value ->> 2, cast(:now as bigint)
from json_each(cast(:rows as text));

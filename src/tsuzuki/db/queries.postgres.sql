-- name: take_locks
-- REL-19d: by their ids, as everyone who locks several; OFFSET keeps the sorting before the locking.
select pg_advisory_xact_lock(cast(:number as integer), cast(id % 2147483647 as integer))
from (select cast(value as bigint) as id from json_each(cast(:ids as text)) order by 1 offset 0) as wanted;

-- name: take_shared_locks
select pg_advisory_xact_lock_shared(cast(:number as integer), cast(id % 2147483647 as integer))
from (select cast(value as bigint) as id from json_each(cast(:ids as text)) order by 1 offset 0) as wanted;

-- name: lock_shelf
-- Until the end of the transaction; rows that refer to the shelf are not kept waiting.
select id from shelf where id = :shelf_id for no key update;

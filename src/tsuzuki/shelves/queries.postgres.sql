-- name: lock_shelf
-- Until the end of the transaction; rows that refer to the shelf are not kept waiting.
select id from shelf where id = :shelf_id for no key update;

-- fragment: is_foreign
-- From the life of another server: restored from a dump, whose transactions were counted further than ours.
txid >= cast(cast(pg_snapshot_xmax(pg_current_snapshot()) as text) as bigint)

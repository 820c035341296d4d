-- fragment: is_foreign
-- From the life of another server: restored from a dump, whose transactions were counted further than ours.
txid >= cast(cast(pg_snapshot_xmax(pg_current_snapshot()) as text) as bigint)

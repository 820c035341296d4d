-- fragment: as_json
cast(:genres as jsonb)

-- name: lock_unshared_series
-- Whoever wants to follow it, or to store its first chapter, waits for this row.
select series.id from series
where {lonely}
for update of series;

-- fragment: by_broken
watch

-- fragment: closable
-- SKIP LOCKED: who stores something of one meanwhile, or polls it, knows better, and nobody waits for whoever waits for us.
watch.id = any (array(
  select watch.id from watch
  where watch.id = any (array(select cast(value ->> 'id' as bigint) from json_each(cast(:rows as text))))
    and consecutive_failures >= 5 and suspended_at is null and (lease_until is null or lease_until <= :now)
  for update skip locked
))

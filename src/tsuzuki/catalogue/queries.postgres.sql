-- fragment: as_json
cast(:genres as jsonb)

-- name: lock_unshared_series
-- Whoever wants to follow it, or to store its first chapter, waits for this row.
select series.id from series
where {lonely}
for update of series;

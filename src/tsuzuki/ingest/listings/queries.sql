-- name: known_releases
select key, content_hash, source_key, url, is_available, absences, last_seen_at
from release where series_source_id = :series_source_id;

-- name: rename_releases
-- R101: the key follows what it is made of. What is stored under the new key already stays as it is.
update release set key = renamed.key
from (
  select known.id, value ->> 'key' as key from json_each(cast(:rows as text)) cross join release as known
  where known.series_source_id = :series_source_id and known.key = value ->> 'previous_key'
) as renamed
where release.id = renamed.id and not exists (
  select 1 from release as other where other.series_source_id = :series_source_id and other.key = renamed.key
);

-- name: mark_seen
-- R100: it is there again; last_seen_at moves at most once a day.
update release
set is_available = true, absences = 0,
  last_seen_at = case when cast(:now as bigint) - last_seen_at >= 86400000 then cast(:now as bigint) else last_seen_at end
where series_source_id = :series_source_id and key in (select value ->> 'key' from json_each(cast(:rows as text)));

-- name: mark_absent
-- R100: unavailable when the second listing in a row lacks it.
update release set absences = absences + 1, is_available = is_available and absences + 1 < :most_absences
where series_source_id = :series_source_id and key in (select value ->> 'key' from json_each(cast(:rows as text)));

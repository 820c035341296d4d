-- name: rest
select body from backup_rest where shelf_id = :shelf_id;

-- name: exported_series
-- What is followed, and what was read in an app without being followed.
select series.id, series.title, follow.group_id, follow.status as follow_status, follow.preferences, follow.created_at
from series
left join follow on follow.shelf_id = :shelf_id and follow.series_id = series.id
where follow.series_id is not null or exists (
  select 1 from backup_series where backup_series.shelf_id = :shelf_id and backup_series.series_id = series.id
)
order by series.id;

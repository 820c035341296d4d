-- fragment: columns
id, public_id, shelf_id, user_id, name, kind, status, preview, report, error, part, done, total, created_at, updated_at,
finished_at

-- name: add_import
insert into shelf_import (public_id, shelf_id, user_id, name, kind, preview, created_at, updated_at)
values (:public_id, :shelf_id, :user_id, :name, :kind, :preview, :now, :now)
returning {columns};

-- name: drop_shown
-- Files that were looked at and not imported: only the newest few of a shelf are kept.
delete from shelf_import
where shelf_id = :shelf_id and status = 'shown' and id not in (
  select id from shelf_import as kept where kept.shelf_id = :shelf_id and kept.status = 'shown'
  order by id desc limit :most
)
returning public_id;

-- name: find_import
-- I8: another shelf's import is not found.
select {columns} from shelf_import where shelf_id = :shelf_id and public_id = :public_id;

-- name: get_import
select {columns} from shelf_import where id = :id;

-- name: list_imports
select {columns} from shelf_import where shelf_id = :shelf_id order by id desc limit :most;

-- name: set_status
update shelf_import set status = :status, error = null, updated_at = :now
where id = :id and status = :before;

-- name: set_progress
update shelf_import set part = :part, done = :done, total = :total, updated_at = :now
where id = :id and status in ('running', 'undoing');

-- name: finish_import
update shelf_import
set status = :status, report = coalesce(:report, report), error = :error, part = null, updated_at = :now,
  finished_at = :now
where id = :id;

-- name: drop_import
delete from shelf_import where id = :id and status in ('shown', 'done', 'failed', 'undone');

-- name: known_feeds
select count(*) from subscription join feed on feed.id = subscription.feed_id
where subscription.shelf_id = :shelf_id
  and feed.link in (select value ->> 0 from json_each(cast(:rows as text)));

-- name: known_series
-- Rows are a source's slug and its key, and the source and address that a backup names.
select count(distinct follow.series_id) from (
  select series_source.series_id
  from json_each(cast(:rows as text))
  cross join source
  join series_source on series_source.source_id = source.id and series_source.source_key = value ->> 1
  where source.slug = value ->> 0
  union
  select backup_series.series_id
  from json_each(cast(:rows as text))
  cross join backup_series
  where backup_series.shelf_id = :shelf_id and backup_series.source_uid = cast(value ->> 2 as bigint)
    and backup_series.url = value ->> 3
) as known
join follow on follow.shelf_id = :shelf_id and follow.series_id = known.series_id;

-- name: person
select id, public_id, tenant_id, default_shelf_id, username, role, email, disabled_at, created_at, updated_at,
  is_offered_shelf
from user_account where id = :id;

-- name: import_files
select public_id from shelf_import where status in ('shown', 'queued', 'running', 'failed');

-- name: forget_shown
-- A file that was looked at and never imported.
delete from shelf_import where status = 'shown' and updated_at < :before;

-- name: made_subscriptions
select subscription.public_id from import_made join subscription on subscription.id = import_made.of_id
where import_made.shelf_import_id = :id and import_made.kind = 'subscription' and subscription.shelf_id = :shelf_id
order by subscription.id;

-- name: made_follows
select follow.public_id from import_made join follow on follow.id = import_made.of_id
where import_made.shelf_import_id = :id and import_made.kind = 'follow' and follow.shelf_id = :shelf_id
order by follow.id;

-- name: touched_series
select distinct chapter.series_id from import_progress join chapter on chapter.id = import_progress.chapter_id
where import_progress.shelf_import_id = :id
order by chapter.series_id;

-- fragment: since_untouched
-- What was read after the import stays.
progress.shelf_id = :shelf_id and progress.updated_at <= :until and before.shelf_import_id = :id
  and before.chapter_id = progress.chapter_id

-- name: restore_progress
update progress
set page = before.page, furthest_page = before.furthest_page, is_read = before.is_read,
  is_bookmarked = before.is_bookmarked, device = before.device, paged_at = before.paged_at,
  marked_at = before.marked_at, opened_at = before.opened_at
from import_progress as before
where {since_untouched} and before.was_there;

-- name: remove_progress
delete from progress
where progress.shelf_id = :shelf_id and exists (
  select 1 from import_progress as before where {since_untouched} and not before.was_there
);

-- name: restore_entries
update entry set unread = before.unread, saved = before.saved, read_at = before.read_at
from import_entry as before
where entry.shelf_id = :shelf_id and before.shelf_import_id = :id and before.entry_id = entry.id and before.was_there;

-- name: remove_entries
delete from entry
where entry.shelf_id = :shelf_id and entry.id in (
  select entry_id from import_entry where shelf_import_id = :id and not was_there
);

-- name: remove_bookmarks
delete from bookmark
where shelf_id = :shelf_id and id in (
  select of_id from import_made where shelf_import_id = :id and kind = 'bookmark'
);

-- name: remove_backups
delete from backup_series
where shelf_id = :shelf_id and id in (
  select of_id from import_made where shelf_import_id = :id and kind = 'backup'
);

-- name: remove_groups
-- Those that are empty again.
delete from shelf_group
where shelf_id = :shelf_id and not is_default and id in (
  select of_id from import_made where shelf_import_id = :id and kind = 'group'
)
  and not exists (select 1 from subscription where subscription.group_id = shelf_group.id)
  and not exists (select 1 from follow where follow.group_id = shelf_group.id);

-- name: forget_log
delete from import_made where shelf_import_id = :id;

-- name: forget_progress_log
delete from import_progress where shelf_import_id = :id;

-- name: forget_entry_log
delete from import_entry where shelf_import_id = :id;

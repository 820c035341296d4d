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
-- It begins again: how far something else came is not how far this is.
update shelf_import set status = :status, error = null, part = null, done = 0, total = 0, updated_at = :now
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

-- name: followed_keys
select series.match_key from follow join series on series.id = follow.series_id
where follow.shelf_id = :shelf_id;

-- name: person
select id, public_id, tenant_id, default_shelf_id, username, role, email, disabled_at, created_at, updated_at,
  is_offered_shelf
from user_account where id = :id;

-- name: import_files
select public_id from shelf_import where status in ('shown', 'queued', 'running', 'failed');

-- name: forget_shown
-- A file that was looked at and never imported.
delete from shelf_import where status = 'shown' and updated_at < :before;

-- name: forget_old
-- Nobody undoes it any more. I8: that a series is known by it alone stays.
delete from shelf_import
where status in ('done', 'failed', 'undone') and updated_at < :before
  and not exists (select 1 from import_series where import_series.shelf_import_id = shelf_import.id);

-- Undoing. What is not as the import left it, its reader has changed since, and stays (I9). -------------------------

-- fragment: made
select import_made.of_id from import_made where import_made.shelf_import_id = :id

-- name: made_subscriptions
select subscription.public_id from import_made
join subscription on subscription.id = import_made.of_id and subscription.public_id = import_made.public_id
where import_made.shelf_import_id = :id and import_made.kind = 'subscription' and subscription.shelf_id = :shelf_id
  and import_made.state = cast(subscription.group_id as text) || ' ' || case when subscription.notify then '1' else '0' end
    || case when subscription.full_text then ' 1 ' else ' 0 ' end
    || coalesce(cast(subscription.poll_interval as text), '-') || ' '
    || coalesce(cast(subscription.retention as text), '-') || ' ' || subscription.name
order by subscription.id;

-- name: made_follows
select follow.public_id, follow.series_id from import_made
join follow on follow.id = import_made.of_id and follow.public_id = import_made.public_id
where import_made.shelf_import_id = :id and import_made.kind = 'follow' and follow.shelf_id = :shelf_id
  and import_made.state = cast(follow.group_id as text) || ' ' || follow.status
    || case when follow.notify then ' 1 ' else ' 0 ' end || cast(follow.preferences as text)
order by follow.id;

-- name: drop_former
delete from former_follow where shelf_id = :shelf_id and series_id = :series_id;

-- name: restore_former
insert into former_follow (
  shelf_id, series_id, group_id, status, notify, preferences, entries, created_at, left_at
)
select cast(:shelf_id as bigint), series_id, group_id, status, notify, preferences, entries, created_at, left_at
from import_former where shelf_import_id = :id and series_id = :series_id
on conflict (shelf_id, series_id) do nothing;

-- name: touched_series
select chapter.series_id from import_progress join chapter on chapter.id = import_progress.chapter_id
where import_progress.shelf_import_id = :id
union
select entry.series_id from import_entry join entry on entry.id = import_entry.entry_id
where import_entry.shelf_import_id = :id and entry.series_id is not null
order by 1;

-- fragment: page_is_left
(progress.page, progress.furthest_page) = (before.left_page, before.left_furthest_page)
  and progress.paged_at is not distinct from before.left_paged_at

-- fragment: mark_is_left
{page_is_left} and progress.is_read = before.left_is_read
  and progress.marked_at is not distinct from before.left_marked_at

-- name: restore_progress
-- Who has read on has read it.
update progress
set page = case when {page_is_left} then before.page else progress.page end,
  furthest_page = case when {page_is_left} then before.furthest_page else progress.furthest_page end,
  device = case when {page_is_left} then before.device else progress.device end,
  paged_at = case when {page_is_left} then before.paged_at else progress.paged_at end,
  is_read = case when {mark_is_left} then before.is_read else progress.is_read end,
  marked_at = case when {mark_is_left} then before.marked_at else progress.marked_at end,
  is_bookmarked = case
    when progress.is_bookmarked = before.left_is_bookmarked then before.is_bookmarked else progress.is_bookmarked
  end,
  opened_at = case
    when progress.opened_at is not distinct from before.left_opened_at then before.opened_at else progress.opened_at
  end
from import_progress as before
where before.shelf_import_id = :id and progress.shelf_id = :shelf_id and progress.chapter_id = before.chapter_id;

-- name: remove_progress
delete from progress
where progress.shelf_id = :shelf_id and progress.chapter_id in (
  select chapter_id from import_progress where shelf_import_id = :id and not was_there
)
  and page = 0 and furthest_page = 0 and not is_read and not is_bookmarked and paged_at is null and marked_at is null
  and opened_at is null;

-- fragment: entry_is_left
(entry.unread = before.left_unread and entry.read_at is not distinct from before.left_read_at)

-- name: remove_entries
delete from entry
where entry.shelf_id = :shelf_id and entry.id in (
  select before.entry_id from import_entry as before
  where before.shelf_import_id = :id and not before.was_there and before.entry_id = entry.id
    and {entry_is_left} and entry.saved = before.left_saved
);

-- name: restore_entries
update entry
set unread = case when {entry_is_left} then before.unread else entry.unread end,
  read_at = case when {entry_is_left} then before.read_at else entry.read_at end,
  saved = case when entry.saved = before.left_saved then before.saved else entry.saved end
from import_entry as before
where entry.shelf_id = :shelf_id and before.shelf_import_id = :id and before.entry_id = entry.id and before.was_there;

-- name: remove_bookmarks
delete from bookmark
where shelf_id = :shelf_id and exists (
  select 1 from import_made
  where import_made.shelf_import_id = :id and import_made.kind = 'bookmark' and import_made.of_id = bookmark.id
    and import_made.public_id = bookmark.public_id and import_made.state = bookmark.note
);

-- fragment: is_next
-- Of the import that wrote over what this one had written. They are in the order of what they wrote over: several are
-- looked at before one of them runs, so their ids and the times of their beginnings do not tell.
over_own.shelf_import_id = (
  select later.shelf_import_id from shelf_import as own
  join import_backup as later on later.backup_series_id = over_own.backup_series_id
    and later.updated_at between own.created_at and own.finished_at
  left join import_backup as former
    on former.shelf_import_id = own.id and former.backup_series_id = later.backup_series_id
  where own.id = :id and (later.updated_at, later.shelf_import_id) > (coalesce(former.updated_at, 0), own.id)
  order by later.updated_at, later.shelf_import_id limit 1
)

-- name: pass_backups_on
-- What a later backup was written over is now what this one was written over.
update import_backup as over_own
set source_name = before.source_name, message = before.message, updated_at = before.updated_at
from import_backup as before
where before.shelf_import_id = :id and before.backup_series_id = over_own.backup_series_id and {is_next};

-- name: pass_made_backups_on
-- Where this one was the first, the later one is now.
insert into import_made (shelf_import_id, kind, of_id)
select over_own.shelf_import_id, 'backup', over_own.backup_series_id from import_backup as over_own
where over_own.backup_series_id in ({made} and import_made.kind = 'backup') and {is_next}
on conflict (shelf_import_id, kind, of_id) do nothing;

-- fragment: passed
import_backup as over_own join backup_series on backup_series.id = over_own.backup_series_id and {is_next}

-- name: pass_series_on
-- Whoever is the last to undo what it said of a series that an import made removes it.
insert into import_series (shelf_import_id, series_id)
select distinct over_own.shelf_import_id, import_series.series_id from {passed}
join import_series on import_series.shelf_import_id = :id and import_series.series_id = backup_series.series_id
where true
on conflict (shelf_import_id, series_id) do nothing;

-- name: pass_chapters_on
insert into import_chapter (shelf_import_id, chapter_id)
select distinct over_own.shelf_import_id, chapter.id from {passed}
join chapter on chapter.series_id = backup_series.series_id
join import_chapter on import_chapter.shelf_import_id = :id and import_chapter.chapter_id = chapter.id
where true
on conflict (shelf_import_id, chapter_id) do nothing;

-- name: drop_passed_backups
delete from import_backup as over_own
where over_own.backup_series_id in ({made} and import_made.kind = 'backup') and {is_next};

-- name: restore_backups
-- Of those that no later backup has written anew. They are then again of the import that had written them, if any.
update backup_series
set source_name = before.source_name, message = before.message, updated_at = before.updated_at,
  shelf_import_id = (
    select max(own.id) from shelf_import as own
    where own.shelf_id = :shelf_id and own.id <> :id and own.status <> 'undone'
      and before.updated_at between own.created_at and own.finished_at
      and (
        exists (
          select 1 from import_made
          where import_made.shelf_import_id = own.id and import_made.kind = 'backup'
            and import_made.of_id = before.backup_series_id
        )
        or exists (
          select 1 from import_backup
          where import_backup.shelf_import_id = own.id and import_backup.backup_series_id = before.backup_series_id
        )
      )
  )
from import_backup as before
where backup_series.shelf_id = :shelf_id and backup_series.shelf_import_id = :id
  and before.shelf_import_id = :id and before.backup_series_id = backup_series.id;

-- name: remove_backups
delete from backup_series
where shelf_id = :shelf_id and shelf_import_id = :id and id in ({made} and import_made.kind = 'backup');

-- name: pass_rest_on
-- The same of what backups say beside series.
update import_rest set body = before.body, updated_at = before.updated_at
from import_rest as before
where before.shelf_import_id = :id and import_rest.shelf_import_id = (
  select later.shelf_import_id from shelf_import as own
  join shelf_import as other on other.shelf_id = own.shelf_id
  join import_rest as later
    on later.shelf_import_id = other.id and later.updated_at between own.created_at and own.finished_at
  where own.id = :id and (later.updated_at, later.shelf_import_id) > (coalesce(before.updated_at, 0), own.id)
  order by later.updated_at, later.shelf_import_id limit 1
);

-- name: restore_rest
update backup_rest set body = before.body, updated_at = before.updated_at,
  shelf_import_id = (
    select max(own.id) from shelf_import as own join import_rest on import_rest.shelf_import_id = own.id
    where own.shelf_id = :shelf_id and own.id <> :id and own.status <> 'undone'
      and before.updated_at between own.created_at and own.finished_at
  )
from import_rest as before
where backup_rest.shelf_id = :shelf_id and backup_rest.shelf_import_id = :id
  and before.shelf_import_id = :id and before.body is not null;

-- name: remove_rest
delete from backup_rest
where shelf_id = :shelf_id and shelf_import_id = :id
  and exists (select 1 from import_rest where import_rest.shelf_import_id = :id and import_rest.body is null);

-- name: remove_groups
-- Those that are empty again, and are called as they were.
delete from shelf_group
where shelf_id = :shelf_id and not is_default and exists (
  select 1 from import_made
  where import_made.shelf_import_id = :id and import_made.kind = 'group' and import_made.of_id = shelf_group.id
    and import_made.public_id = shelf_group.public_id and import_made.state = shelf_group.name
)
  and not exists (select 1 from subscription where subscription.group_id = shelf_group.id)
  and not exists (select 1 from follow where follow.group_id = shelf_group.id);

-- fragment: has_no_reader
not exists (select 1 from progress where progress.chapter_id = chapter.id)
  and not exists (select 1 from entry where entry.chapter_id = chapter.id)
  and not exists (select 1 from chapter_copy where chapter_copy.chapter_id = chapter.id)
  and not exists (select 1 from release where release.chapter_id = chapter.id)

-- fragment: touched
select backup_series.series_id from import_backup
join backup_series on backup_series.id = import_backup.backup_series_id
where import_backup.shelf_import_id = :id

-- name: remove_chapters
delete from chapter
where id in (select chapter_id from import_chapter where shelf_import_id = :id) and {has_no_reader};

-- name: lower_latest
-- Where chapters went: a series without a source has no news.
update series
set latest_number = newest.number, latest_sort = newest.number_sort, last_chapter_at = null
from chapter as newest
where newest.series_id = series.id and newest.number_sort < series.latest_sort
  and not exists (select 1 from series_source where series_source.series_id = series.id)
  and newest.id = (
    select chapter.id from chapter where chapter.series_id = series.id and chapter.number_sort is not null
    order by chapter.number_sort desc, chapter.id limit 1
  )
  and series.id in ({touched});

-- name: remove_series
-- What the import made, and nobody has anything of, and no source knows.
delete from series
where id in (select series_id from import_series where shelf_import_id = :id)
  and not exists (select 1 from series_source where series_source.series_id = series.id)
  and not exists (select 1 from follow where follow.series_id = series.id)
  and not exists (select 1 from former_follow where former_follow.series_id = series.id)
  and not exists (select 1 from backup_series where backup_series.series_id = series.id)
  and not exists (
    select 1 from chapter where chapter.series_id = series.id and not ({has_no_reader})
  );

-- name: forget_progress
delete from import_progress where shelf_import_id = :id;

-- name: forget_entries
delete from import_entry where shelf_import_id = :id;

-- name: forget_backups
-- Nothing is passed on to an import that is undone.
delete from import_backup where shelf_import_id = :id;

-- name: forget_rest
delete from import_rest where shelf_import_id = :id;

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
-- A worker that had lost its lease ends nothing that another one has ended or undoes by now.
update shelf_import
set status = :status, report = coalesce(:report, report), error = :error, part = null, updated_at = :now,
  finished_at = :now
where id = :id and case status when 'queued' then 'import' when 'running' then 'import' when 'undoing' then 'undo' end = :what;

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
-- Nobody undoes it any more.
delete from shelf_import where status in ('done', 'failed', 'undone') and updated_at < :before;

-- Undoing. What is not as the import left it, its reader has changed since, and stays (I9). -------------------------

-- fragment: other_imports
(
  select other.id from shelf_import as other
  where other.shelf_id = :shelf_id and other.id <> :id and other.status not in ('shown', 'undone')
)

-- fragment: is_passed_on
exists (
  select 1 from import_made as its
  where its.shelf_import_id in {other_imports} and its.kind = import_made.kind and its.of_id = import_made.of_id
    and its.public_id = import_made.public_id
)

-- fragment: running_with
select other.id, made.kind, made.of_id, made.public_id, made.state
from import_made as made
join shelf_import as other
  on other.shelf_id = :shelf_id and other.id <> :id and other.status = 'running' and made.shelf_import_id = :id

-- name: pass_follows_on
-- To all others that have written into the series, or are running and have found it: what they write is left with them.
insert into import_made (shelf_import_id, kind, of_id, public_id, state)
select its.shelf_import_id, made.kind, made.of_id, made.public_id, made.state
from import_made as made
join follow on follow.id = made.of_id and follow.public_id = made.public_id
join entry on entry.shelf_id = follow.shelf_id and entry.series_id = follow.series_id
join import_entry as its on its.entry_id = entry.id and its.shelf_import_id <> made.shelf_import_id
where made.shelf_import_id = :id and made.kind = 'follow'
union
select its.shelf_import_id, made.kind, made.of_id, made.public_id, made.state
from import_made as made
join follow on follow.id = made.of_id and follow.public_id = made.public_id
join backup_series as its on its.shelf_id = follow.shelf_id and its.series_id = follow.series_id
join import_backup as own on own.shelf_import_id = made.shelf_import_id and own.backup_series_id = its.id
where made.shelf_import_id = :id and made.kind = 'follow' and its.shelf_import_id <> made.shelf_import_id
union
{running_with}
join follow on follow.id = made.of_id and follow.public_id = made.public_id
where made.kind = 'follow'
on conflict (shelf_import_id, kind, of_id) do nothing;

-- name: pass_subscriptions_on
insert into import_made (shelf_import_id, kind, of_id, public_id, state)
select its.shelf_import_id, made.kind, made.of_id, made.public_id, made.state
from import_made as made
join subscription on subscription.id = made.of_id and subscription.public_id = made.public_id
join entry on entry.shelf_id = subscription.shelf_id and entry.feed_id = subscription.feed_id
join import_entry as its on its.entry_id = entry.id and its.shelf_import_id <> made.shelf_import_id
where made.shelf_import_id = :id and made.kind = 'subscription'
union
{running_with}
join subscription on subscription.id = made.of_id and subscription.public_id = made.public_id
where made.kind = 'subscription'
on conflict (shelf_import_id, kind, of_id) do nothing;

-- name: pass_formers_on
insert into import_former (
  shelf_import_id, series_id, group_id, status, notify, preferences, entries, created_at, left_at
)
select its.shelf_import_id, own.series_id, own.group_id, own.status, own.notify, own.preferences, own.entries,
  own.created_at, own.left_at
from import_former as own
join follow on follow.shelf_id = :shelf_id and follow.series_id = own.series_id
join import_made as its on its.kind = 'follow' and its.of_id = follow.id and its.public_id = follow.public_id
where own.shelf_import_id = :id and its.shelf_import_id in {other_imports}
on conflict (shelf_import_id, series_id) do nothing;

-- name: made_subscriptions
select subscription.public_id from import_made
join subscription on subscription.id = import_made.of_id and subscription.public_id = import_made.public_id
where import_made.shelf_import_id = :id and import_made.kind = 'subscription' and subscription.shelf_id = :shelf_id
  and import_made.state = cast(subscription.group_id as text) || ' ' || case when subscription.notify then '1' else '0' end
    || case when subscription.full_text then ' 1 ' else ' 0 ' end
    || coalesce(cast(subscription.poll_interval as text), '-') || ' '
    || coalesce(cast(subscription.retention as text), '-') || ' ' || subscription.name
  and not {is_passed_on}
order by subscription.id;

-- name: made_follows
select follow.public_id, follow.series_id from import_made
join follow on follow.id = import_made.of_id and follow.public_id = import_made.public_id
where import_made.shelf_import_id = :id and import_made.kind = 'follow' and follow.shelf_id = :shelf_id
  and import_made.state = cast(follow.group_id as text) || ' ' || follow.status
    || case when follow.notify then ' 1 ' else ' 0 ' end || cast(follow.preferences as text)
  and not {is_passed_on}
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

-- fragment: opening_is_left
-- It comes with a page, and unlike pages may be what it was before.
{page_is_left} and progress.opened_at is not distinct from before.left_opened_at

-- name: pass_progress_on
-- What others wrote over this one's, they wrote over what was there before it. What they left as this one had it, they
-- leave as it will be.
update import_progress as later
set was_there = later.was_there and before.was_there,
  page = case when {page_is_over} then before.page else later.page end,
  furthest_page = case when {page_is_over} then before.furthest_page else later.furthest_page end,
  device = case when {page_is_over} then before.device else later.device end,
  paged_at = case when {page_is_over} then before.paged_at else later.paged_at end,
  is_read = case when {mark_is_over} then before.is_read else later.is_read end,
  marked_at = case when {mark_is_over} then before.marked_at else later.marked_at end,
  is_bookmarked = case
    when later.is_bookmarked = before.left_is_bookmarked then before.is_bookmarked else later.is_bookmarked
  end,
  opened_at = case when {opening_is_over} then before.opened_at else later.opened_at end,
  left_page = case when {page_stays} then before.page else later.left_page end,
  left_furthest_page = case when {page_stays} then before.furthest_page else later.left_furthest_page end,
  left_paged_at = case when {page_stays} then before.paged_at else later.left_paged_at end,
  left_is_read = case when {mark_stays} then before.is_read else later.left_is_read end,
  left_marked_at = case when {mark_stays} then before.marked_at else later.left_marked_at end,
  left_is_bookmarked = case
    when progress.is_bookmarked = before.left_is_bookmarked and later.left_is_bookmarked = before.left_is_bookmarked
    then before.is_bookmarked else later.left_is_bookmarked
  end,
  left_opened_at = case when {opening_stays} then before.opened_at else later.left_opened_at end
from import_progress as before, progress
where before.shelf_import_id = :id and later.chapter_id = before.chapter_id
  and progress.shelf_id = :shelf_id and progress.chapter_id = before.chapter_id
  and later.shelf_import_id in {other_imports};

-- fragment: page_is_over
(later.page, later.furthest_page) = (before.left_page, before.left_furthest_page)
  and later.paged_at is not distinct from before.left_paged_at

-- fragment: mark_is_over
later.is_read = before.left_is_read and later.marked_at is not distinct from before.left_marked_at

-- fragment: opening_is_over
{page_is_over} and later.opened_at is not distinct from before.left_opened_at

-- fragment: page_stays
-- Also where a third one has written since: what that wrote over has become what was there before.
(later.left_page, later.left_furthest_page) = (before.left_page, before.left_furthest_page)
  and later.left_paged_at is not distinct from before.left_paged_at

-- fragment: mark_stays
{mark_is_left} and later.left_is_read = before.left_is_read
  and later.left_marked_at is not distinct from before.left_marked_at

-- fragment: opening_stays
{page_stays} and {opening_is_left} and later.left_opened_at is not distinct from before.left_opened_at

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
  opened_at = case when {opening_is_left} then before.opened_at else progress.opened_at end
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

-- name: pass_entries_on
update import_entry as later
set was_there = case
    when {entry_is_over} and later.saved = before.left_saved then before.was_there else later.was_there
  end,
  unread = case when {entry_is_over} then before.unread else later.unread end,
  read_at = case when {entry_is_over} then before.read_at else later.read_at end,
  saved = case when later.saved = before.left_saved then before.saved else later.saved end,
  left_unread = case when {entry_stays} then before.unread else later.left_unread end,
  left_read_at = case when {entry_stays} then before.read_at else later.left_read_at end,
  left_saved = case
    when before.was_there and entry.saved = before.left_saved and later.left_saved = before.left_saved
    then before.saved else later.left_saved
  end
from import_entry as before, entry
where before.shelf_import_id = :id and later.entry_id = before.entry_id and entry.id = before.entry_id
  and later.shelf_import_id <> before.shelf_import_id;

-- fragment: entry_is_over
later.unread = before.left_unread and later.read_at is not distinct from before.left_read_at

-- fragment: entry_stays
before.was_there and {entry_is_left} and later.left_unread = before.left_unread
  and later.left_read_at is not distinct from before.left_read_at

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

-- name: notes_follow
-- As entries do, which are about to say what progress says: that is not the reader's doing.
update import_entry
set left_unread = not progress.is_read, left_read_at = case when progress.is_read then cast(:now as bigint) end
from entry join progress on progress.shelf_id = entry.shelf_id and progress.chapter_id = entry.chapter_id
where entry.shelf_id = :shelf_id and entry.series_id = :series_id and entry.unread = progress.is_read
  and import_entry.entry_id = entry.id and import_entry.left_unread = entry.unread
  and import_entry.left_read_at is not distinct from entry.read_at;

-- name: remove_bookmarks
delete from bookmark
where shelf_id = :shelf_id and exists (
  select 1 from import_made
  where import_made.shelf_import_id = :id and import_made.kind = 'bookmark' and import_made.of_id = bookmark.id
    and import_made.public_id = bookmark.public_id and import_made.state = bookmark.note
);

-- name: pass_backups_on
-- What a later backup was written over is now what this one was written over.
update import_backup as later
set source_name = own.source_name, message = own.message, updated_at = own.updated_at,
  previous_import_id = own.previous_import_id
from import_backup as own
where own.shelf_import_id = :id and later.backup_series_id = own.backup_series_id
  and later.previous_import_id = own.shelf_import_id;

-- name: restore_backups
-- Of those that no later backup has written anew. They are then again of the import that had written them, if any.
update backup_series
set source_name = own.source_name, message = own.message, updated_at = own.updated_at,
  shelf_import_id = own.previous_import_id
from import_backup as own
where backup_series.shelf_id = :shelf_id and backup_series.shelf_import_id = :id
  and own.shelf_import_id = :id and own.backup_series_id = backup_series.id and own.message is not null;

-- name: remove_backups
delete from backup_series
where shelf_id = :shelf_id and shelf_import_id = :id and exists (
  select 1 from import_backup
  where import_backup.shelf_import_id = :id and import_backup.backup_series_id = backup_series.id
    and import_backup.message is null
);

-- name: pass_rest_on
-- The same of what backups say beside series.
update import_rest as later
set body = own.body, updated_at = own.updated_at, previous_import_id = own.previous_import_id
from import_rest as own
where own.shelf_import_id = :id and later.previous_import_id = own.shelf_import_id;

-- name: restore_rest
update backup_rest
set body = own.body, updated_at = own.updated_at, shelf_import_id = own.previous_import_id
from import_rest as own
where backup_rest.shelf_id = :shelf_id and backup_rest.shelf_import_id = :id
  and own.shelf_import_id = :id and own.body is not null;

-- name: remove_rest
delete from backup_rest
where shelf_id = :shelf_id and shelf_import_id = :id
  and exists (select 1 from import_rest where import_rest.shelf_import_id = :id and import_rest.body is null);

-- fragment: made_formers
select import_made.of_id from import_made
where import_made.shelf_import_id = :id and import_made.kind = 'former' and import_made.of_id = former.series_id
  and import_made.state = cast(former.left_at as text)

-- name: remove_formers
delete from former_follow as former where former.shelf_id = :shelf_id and exists ({made_formers});

-- name: forget_made_formers
-- Nor does another import restore them that has followed the series since.
delete from import_former as former where former.shelf_import_id in {other_imports} and exists ({made_formers});

-- fragment: is_in_use
-- An import that runs has looked up what it puts things into.
exists (
  select 1 from shelf_import as other
  where other.shelf_id = :shelf_id and other.id <> :id and other.status = 'running'
)

-- fragment: last_other
-- What cannot be removed yet, because others have put things into it, is removed with the last of them.
join shelf_import as heir on heir.id = (select max(id) from {other_imports} as others)

-- fragment: is_made_group
import_made.shelf_import_id = :id and import_made.kind = 'group' and import_made.of_id = shelf_group.id
  and import_made.public_id = shelf_group.public_id and import_made.state = shelf_group.name

-- name: remove_groups
-- Those that are empty again, and are called as they were.
delete from shelf_group
where shelf_id = :shelf_id and not is_default and exists (select 1 from import_made where {is_made_group})
  and not exists (select 1 from subscription where subscription.group_id = shelf_group.id)
  and not exists (select 1 from follow where follow.group_id = shelf_group.id)
  and not {is_in_use};

-- name: pass_groups_on
insert into import_made (shelf_import_id, kind, of_id, public_id, state)
select heir.id, import_made.kind, import_made.of_id, import_made.public_id, import_made.state
from import_made join shelf_group on {is_made_group} {last_other}
on conflict (shelf_import_id, kind, of_id) do nothing;

-- fragment: has_no_reader
not exists (select 1 from progress where progress.chapter_id = chapter.id)
  and not exists (select 1 from entry where entry.chapter_id = chapter.id)
  and not exists (select 1 from chapter_copy where chapter_copy.chapter_id = chapter.id)
  and not exists (select 1 from release where release.chapter_id = chapter.id)

-- name: chapters_series
-- Those of which it added the latest chapter.
select distinct chapter.series_id from import_chapter
join chapter on chapter.id = import_chapter.chapter_id
join series on series.id = chapter.series_id and series.latest_sort = chapter.number_sort
where import_chapter.shelf_import_id = :id
order by 1;

-- name: remove_chapters
delete from chapter
where id in (select chapter_id from import_chapter where shelf_import_id = :id) and {has_no_reader}
  and not {is_in_use};

-- name: pass_chapters_on
insert into import_chapter (shelf_import_id, chapter_id)
select heir.id, import_chapter.chapter_id from import_chapter {last_other}
where import_chapter.shelf_import_id = :id
on conflict (shelf_import_id, chapter_id) do nothing;

-- name: lower_latest
-- Where chapters went.
update series
set latest_number = newest.number, latest_sort = newest.number_sort
from chapter as newest
where newest.series_id = series.id and newest.number_sort < series.latest_sort
  and not exists (select 1 from series_source where series_source.series_id = series.id)
  and newest.id = (
    select chapter.id from chapter where chapter.series_id = series.id and chapter.number_sort is not null
    order by chapter.number_sort desc, chapter.id limit 1
  )
  and series.id in (select cast(value as bigint) from json_each(cast(:series as text)));

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
  )
  and not {is_in_use};

-- name: pass_series_on
insert into import_series (shelf_import_id, series_id)
select heir.id, import_series.series_id from import_series {last_other}
where import_series.shelf_import_id = :id
on conflict (shelf_import_id, series_id) do nothing;

-- Nothing is passed on to an import that is undone, and it needs no notes.

-- name: forget_progress
delete from import_progress where shelf_import_id = :id;

-- name: forget_entries
delete from import_entry where shelf_import_id = :id;

-- name: forget_made
delete from import_made where shelf_import_id = :id;

-- name: forget_formers
delete from import_former where shelf_import_id = :id;

-- name: forget_chapters
delete from import_chapter where shelf_import_id = :id;

-- name: forget_backups
delete from import_backup where shelf_import_id = :id;

-- name: forget_rest
delete from import_rest where shelf_import_id = :id;

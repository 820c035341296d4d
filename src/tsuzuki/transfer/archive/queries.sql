-- Out: every list is read in pages, by a key that an index has in order. In: what is there stays, and is not written again.

-- name: archived_person
select user_account.preferences, shelf.proxy_images, shelf.own_retention as retention,
  (select body from backup_rest where backup_rest.shelf_id = shelf.id) as backup_rest
from user_account join shelf on shelf.id = :shelf_id
where user_account.id = :user_id;

-- name: archived_feeds
select feed.id, feed.link, feed.proxy, feed.title, feed.site_url, feed.description, feed.language, feed.icon_url,
  feed.hub_url, feed.has_unstable_keys, watch.first_harvest_at is not null as is_harvested, subscription.group_id,
  subscription.name, subscription.site_url as own_site_url, subscription.suspended_at, subscription.notify,
  subscription.full_text, subscription.poll_interval, subscription.retention, subscription.created_at,
  case when coalesce(watch.validators_url, feed.link) = feed.link then watch.etag end as etag,
  case when coalesce(watch.validators_url, feed.link) = feed.link then watch.last_modified end as last_modified,
  case when coalesce(watch.last_checked_at, watch.last_full_at) is not null then watch.next_check_at end as next_check_at
from subscription
join feed on feed.id = subscription.feed_id
left join watch on watch.feed_id = feed.id
where subscription.shelf_id = :shelf_id;

-- name: archived_items
select entry.id as entry_id, item.key, item.title, item.link, item.author, item.content, item.summary, item.published_at,
  item.published_raw, item.sort_at, item.categories, item.enclosures, item.page_urls, item.image_url, item.comments_url,
  item.created_at, item.updated_at, item_full_text.content as full_content, item_full_text.error as full_error,
  item_full_text.fetched_at, entry.unread, entry.saved, entry.sort_at as entry_sort_at, entry.read_at,
  entry.created_at as entry_created_at
from entry
join item on item.id = entry.item_id
left join item_full_text on item_full_text.item_id = item.id
where entry.shelf_id = :shelf_id and entry.feed_id = :feed_id
  and (entry.sort_at, entry.id) > (cast(:at as bigint), cast(:id as bigint))
order by entry.sort_at, entry.id
limit :most;

-- name: archived_gone
-- What the feed had and the inbox has not, and what was pruned (REL-39d): a first poll elsewhere would call it news.
select key from (
  select item.key from item
  where item.feed_id = :feed_id and item.key > cast(:after as text)
    and not exists (select 1 from entry where entry.shelf_id = :shelf_id and entry.item_id = item.id)
  union
  select item_tombstone.key from item_tombstone
  where item_tombstone.feed_id = :feed_id and item_tombstone.key > cast(:after as text)
  union
  select entry_tombstone.key from entry_tombstone
  where entry_tombstone.feed_id = :feed_id and entry_tombstone.shelf_id = :shelf_id
    and entry_tombstone.key > cast(:after as text)
) as known
order by key
limit :most;

-- name: archived_series
select series.id, series.title, series.match_key, series.author, series.artist, series.description, series.cover_url,
  series.language, series.status, series.is_nsfw, series.latest_number, series.last_chapter_at,
  follow.group_id, follow.status as follow_status, follow.notify, follow.preferences, follow.created_at,
  former_follow.group_id as former_group_id, former_follow.status as former_status,
  former_follow.notify as former_notify, former_follow.preferences as former_preferences, former_follow.entries,
  former_follow.created_at as former_created_at, former_follow.left_at
from series
left join follow on follow.shelf_id = :shelf_id and follow.series_id = series.id
left join former_follow on former_follow.shelf_id = :shelf_id and former_follow.series_id = series.id
where series.id in (
  select follow.series_id from follow where follow.shelf_id = :shelf_id
  union
  select former_follow.series_id from former_follow where former_follow.shelf_id = :shelf_id
  union
  select tally.of_id from tally where tally.shelf_id = :shelf_id and tally.kind = 'chapter'
  union
  select chapter.series_id from progress join chapter on chapter.id = progress.chapter_id
  where progress.shelf_id = :shelf_id
);

-- name: mappings
select series_source.id, series_source.source_id, source.slug, series_source.source_key, series_source.url,
  series_source.real_url, series_source.is_active, series_source.title, series_source.author, series_source.artist,
  series_source.description, series_source.genres, series_source.status, series_source.cover_url,
  series_source.update_strategy, watch.first_harvest_at is not null as is_harvested
from series_source
join source on source.id = series_source.source_id
left join watch on watch.series_source_id = series_source.id
where series_source.series_id = :series_id
order by series_source.id;

-- name: list_sources
select id, slug, name, base_url, connector, config, is_enabled from source order by id;

-- name: archived_chapters
select chapter.id, chapter.key, chapter.number, chapter.volume, chapter.title, chapter.published_at,
  chapter.first_seen_at, entry.unread, entry.saved, entry.sort_at, entry.read_at, entry.created_at, progress.page,
  progress.furthest_page, progress.is_read, progress.is_bookmarked, progress.device, progress.paged_at,
  progress.marked_at, progress.opened_at, progress.updated_at
from chapter
left join entry on entry.shelf_id = :shelf_id and entry.chapter_id = chapter.id
left join progress on progress.shelf_id = :shelf_id and progress.chapter_id = chapter.id
where chapter.series_id = :series_id and chapter.key > cast(:after as text)
order by chapter.key
limit :most;

-- name: archived_releases
select release.chapter_id, source.slug, series_source.source_key as series_key, release.key, release.source_key,
  release.url, release.real_url, release.title, release.language, release.group_name, release.published_at,
  release.source_order, release.page_count, release.is_available, release.is_readable, release.first_seen_at,
  release.last_seen_at
from release
join series_source on series_source.id = release.series_source_id
join source on source.id = series_source.source_id
where release.chapter_id in (select cast(value ->> 0 as bigint) from json_each(cast(:rows as text)));

-- name: archived_bookmarks
select bookmark.id, bookmark.link, bookmark.title, bookmark.content, bookmark.feed_name, bookmark.note,
  bookmark.published_at, bookmark.created_at, feed.link as feed_link, feed.proxy as feed_proxy, item.key as item_key
from bookmark
left join subscription on subscription.shelf_id = bookmark.shelf_id and subscription.feed_id = bookmark.feed_id
left join feed on feed.id = subscription.feed_id
left join entry on entry.shelf_id = bookmark.shelf_id and entry.item_id = bookmark.item_id and entry.feed_id = feed.id
left join item on item.id = entry.item_id
where bookmark.shelf_id = :shelf_id
  and (bookmark.created_at, bookmark.id) > (cast(:at as bigint), cast(:id as bigint))
order by bookmark.created_at, bookmark.id
limit :most;

-- name: has_shelf
select exists (select 1 from shelf where shelf.id = :shelf_id) as has_shelf;

-- name: is_bare
-- A shelf that nobody has used yet: it takes the name of the default group too.
select not exists (select 1 from subscription where subscription.shelf_id = :shelf_id)
  and not exists (select 1 from follow where follow.shelf_id = :shelf_id)
  and not exists (select 1 from shelf_group where shelf_group.shelf_id = :shelf_id and not shelf_group.is_default)
  as is_bare;

-- name: place_group
update shelf_group set position = :position where id = :id;

-- name: proxy_images
update shelf set proxy_images = true, updated_at = :now where id = :shelf_id and not proxy_images;

-- name: owns_shelf
select exists (
  select 1 from shelf_member
  where shelf_member.shelf_id = :shelf_id and shelf_member.user_id = :user_id and shelf_member.role = 'owner'
) as yes;

-- name: has_room_for_channel
-- Also where it has one of this name, which stays as it is.
select (select count(*) from channel where channel.shelf_id = :shelf_id) < cast(:most as integer)
  or exists (select 1 from channel where channel.shelf_id = :shelf_id and channel.name = :name) as yes;

-- name: keep_read
update shelf set own_retention = :retention, updated_at = :now where id = :shelf_id and own_retention is null;

-- name: put_backup_rest
insert into backup_rest (shelf_id, body, updated_at, shelf_import_id) values (:shelf_id, :body, :now, :import_id)
on conflict (shelf_id) do update set
  body = excluded.body, updated_at = excluded.updated_at, shelf_import_id = excluded.shelf_import_id
where backup_rest.body <> excluded.body;

-- name: add_feed
-- R70: a feed that is known is shared and stays as it is; a repeat returns no row.
insert into feed (
  link, proxy, title, site_url, description, language, icon_url, hub_url, has_unstable_keys, created_at, updated_at
)
values (
  :link, :proxy, :title, :site_url, :description, :language, :icon_url, :hub_url, :has_unstable_keys, :now, :now
)
on conflict (link, proxy) do nothing
returning id;

-- name: add_subscription
insert into subscription (
  public_id, shelf_id, feed_id, group_id, name, site_url, suspended_at, notify, full_text, poll_interval, retention,
  created_at, updated_at
)
values (
  :public_id, :shelf_id, :feed_id, :group_id, :name, :site_url, :suspended_at, :notify, :full_text, :poll_interval,
  :retention, :created_at, :now
)
returning id;

-- fragment: others_have
-- With those who may still come back to it as it was.
(exists (
  select 1 from subscription where subscription.feed_id = :feed_id and subscription.shelf_id <> :shelf_id
) or exists (
  select 1 from former_subscription
  where former_subscription.feed_id = :feed_id and former_subscription.shelf_id <> :shelf_id
))

-- name: others_have_series
select exists (
  select 1 from follow where follow.series_id = :series_id and follow.shelf_id <> :shelf_id
) as is_shared;

-- name: add_full_texts
insert into item_full_text (item_id, content, error, fetched_at)
select cast(value ->> 'item_id' as bigint), value ->> 'content', value ->> 'error', cast(value ->> 'fetched_at' as bigint)
from json_each(cast(:rows as text))
where true
on conflict (item_id) do nothing;

-- fragment: entry_values
cast(value ->> 'unread' as boolean), cast(value ->> 'saved' as boolean), cast(value ->> 'sort_at' as bigint),
  cast(value ->> 'read_at' as bigint), cast(value ->> 'created_at' as bigint),
  case when cast(:now as bigint) > cast(value ->> 'created_at' as bigint) then cast(:now as bigint) end

-- fragment: both_entries
unread = entry.unread and excluded.unread, saved = entry.saved or excluded.saved,
  read_at = coalesce(entry.read_at, excluded.read_at)
where (entry.unread and not excluded.unread) or (excluded.saved and not entry.saved)

-- name: add_gone
-- REL-39d, for this shelf alone.
insert into entry_tombstone (shelf_id, feed_id, key, at)
select cast(:shelf_id as bigint), cast(:feed_id as bigint), value ->> 0, cast(:now as bigint)
from json_each(cast(:rows as text))
where not exists (select 1 from item where item.feed_id = :feed_id and item.key = value ->> 0)
on conflict (feed_id, key, shelf_id) do nothing;

-- name: add_missed
-- What came here after the archive was made, to a feed that this shelf did not follow then.
insert into entry (shelf_id, feed_id, item_id, sort_at, created_at)
select cast(:shelf_id as bigint), feed_id, id, sort_at, cast(:now as bigint)
from (
  select id, feed_id, sort_at from item
  where feed_id = :feed_id and sort_at > :since order by sort_at desc, id desc limit :most
) as newest
where true
order by id
on conflict (shelf_id, item_id) where item_id is not null do nothing;

-- name: feed_is_harvested
-- R8: its back-catalogue came with the archive, so what the next poll finds is news. Not where others wait for theirs.
update watch set first_harvest_at = :now
where feed_id = :feed_id and first_harvest_at is null and not {others_have};

-- name: mapping_is_harvested
update watch set first_harvest_at = :now
where series_source_id = :id and first_harvest_at is null and not exists (
  select 1 from follow join series_source on series_source.series_id = follow.series_id
  where series_source.id = :id and follow.shelf_id <> :shelf_id
);

-- name: series_at
select series_source.series_id from series_source
join source on source.id = series_source.source_id
where source.slug = :slug and series_source.source_key = :key;

-- name: sourceless_series
-- A series that no source has any more is known by its name, among those that this shelf has something of.
select series.id from series
where series.match_key = :match_key
  and not exists (select 1 from series_source where series_source.series_id = series.id)
  and (
    exists (select 1 from follow where follow.shelf_id = :shelf_id and follow.series_id = series.id)
    or exists (select 1 from former_follow where former_follow.shelf_id = :shelf_id and former_follow.series_id = series.id)
    or exists (
      select 1 from chapter join progress on progress.chapter_id = chapter.id and progress.shelf_id = :shelf_id
      where chapter.series_id = series.id
    )
    or exists (select 1 from entry where entry.shelf_id = :shelf_id and entry.series_id = series.id)
  )
order by series.id;

-- name: add_series
insert into series (
  public_id, title, match_key, author, artist, description, cover_url, language, status, is_nsfw, latest_number,
  latest_sort, last_chapter_at, created_at, updated_at
)
values (
  :public_id, :title, :match_key, :author, :artist, :description, :cover_url, :language, :status, :is_nsfw,
  :latest_number, :latest_sort, :last_chapter_at, :now, :now
)
returning id;

-- name: add_mapping
insert into series_source (
  series_id, source_id, source_key, url, real_url, is_active, title, author, artist, description, genres, status,
  cover_url, update_strategy, created_at, updated_at
)
values (
  :series_id, :source_id, :source_key, :url, :real_url, :is_active, :title, :author, :artist, :description, :genres,
  :status, :cover_url, :update_strategy, :now, :now
)
on conflict (source_id, source_key) do nothing
returning id;

-- name: has_former
select exists (
  select 1 from former_follow where former_follow.shelf_id = :shelf_id and former_follow.series_id = :series_id
) as is_there;

-- name: add_former
insert into former_follow (
  shelf_id, series_id, group_id, status, notify, preferences, entries, created_at, left_at
)
values (
  :shelf_id, :series_id, :group_id, :status, :notify, :preferences, :entries, :created_at, :left_at
);

-- name: chapters_by_key
select id, key, title from chapter
where series_id = :series_id and key in (select value ->> 0 from json_each(cast(:rows as text)));

-- name: add_chapters
insert into chapter (series_id, key, number, number_sort, volume, title, published_at, first_seen_at, updated_at)
select
  cast(:series_id as bigint), value ->> 'key', value ->> 'number', cast(value ->> 'number_sort' as bigint),
  value ->> 'volume', value ->> 'title', cast(value ->> 'published_at' as bigint),
  cast(value ->> 'first_seen_at' as bigint), cast(:now as bigint)
from json_each(cast(:rows as text))
where true
on conflict (series_id, key) do nothing
returning id, key, title;

-- name: add_releases
insert into release (
  chapter_id, series_source_id, key, source_key, url, real_url, title, language, group_name, published_at, source_order,
  page_count, is_available, is_readable, content_hash, first_seen_at, last_seen_at
)
select
  chapter.id, cast(value ->> 'series_source_id' as bigint), value ->> 'key', value ->> 'source_key', value ->> 'url',
  value ->> 'real_url', value ->> 'title', value ->> 'language', value ->> 'group',
  cast(value ->> 'published_at' as bigint), cast(value ->> 'source_order' as bigint),
  cast(value ->> 'page_count' as bigint), cast(value ->> 'is_available' as boolean),
  cast(value ->> 'is_readable' as boolean), unhex(value ->> 'content_hash'),
  cast(value ->> 'first_seen_at' as bigint), cast(value ->> 'last_seen_at' as bigint)
from json_each(cast(:rows as text))
cross join chapter
where chapter.series_id = :series_id and chapter.key = value ->> 'chapter_key'
on conflict (series_source_id, key) do nothing;

-- name: raise_latest
-- R6. When the last chapter of a series without a source came is not known: it has no news.
update series
set latest_number = :number, latest_sort = :number_sort, updated_at = :now,
  last_chapter_at = case
    when exists (select 1 from series_source where series_source.series_id = series.id) then cast(:now as bigint)
    else last_chapter_at
  end
where id = :series_id and (latest_sort is null or latest_sort < :number_sort);

-- name: put_chapter_entries
insert into entry (shelf_id, series_id, chapter_id, unread, saved, sort_at, read_at, created_at, appeared_at)
select cast(:shelf_id as bigint), cast(:series_id as bigint), cast(value ->> 'chapter_id' as bigint), {entry_values}
from json_each(cast(:rows as text))
where true
order by cast(value ->> 'chapter_id' as bigint)
on conflict (shelf_id, chapter_id) where chapter_id is not null do update set {both_entries};

-- fragment: page_values
cast(value ->> 'page' as bigint), cast(value ->> 'furthest_page' as bigint), cast(value ->> 'is_read' as boolean),
  cast(value ->> 'is_bookmarked' as boolean), value ->> 'device', cast(value ->> 'paged_at' as bigint),
  cast(value ->> 'marked_at' as bigint), cast(value ->> 'opened_at' as bigint)

-- name: put_progress
-- Read, bookmarked and furthest of both; of the page, what was said last.
insert into progress (
  shelf_id, chapter_id, page, furthest_page, is_read, is_bookmarked, device, paged_at, marked_at, opened_at, updated_at
)
select
  cast(:shelf_id as bigint), cast(value ->> 'chapter_id' as bigint), {page_values}, cast(value ->> 'updated_at' as bigint)
from json_each(cast(:rows as text))
where true
order by cast(value ->> 'chapter_id' as bigint)
on conflict (shelf_id, chapter_id) do update set
  page = case when {is_later} then excluded.page else progress.page end,
  device = case when {is_later} then excluded.device else progress.device end,
  paged_at = case when {is_later} then excluded.paged_at else progress.paged_at end,
  opened_at = case when {is_later} then excluded.opened_at else progress.opened_at end,
  furthest_page = case
    when excluded.furthest_page > progress.furthest_page then excluded.furthest_page else progress.furthest_page
  end,
  marked_at = case when excluded.is_read and not progress.is_read then excluded.marked_at else progress.marked_at end,
  is_read = progress.is_read or excluded.is_read,
  is_bookmarked = progress.is_bookmarked or excluded.is_bookmarked;

-- fragment: is_later
excluded.paged_at is not null and (progress.paged_at is null or progress.paged_at < excluded.paged_at)

-- name: has_bookmark
-- R71; what has neither a link nor an item is known by all that it says.
select exists (
  select 1 from bookmark
  where bookmark.shelf_id = :shelf_id and bookmark.link = :link and (
    bookmark.link <> ''
    or bookmark.item_id = cast(:item_id as bigint)
    or (
      bookmark.title = :title and bookmark.feed_name = :feed_name and bookmark.created_at = :created_at
      and bookmark.item_id is null and cast(:item_id as bigint) is null
    )
  )
) as is_there;

-- name: add_channel
insert into channel (public_id, shelf_id, member_id, kind, name, config, is_enabled, created_at, updated_at)
values (
  :public_id, :shelf_id,
  (select shelf_member.id from shelf_member where shelf_member.shelf_id = :shelf_id and shelf_member.user_id = :user_id),
  :kind, :name, :config, false, :now, :now
)
on conflict (shelf_id, name) do nothing;

-- The log of an import. A state is what of a row its reader changes: another one is the reader's own.

-- fragment: follow_state
cast(follow.group_id as text) || ' ' || follow.status || case when follow.notify then ' 1 ' else ' 0 ' end
  || cast(follow.preferences as text)

-- fragment: subscription_state
cast(subscription.group_id as text) || ' ' || case when subscription.notify then '1' else '0' end
  || case when subscription.full_text then ' 1 ' else ' 0 ' end || coalesce(cast(subscription.poll_interval as text), '-')
  || ' ' || coalesce(cast(subscription.retention as text), '-') || ' ' || subscription.name

-- fragment: noted_again
on conflict (shelf_import_id, kind, of_id) do update set public_id = excluded.public_id, state = excluded.state

-- name: note_follow
insert into import_made (shelf_import_id, kind, of_id, public_id, state)
select cast(:import_id as bigint), 'follow', follow.id, follow.public_id, {follow_state}
from follow where follow.id = :of_id
{noted_again};

-- name: note_subscription
insert into import_made (shelf_import_id, kind, of_id, public_id, state)
select cast(:import_id as bigint), 'subscription', subscription.id, subscription.public_id, {subscription_state}
from subscription where subscription.id = :of_id
{noted_again};

-- name: note_group
insert into import_made (shelf_import_id, kind, of_id, public_id, state)
select cast(:import_id as bigint), 'group', shelf_group.id, shelf_group.public_id, shelf_group.name
from shelf_group where shelf_group.id = :of_id
{noted_again};

-- name: note_bookmark
insert into import_made (shelf_import_id, kind, of_id, public_id, state)
select cast(:import_id as bigint), 'bookmark', bookmark.id, bookmark.public_id, bookmark.note
from bookmark where bookmark.id = :of_id
{noted_again};

-- name: note_former
insert into import_made (shelf_import_id, kind, of_id, state)
select cast(:import_id as bigint), 'former', series_id, cast(left_at as text)
from former_follow where shelf_id = :shelf_id and series_id = :of_id
{noted_again};

-- name: note_backup
-- That there was none before; where there was, that is noted.
insert into import_backup (shelf_import_id, backup_series_id) values (:import_id, :of_id)
on conflict (shelf_import_id, backup_series_id) do nothing;

-- name: note_series
insert into import_series (shelf_import_id, series_id) values (:import_id, :series_id)
on conflict (shelf_import_id, series_id) do nothing;

-- name: note_chapters
-- A source lists those of its series; these would be there for ever.
insert into import_chapter (shelf_import_id, chapter_id)
select cast(:import_id as bigint), cast(value ->> 0 as bigint) from json_each(cast(:rows as text))
where not exists (select 1 from series_source where series_source.series_id = :series_id)
on conflict (shelf_import_id, chapter_id) do nothing;

-- name: keep_former
-- Once more where the reader has left what it made: that is the reader's own.
insert into import_former (
  shelf_import_id, series_id, group_id, status, notify, preferences, entries, created_at, left_at
)
select cast(:import_id as bigint), series_id, group_id, status, notify, preferences, entries, created_at, left_at
from former_follow where shelf_id = :shelf_id and series_id = :series_id
on conflict (shelf_import_id, series_id) do update set
  group_id = excluded.group_id, status = excluded.status, notify = excluded.notify,
  preferences = excluded.preferences, entries = excluded.entries, created_at = excluded.created_at,
  left_at = excluded.left_at;

-- name: was_put
-- Whether this import had written it, and another one has since: one that was cut off and goes on leaves it alone.
select 1 from backup_series
join import_backup
  on import_backup.backup_series_id = backup_series.id and import_backup.shelf_import_id = :import_id
where backup_series.shelf_id = :shelf_id and backup_series.source_uid = :source and backup_series.url = :url
  and backup_series.shelf_import_id is distinct from import_backup.shelf_import_id;

-- name: was_rest_put
select 1 from backup_rest join import_rest on import_rest.shelf_import_id = :import_id
where backup_rest.shelf_id = :shelf_id and backup_rest.shelf_import_id is distinct from import_rest.shelf_import_id;

-- name: keep_backup
insert into import_backup (
  shelf_import_id, backup_series_id, source_name, message, updated_at, previous_import_id
)
select cast(:import_id as bigint), id, source_name, message, updated_at, shelf_import_id from backup_series
where shelf_id = :shelf_id and source_uid = :source and url = :url
  and shelf_import_id is distinct from cast(:import_id as bigint)
  and (message <> :message or source_name <> :source_name)
on conflict (shelf_import_id, backup_series_id) do nothing;

-- name: keep_rest
insert into import_rest (shelf_import_id, body, updated_at, previous_import_id)
select cast(:import_id as bigint), backup_rest.body, backup_rest.updated_at, backup_rest.shelf_import_id
from shelf left join backup_rest on backup_rest.shelf_id = shelf.id
where shelf.id = :shelf_id and (backup_rest.body is null or backup_rest.body <> :body)
on conflict (shelf_import_id) do nothing;

-- fragment: page_is_own
(excluded.page, excluded.furthest_page) <> (import_progress.left_page, import_progress.left_furthest_page)
  or excluded.paged_at is distinct from import_progress.left_paged_at

-- fragment: mark_is_own
excluded.is_read <> import_progress.left_is_read or excluded.marked_at is distinct from import_progress.left_marked_at

-- name: progress_before
select progress.chapter_id, {progress_columns}
from json_each(cast(:rows as text)) as wanted
cross join {wanted_progress};

-- fragment: progress_columns
progress.page, progress.furthest_page, progress.is_read, progress.is_bookmarked, progress.device, progress.paged_at,
  progress.marked_at, progress.opened_at

-- fragment: wanted_progress
progress
where progress.shelf_id = :shelf_id and progress.chapter_id = cast(wanted.value ->> 'chapter_id' as bigint)

-- fragment: progress_differs
(progress.page, progress.furthest_page, progress.is_read, progress.is_bookmarked) <> (
    cast(value ->> 'page' as bigint), cast(value ->> 'furthest_page' as bigint), cast(value ->> 'is_read' as boolean),
    cast(value ->> 'is_bookmarked' as boolean)
  )
  or progress.paged_at is distinct from cast(value ->> 'paged_at' as bigint)
  or progress.marked_at is distinct from cast(value ->> 'marked_at' as bigint)
  or progress.opened_at is distinct from cast(value ->> 'opened_at' as bigint)

-- name: note_progress
-- From how it was (rows) and how it is. What the import left as it was needs no undo: a repeat notes nothing. An import
-- that was cut off goes on under the same id: what has changed since then, its reader did.
insert into import_progress (
  shelf_import_id, chapter_id, was_there, page, furthest_page, is_read, is_bookmarked, device, paged_at, marked_at,
  opened_at, left_page, left_furthest_page, left_is_read, left_is_bookmarked, left_paged_at, left_marked_at,
  left_opened_at
)
select
  cast(:import_id as bigint), progress.chapter_id, cast(value ->> 'was_there' as boolean), {page_values}, progress.page,
  progress.furthest_page, progress.is_read, progress.is_bookmarked, progress.paged_at, progress.marked_at,
  progress.opened_at
from json_each(cast(:rows as text)) as wanted
cross join {wanted_progress}
  and (not cast(value ->> 'was_there' as boolean) or {progress_differs})
on conflict (shelf_import_id, chapter_id) do update set
  page = case when {page_is_own} then excluded.page else import_progress.page end,
  furthest_page = case when {page_is_own} then excluded.furthest_page else import_progress.furthest_page end,
  device = case when {page_is_own} then excluded.device else import_progress.device end,
  paged_at = case when {page_is_own} then excluded.paged_at else import_progress.paged_at end,
  is_read = case when {mark_is_own} then excluded.is_read else import_progress.is_read end,
  marked_at = case when {mark_is_own} then excluded.marked_at else import_progress.marked_at end,
  is_bookmarked = case
    when excluded.is_bookmarked <> import_progress.left_is_bookmarked
    then excluded.is_bookmarked else import_progress.is_bookmarked
  end,
  opened_at = case
    when excluded.opened_at is distinct from import_progress.left_opened_at
    then excluded.opened_at else import_progress.opened_at
  end,
  left_page = excluded.left_page, left_furthest_page = excluded.left_furthest_page,
  left_is_read = excluded.left_is_read, left_is_bookmarked = excluded.left_is_bookmarked,
  left_paged_at = excluded.left_paged_at, left_marked_at = excluded.left_marked_at,
  left_opened_at = excluded.left_opened_at;

-- name: item_entries
select entry.id as entry_id, entry.unread, entry.saved, entry.read_at from json_each(cast(:rows as text))
cross join entry
where entry.shelf_id = :shelf_id and entry.item_id = cast(value ->> 0 as bigint);

-- name: chapter_entries
select entry.id as entry_id, entry.unread, entry.saved, entry.read_at from json_each(cast(:rows as text))
cross join entry
where entry.shelf_id = :shelf_id and entry.chapter_id = cast(value ->> 0 as bigint);

-- fragment: entry_is_own
excluded.unread <> import_entry.left_unread or excluded.read_at is distinct from import_entry.left_read_at

-- name: note_entries
-- What changed. As of progress: what has changed since an import was cut off, its reader did.
insert into import_entry (
  shelf_import_id, entry_id, was_there, unread, saved, read_at, left_unread, left_saved, left_read_at
)
select cast(:import_id as bigint), cast(value ->> 'entry_id' as bigint), cast(value ->> 'was_there' as boolean),
  cast(value ->> 'unread' as boolean), cast(value ->> 'saved' as boolean), cast(value ->> 'read_at' as bigint),
  cast(value ->> 'left_unread' as boolean), cast(value ->> 'left_saved' as boolean),
  cast(value ->> 'left_read_at' as bigint)
from json_each(cast(:rows as text))
where true
on conflict (shelf_import_id, entry_id) do update set
  was_there = import_entry.was_there or {entry_is_own} or excluded.saved <> import_entry.left_saved,
  unread = case when {entry_is_own} then excluded.unread else import_entry.unread end,
  read_at = case when {entry_is_own} then excluded.read_at else import_entry.read_at end,
  saved = case when excluded.saved <> import_entry.left_saved then excluded.saved else import_entry.saved end,
  left_unread = excluded.left_unread, left_saved = excluded.left_saved, left_read_at = excluded.left_read_at;

-- name: series_titled
-- Of a list that names neither source nor author: what the shelf follows under that title.
select series.id from follow join series on series.id = follow.series_id
where follow.shelf_id = :shelf_id and substr(series.match_key, 1, length(:title_key)) = :title_key
order by series.id;

-- name: series_of_backup
select series_id from backup_series where shelf_id = :shelf_id and source_uid = :source and url = :url;

-- name: put_backup
-- The newest backup counts; one that says the same changes nothing, and returns no row.
insert into backup_series (
  shelf_id, series_id, source_uid, url, source_name, message, updated_at, shelf_import_id
)
values (:shelf_id, :series_id, :source, :url, :source_name, :message, :now, :import_id)
on conflict (shelf_id, source_uid, url) do update set
  source_name = excluded.source_name, message = excluded.message, updated_at = excluded.updated_at,
  shelf_import_id = excluded.shelf_import_id
where backup_series.message <> excluded.message or backup_series.source_name <> excluded.source_name
returning id;

-- name: backups_of
select source_uid as source, url, source_name, message from backup_series
where shelf_id = :shelf_id and series_id = :series_id
order by source_uid, url;

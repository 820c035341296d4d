-- fragment: manga
select
  series_source.id, series_source.series_id, series.public_id as series_public_id, series_source.source_id,
  series_source.source_key, series_source.url, series_source.real_url, series_source.title, series_source.author,
  series_source.artist, series_source.description, series_source.genres, series_source.status, series_source.cover_url,
  series.is_nsfw or source.is_nsfw as is_nsfw, series_source.is_active, series_source.is_initialized,
  series_source.update_strategy, series_source.listed_at, series_source.details_fetched_at,
  series_source.chapters_fetched_at, series_source.cover_fetched_at, source.uid as source_uid,
  follow.created_at as in_library_at
from series_source
join series on series.id = series_source.series_id
join source on source.id = series_source.source_id
left join follow on follow.series_id = series_source.series_id and follow.shelf_id = cast(:shelf_id as bigint)

-- name: find_manga
-- inline: by primary keys
{manga}
where series_source.id = :id;

-- name: list_manga
-- In the order of the rows: R60, as the source gave it.
{manga}
join json_each(cast(:rows as text)) on series_source.id = cast(value ->> 'id' as bigint)
order by cast(value ->> 'place' as bigint);

-- name: find_listing
-- inline: by primary key
select series_source_ids, has_next, fetched_at from listing
where source_id = :source_id and kind = :kind and page = :page and query = :query and filters = :filters;

-- name: save_listing
insert into listing (source_id, kind, page, query, filters, series_source_ids, has_next, fetched_at)
values (:source_id, :kind, :page, :query, :filters, :series_source_ids, :has_next, :now)
on conflict (source_id, kind, page, query, filters) do update set
  series_source_ids = excluded.series_source_ids, has_next = excluded.has_next, fetched_at = excluded.fetched_at;

-- name: forget_listings
-- What nobody has asked for in a long time; it is asked for again like anything cold.
delete from listing where fetched_at < :before;

-- name: note_source
-- What a connector says of itself may change with its version; name and language are the source's own (R9).
update source set is_nsfw = :is_nsfw, supports_latest = :supports_latest, updated_at = :now
where id = :id and (is_nsfw <> :is_nsfw or supports_latest <> :supports_latest);

-- name: listed_series
-- Which of these are known: by the source's key, else by their address, as a person may have mapped them.
select value ->> 'key' as key, coalesce(
  (
    select series_source.id from series_source
    where series_source.source_id = :source_id and series_source.source_key = value ->> 'key'
  ),
  (
    select min(series_source.id) from series_source
    where series_source.source_id = :source_id and series_source.url = value ->> 'url'
  )
) as id
from json_each(cast(:rows as text));

-- name: touch_listed
-- R62: a list is sparse. What details said stays; only an address is the list's to change (R5).
update series_source
set url = listed.url, listed_at = :now,
  title = case when series_source.is_initialized or listed.title = '' then series_source.title else listed.title end,
  cover_url = case
    when series_source.is_initialized then coalesce(series_source.cover_url, listed.cover_url)
    else coalesce(listed.cover_url, series_source.cover_url)
  end
from (
  select
    cast(value ->> 'id' as bigint) as id, value ->> 'url' as url, value ->> 'title' as title,
    value ->> 'cover_url' as cover_url
  from json_each(cast(:rows as text))
) as listed
where series_source.id = listed.id;

-- name: suspend_unfollowed
-- I5: found by browsing, and not polled until somebody follows it.
update watch set suspended_at = :now, suspended_reason = :reason where series_source_id = :series_source_id;

-- name: replace_rest_reason
update watch set suspended_reason = :by where series_source_id = :id and suspended_reason = :reason;

-- name: save_details
-- R61, R62: silence never blanks what is known; the list's freshness is another column.
update series_source
set title = case when :title = '' then title else :title end, author = coalesce(:author, author),
  artist = coalesce(:artist, artist), description = coalesce(:description, description),
  genres = case when :has_genres then {as_json} else genres end,
  status = case when :status = 0 then status else :status end, cover_url = coalesce(:cover_url, cover_url),
  real_url = coalesce(:real_url, real_url), update_strategy = coalesce(:update_strategy, update_strategy), is_initialized = true, details_fetched_at = :now, updated_at = :now
where id = :id;

-- fragment: as_json
:genres

-- name: describe_series
-- What nobody knew yet; a status may move on, and what is for adults on one source is for adults.
update series
set author = coalesce(author, :author), artist = coalesce(artist, :artist), cover_url = coalesce(cover_url, :cover_url),
  description = coalesce(description, :description), language = coalesce(language, :language),
  status = case when :status = 0 then status else :status end, is_nsfw = is_nsfw or :is_nsfw,
  match_key = case when author is null then :match_key else match_key end, updated_at = :now
where id = :id;

-- name: lock_unshared_series
-- A series that only this source has, without chapters and without anybody's state. One writer at a time on SQLite.
select series.id from series
where {lonely};

-- fragment: lonely
series.id = :id
  and not exists (
    select 1 from series_source where series_source.series_id = series.id and series_source.id <> :series_source_id
  )
  and not exists (select 1 from chapter where chapter.series_id = series.id)
  and not exists (select 1 from follow where follow.series_id = series.id)
  and not exists (
    select 1 from watch where watch.series_source_id = :series_source_id and watch.first_harvest_at is not null
  )

-- name: chapter_target
-- What a refresh of a chapter list needs to know.
select
  series_source.id as series_source_id, series_source.series_id, watch.id as watch_id, watch.priority,
  watch.first_harvest_at, exists (select 1 from release where release.series_source_id = series_source.id) as has_content
from series_source join watch on watch.series_source_id = series_source.id
where series_source.id = :id;

-- name: chapters_fetched
update series_source set chapters_fetched_at = :now where id = :id;

-- name: harvested
-- R8: from now on what is new is news.
update watch set first_harvest_at = :now where series_source_id = :series_source_id and first_harvest_at is null;

-- name: chapters_age
-- inline: by primary key
-- A poll reads the same list: whichever read it last counts.
select
  case
    when watch.last_success_at is null or series_source.chapters_fetched_at > watch.last_success_at
    then series_source.chapters_fetched_at else watch.last_success_at
  end as fetched_at
from series_source left join watch on watch.series_source_id = series_source.id
where series_source.id = :id;

-- name: list_releases
-- R11: the newest first. I8: progress is the asking shelf's.
select
  release.id, release.chapter_id, chapter.number, chapter.volume,
  case when release.title = '' then chapter.title else release.title end as title, release.url, release.real_url,
  release.language, release.group_name, release.published_at, release.source_order, release.page_count,
  release.first_seen_at, release.pages_fetched_at, release.is_available, release.is_readable,
  coalesce(progress.is_read, false) as is_read, coalesce(progress.page, 0) as last_page_read,
  coalesce(progress.is_bookmarked, false) as is_bookmarked, progress.updated_at as last_read_at
from release
join chapter on chapter.id = release.chapter_id
left join progress on progress.chapter_id = release.chapter_id and progress.shelf_id = :shelf_id
where release.series_source_id = :series_source_id
order by release.source_order desc, release.id desc;

-- name: find_release
-- inline: by primary keys
select
  release.id, release.chapter_id, release.series_source_id, series_source.source_id, release.url, release.real_url,
  release.page_count, release.pages_fetched_at, release.is_readable
from release join series_source on series_source.id = release.series_source_id
where release.id = :id;

-- name: list_pages
select position, url, image_url from page where release_id = :release_id order by position;

-- name: resolve_image
-- Where `pages` had none. R66: never for addresses that expire.
update page set image_url = :image_url where release_id = :release_id and position = :position;

-- name: list_meta
select key, value from source_meta where source_id = :source_id order by key;

-- name: set_meta
insert into source_meta (source_id, key, value) values (:source_id, :key, :value)
on conflict (source_id, key) do update set value = excluded.value;

-- name: drop_meta
delete from source_meta where source_id = :source_id and key = :key;

-- One call for all who ask ----------------------------------------------------------------------------------

-- name: take_lock
-- Free, left by somebody who died, or failed for others than us: whoever waited for a call gets its failure.
insert into call_lock (key, holder, until) values (:key, :holder, :until)
on conflict (key) do update set holder = excluded.holder, until = excluded.until, failure = null
where call_lock.until <= :now or (call_lock.failure is not null and call_lock.holder <> :waited_for)
returning holder;

-- name: find_lock
-- inline: by primary key
select holder, failure, until from call_lock where key = :key;

-- name: renew_lock
update call_lock set until = :until where key = :key and holder = :holder and failure is null;

-- name: drop_lock
delete from call_lock where key = :key and holder = :holder;

-- name: fail_lock
update call_lock set failure = :failure, until = :until where key = :key and holder = :holder;

-- name: forget_locks
delete from call_lock where until < :before;

-- An answer closes breakers ----------------------------------------------------------------------------------

-- name: broken_watches
-- By watch_broken, of which there are few: asked after every successful call of a source.
select watch.id, watch.last_release_at, watch.poll_floor,
  (select count(*) from follow where follow.series_id = series_source.series_id) as followers
from {by_broken}
join series_source on series_source.id = watch.series_source_id
where watch.consecutive_failures >= 5 and watch.series_source_id is not null and watch.suspended_at is null
  and series_source.source_id = :source_id
order by watch.id limit :most;

-- fragment: by_broken
watch indexed by watch_broken

-- name: close_breakers
-- R99: closed, and looked at sooner, never later. Not 0: it has not answered for itself yet, and who was told that it
-- broke is told when it does. Who polls one now says how it is.
update watch
set consecutive_failures = 1, priority = new.priority, next_check_why = 'the source answers again',
  next_check_at = case
    when watch.retry_after_until > new.next_check_at and watch.retry_after_until < watch.next_check_at
      then watch.retry_after_until
    when watch.retry_after_until > new.next_check_at or new.next_check_at > watch.next_check_at then watch.next_check_at
    else new.next_check_at
  end
from (
  select cast(value ->> 'id' as bigint) as id, cast(value ->> 'next_check_at' as bigint) as next_check_at,
    cast(value ->> 'priority' as bigint) as priority
  from json_each(cast(:rows as text))
) as new
where watch.id = new.id and {closable}
returning watch.id;

-- fragment: closable
watch.consecutive_failures >= 5 and watch.suspended_at is null
  and (watch.lease_until is null or watch.lease_until <= :now)

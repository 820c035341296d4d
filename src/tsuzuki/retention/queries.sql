-- What is found here is read outside of transactions; whoever removes it asks again, in small ones.

-- fragment: wanted
-- The nearest setting: the feed's, the shelf's, the server's. 0 is for ever.
nullif(coalesce(subscription.retention, shelf.own_retention, cast(:keep_read as bigint)), 0)

-- fragment: kept_for
-- Never longer than the plan. Null is for ever: no age is greater.
case when {wanted} <= coalesce(shelf.retention, {wanted}) then {wanted} else shelf.retention end

-- fragment: is_read
-- By the index entry_read.
not entry.unread and not entry.saved and entry.feed_id is not null

-- fragment: since
coalesce(entry.read_at, entry.created_at)

-- fragment: is_kept
(
  exists (select 1 from bookmark where bookmark.shelf_id = entry.shelf_id and bookmark.item_id = entry.item_id)
  or {is_tagged}
)

-- fragment: is_tagged
-- By itself, and not by its feed or series.
exists (
  select 1 from tagging join tag on tag.id = tagging.tag_id
  where tagging.item_id = entry.item_id and tag.shelf_id = entry.shelf_id and tag.deleted_at is null
)

-- fragment: old_entries
subscription
join shelf on shelf.id = subscription.shelf_id
cross join entry
where entry.shelf_id = subscription.shelf_id and entry.feed_id = subscription.feed_id and {is_read}
  and {since} < cast(:now as bigint) - ({kept_for}) and not {is_kept}

-- fragment: wanted_rows
(select cast(value ->> 0 as bigint) from json_each(cast(:rows as text)))

-- name: next_subscription
-- The last of the next so many.
select max(id) from (select id from subscription where id > :after order by id limit :most) as counted;

-- name: list_old_entries
select entry.id from {old_entries} and subscription.id > :after and subscription.id <= :last
limit :most;

-- name: count_old_entries
select count(*) from (
  select entry.id from {old_entries} and subscription.id > :after and subscription.id <= :last
  limit :most
) as counted;

-- name: count_old_of_feed
select count(*) from (
  select entry.id from entry
  where entry.shelf_id = :shelf_id and entry.feed_id = :feed_id and {is_read} and {since} < :before and not {is_kept}
  limit :most
) as counted;

-- name: count_old_of_shelf
-- Of the feeds that have no setting of their own.
select count(*) from (
  select entry.id from subscription cross join entry
  where subscription.shelf_id = :shelf_id and subscription.retention is null
    and entry.shelf_id = subscription.shelf_id and entry.feed_id = subscription.feed_id and {is_read}
    and {since} < :before and not {is_kept}
  limit :most
) as counted;

-- fragment: is_old_entry
-- Asked again, for nobody is kept from reading meanwhile. Of the greatest id one stays: SQLite would give it again.
entry.id in {wanted_rows} and {is_read} and not {is_kept} and entry.id < (select max(id) from entry)
  and exists (
    select 1 from subscription join shelf on shelf.id = subscription.shelf_id
    where subscription.shelf_id = entry.shelf_id and subscription.feed_id = entry.feed_id
      and {since} < cast(:now as bigint) - ({kept_for})
  )

-- name: list_shelves_of_entries
select distinct shelf_id from entry where id in {wanted_rows};

-- name: add_tombstones_of_pruned
-- REL-39d: a detached item would be news when its feed brings it.
insert into entry_tombstone (shelf_id, feed_id, key, at)
select entry.shelf_id, entry.feed_id, item.key, cast(:now as bigint)
from entry join item on item.id = entry.item_id
where item.feed_id is null and {is_old_entry}
order by item.key, entry.shelf_id
on conflict (feed_id, key, shelf_id) do nothing;

-- name: prune_entries
delete from entry where {is_old_entry};

-- fragment: old_chapters
-- As the plan keeps them; I9: that a chapter was read stands in progress, and stays.
entry
join shelf on shelf.id = entry.shelf_id
join progress on progress.shelf_id = entry.shelf_id and progress.chapter_id = entry.chapter_id and progress.is_read
where entry.series_id is not null and entry.sort_at < cast(:now as bigint) - shelf.retention
  and not entry.unread and not entry.saved and entry.id < (select max(id) from entry)
  and not exists (
    select 1 from tagging join tag on tag.id = tagging.tag_id
    where tagging.chapter_id = entry.chapter_id and tag.shelf_id = entry.shelf_id and tag.deleted_at is null
  )

-- name: next_limited_shelf
select min(id) from shelf where id > :after and retention is not null;

-- name: list_old_chapters
select entry.id from {old_chapters} and entry.shelf_id = :shelf_id
limit :most;

-- name: prune_chapters
delete from entry
where not entry.unread and not entry.saved
  and entry.id in (select entry.id from {old_chapters} and entry.id in {wanted_rows});

-- name: next_feed
select min(id) from feed where id > :after;

-- fragment: is_beyond_newest
(item.sort_at, item.id) <= (
  select newer.sort_at, newer.id from item as newer where newer.feed_id = :feed_id
  order by newer.sort_at desc, newer.id desc limit 1 offset :newest
)

-- fragment: is_unheld
not exists (select 1 from entry where entry.item_id = item.id)
  and not exists (select 1 from former_entry where former_entry.item_id = item.id)
  and not exists (select 1 from bookmark where bookmark.item_id = item.id)

-- name: list_spare_items
-- Along item_order alone; the contents are not read.
select item.id from item
where item.feed_id = :feed_id and {is_beyond_newest} and {is_unheld}
order by item.sort_at, item.id
limit :most;

-- name: count_spare_items
-- With those whose every entry is about to be removed.
select count(*) from (
  select item.id from item
  where item.feed_id = :feed_id and {is_beyond_newest}
    and not exists (select 1 from former_entry where former_entry.item_id = item.id)
    and not exists (select 1 from bookmark where bookmark.item_id = item.id)
    and not exists (
      select 1 from entry
      join shelf on shelf.id = entry.shelf_id
      left join subscription on subscription.shelf_id = entry.shelf_id and subscription.feed_id = entry.feed_id
      where entry.item_id = item.id
        and not coalesce({is_read} and not {is_tagged} and {since} < cast(:now as bigint) - ({kept_for}), false)
    )
  limit :most
) as counted;

-- fragment: is_spare_item
item.id in {wanted_rows} and item.feed_id = :feed_id and item.created_at < :before and {is_unheld}
  and item.id < (select max(id) from item)

-- name: add_tombstones
insert into item_tombstone (feed_id, key, link_key, content_hash, at)
select item.feed_id, item.key, item.link_key, item.content_hash, cast(:now as bigint) from item where {is_spare_item}
order by item.key
on conflict (feed_id, key) do nothing;

-- name: prune_items
-- Their full texts and words in the index go along.
delete from item where {is_spare_item};

-- fragment: old_jobs
-- A source's newest stays, and the one that disabled it; and all that still have a log (R52).
crawl_job
where crawl_job.finished_at < :before
  and not exists (select 1 from crawl_log where crawl_log.job_id = crawl_job.id)
  and not exists (select 1 from source where source.id = crawl_job.source_id and source.disabled_by_job = crawl_job.id)
  and (
    exists (
      select 1 from crawl_job as newer
      where newer.source_id = crawl_job.source_id and newer.scheduled_at > crawl_job.scheduled_at
    )
    or not exists (select 1 from source where source.id = crawl_job.source_id)
  )

-- name: list_old_jobs
select crawl_job.id from {old_jobs}
order by crawl_job.finished_at, crawl_job.id
limit :most;

-- name: count_old_jobs
select count(*) from (select crawl_job.id from {old_jobs} limit :most) as counted;

-- name: prune_jobs
delete from crawl_job where id in {wanted_rows};

-- name: allow_audit_pruning
-- The schema refuses to delete what is younger. Never back: what was removed is gone.
update retention_step set before = :before where name = :name and before < :before;

-- name: prune_audit
delete from audit where id in (select id from audit where at < :before order by at, id limit :most);

-- name: count_old_audit
select count(*) from (select id from audit where at < :before limit :most) as counted;

-- name: average_item
-- Of the newest, in bytes of text.
select cast(coalesce(avg(size), 0) as bigint) from (
  select length(item.content) + length(item.title) + coalesce(length(item.summary), 0)
    + coalesce(length(item_full_text.content), 0) as size
  from item left join item_full_text on item_full_text.item_id = item.id
  order by item.id desc limit 200
) as newest;

-- name: add_steps
-- A negative finished_at means: it never ran, and waits for its next run as if it had finished at that time.
insert into retention_step (name, finished_at)
select value ->> 0, -cast(:counted_from as bigint) from json_each(cast(:rows as text))
where true
on conflict (name) do nothing;

-- name: list_steps
select name, after_id, case when finished_at > 0 then finished_at else 0 end as finished_at,
  abs(coalesce(finished_at, 0)) as counted_from, pruned
from retention_step order by name;

-- name: save_step
update retention_step
set after_id = :after_id, finished_at = coalesce(cast(:finished_at as bigint), finished_at), pruned = pruned + :pruned
where name = :name;

-- name: shelf_retention
select own_retention, retention as plan from shelf where id = :id;

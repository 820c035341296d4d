-- R119. Tagged are items, chapters, feeds and series; an entry has the tags of its item or chapter, and of its feed or series.

-- fragment: columns
tag.id, tag.public_id, tag.name, tag.created_at, tag.updated_at

-- fragment: mine
tag.shelf_id = :shelf_id and tag.deleted_at is null

-- fragment: wanted
(select cast(value as bigint) from json_each(cast(:tags as text)))

-- fragment: entries
(select cast(value as bigint) from json_each(cast(:ids as text)))

-- name: list_tags
-- What is tagged by itself and by its feed or series counts once.
with counted as (
  select tagging.tag_id, 1 as followed, coalesce(tally.entries, 0) as entries, coalesce(tally.unread, 0) as unread
  from tag
  join tagging on tagging.tag_id = tag.id
  join subscription on subscription.shelf_id = tag.shelf_id and subscription.feed_id = tagging.feed_id
  left join tally on tally.shelf_id = tag.shelf_id and tally.kind = 'item' and tally.of_id = tagging.feed_id
  where {mine}
  union all
  select tagging.tag_id, 1, coalesce(tally.entries, 0), coalesce(tally.unread, 0)
  from tag
  join tagging on tagging.tag_id = tag.id
  join follow on follow.shelf_id = tag.shelf_id and follow.series_id = tagging.series_id
  left join tally on tally.shelf_id = tag.shelf_id and tally.kind = 'chapter' and tally.of_id = tagging.series_id
  where {mine}
  union all
  select tagging.tag_id, 0, 1, case when entry.unread then 1 else 0 end
  from tag
  join tagging on tagging.tag_id = tag.id
  join entry on entry.shelf_id = tag.shelf_id and entry.item_id = tagging.item_id
  where {mine} and not exists (
    select 1 from tagging as wider where wider.tag_id = tagging.tag_id and wider.feed_id = entry.feed_id
  )
  union all
  select tagging.tag_id, 0, 1, case when entry.unread then 1 else 0 end
  from tag
  join tagging on tagging.tag_id = tag.id
  join entry on entry.shelf_id = tag.shelf_id and entry.chapter_id = tagging.chapter_id
  where {mine} and not exists (
    select 1 from tagging as wider where wider.tag_id = tagging.tag_id and wider.series_id = entry.series_id
  )
)
select {columns}, cast(coalesce(sum(counted.entries), 0) as bigint) as entries,
  cast(coalesce(sum(counted.unread), 0) as bigint) as unread,
  cast(coalesce(sum(counted.followed), 0) as bigint) as followed
from tag left join counted on counted.tag_id = tag.id
where {mine} and (cast(:public_id as {bytes}) is null or tag.public_id = cast(:public_id as {bytes}))
group by {columns};

-- fragment: bytes
blob

-- name: find_tag
-- inline: by its key
-- I8: another shelf's tag is not found.
select tag.id from tag where {mine} and tag.public_id = :public_id;

-- name: find_deleted_tag
select tag.id, tag.name from tag
where tag.shelf_id = :shelf_id and tag.public_id = :public_id and tag.deleted_at is not null;

-- name: find_tags_named
select tag.id, tag.folded from tag
where {mine} and tag.folded in (select value ->> 0 from json_each(cast(:names as text)));

-- name: count_tags
select count(*) from tag where {mine};

-- name: add_tag
insert into tag (public_id, shelf_id, name, folded, created_at, updated_at)
values (:public_id, :shelf_id, :name, :folded, :now, :now)
returning id;

-- name: rename_tag
update tag set name = :name, folded = :folded, updated_at = :now where id = :id;

-- name: delete_tag
update tag set deleted_at = cast(:now as bigint) where id = :id;

-- name: restore_tag
update tag set deleted_at = null, updated_at = :now where id = :id;

-- name: join_tags
-- What both are on stays tagged once.
insert into tagging (tag_id, item_id, chapter_id, feed_id, series_id)
select cast(:into_id as bigint), item_id, chapter_id, feed_id, series_id from tagging where tag_id = :id
on conflict do nothing;

-- name: drop_tag
delete from tag where id = :id;

-- name: forget_deleted
delete from tag where id in (
  select id from tag where deleted_at < :before order by deleted_at limit :most
);

-- name: tag_entries
-- I8: entries of other shelves are left out.
insert into tagging (tag_id, item_id, chapter_id)
select wanted.id, entry.item_id, entry.chapter_id
from (select cast(value as bigint) as id from json_each(cast(:tags as text))) as wanted
cross join entry
where entry.shelf_id = :shelf_id and entry.id in {entries}
on conflict do nothing;

-- name: untag_items
delete from tagging
where tag_id in {wanted} and item_id in (
  select entry.item_id from entry
  where entry.shelf_id = :shelf_id and entry.item_id is not null and entry.id in {entries}
);

-- name: untag_chapters
delete from tagging
where tag_id in {wanted} and chapter_id in (
  select entry.chapter_id from entry
  where entry.shelf_id = :shelf_id and entry.chapter_id is not null and entry.id in {entries}
);

-- name: most_of_entry
-- How many tags one of these has by itself.
select cast(coalesce(max(tags), 0) as bigint) from (
  select count(*) as tags
  from entry
  join tagging on tagging.item_id = entry.item_id or tagging.chapter_id = entry.chapter_id
  join tag on tag.id = tagging.tag_id
  where entry.shelf_id = :shelf_id and entry.id in {entries} and {mine}
  group by entry.id
) as counted;

-- fragment: is_of
(tagging.feed_id = cast(:feed_id as bigint) or tagging.series_id = cast(:series_id as bigint))

-- name: tag_followed
insert into tagging (tag_id, feed_id, series_id)
select cast(value as bigint), cast(:feed_id as bigint), cast(:series_id as bigint) from json_each(cast(:tags as text))
where true
on conflict do nothing;

-- name: untag_followed
-- All of the shelf's but these.
delete from tagging
where {is_of} and tag_id in (select tag.id from tag where {mine}) and tag_id not in {wanted};

-- name: tags_of_followed
select tag.public_id, tag.name
from tagging join tag on tag.id = tagging.tag_id
where {is_of} and {mine};

-- fragment: tags_of
select page.id as entry_id, tag.public_id, tag.name

-- name: tags_of_entries
-- The page first; where nothing is tagged, that is all.
with mine as (
  select tag.id, tag.public_id, tag.name from tag where {mine}
), page as (
  select entry.id, entry.item_id, entry.chapter_id, entry.feed_id, entry.series_id from entry
  where entry.shelf_id = :shelf_id and entry.id in {entries} and exists (select 1 from tag where {mine})
)
{tags_of}, true as is_own
from page join tagging on tagging.item_id = page.item_id join mine as tag on tag.id = tagging.tag_id
union all
{tags_of}, true
from page join tagging on tagging.chapter_id = page.chapter_id join mine as tag on tag.id = tagging.tag_id
union all
{tags_of}, false
from page join tagging on tagging.feed_id = page.feed_id join mine as tag on tag.id = tagging.tag_id
union all
{tags_of}, false
from page join tagging on tagging.series_id = page.series_id join mine as tag on tag.id = tagging.tag_id;

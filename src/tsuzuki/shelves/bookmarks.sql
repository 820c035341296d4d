-- fragment: columns
bookmark.id, bookmark.public_id, bookmark.item_id, subscription.public_id as feed_id, bookmark.link, bookmark.title,
bookmark.content, bookmark.feed_name, bookmark.note, bookmark.published_at, bookmark.created_at

-- fragment: tables
bookmark
left join subscription on subscription.shelf_id = bookmark.shelf_id and subscription.feed_id = bookmark.feed_id

-- fragment: feed_name
coalesce(nullif(subscription.name, ''), nullif(feed.title, ''), feed.link)

-- fragment: place
bookmark.shelf_id = :shelf_id
and (cast(:feed_id as bigint) is null or bookmark.feed_id = cast(:feed_id as bigint))
and (cast(:group_id as bigint) is null or subscription.group_id = cast(:group_id as bigint))

-- name: list_bookmarks
select {columns} from {tables}
where {place} and (bookmark.created_at, bookmark.id) < (cast(:at as bigint), cast(:id as bigint))
order by bookmark.created_at desc, bookmark.id desc
limit :most;

-- name: count_bookmarks
select count(*) from {tables} where {place};

-- name: find_bookmark
-- I8: another shelf's bookmark is not found.
select {columns} from {tables} where bookmark.shelf_id = :shelf_id and bookmark.public_id = :public_id;

-- name: find_bookmark_of_item
select {columns} from {tables} where bookmark.shelf_id = :shelf_id and bookmark.item_id = :item_id;

-- name: add_bookmark
-- R71: unique per (shelf, link) where there is a link, else per (shelf, item).
insert into bookmark (
  public_id, shelf_id, item_id, feed_id, link, title, content, feed_name, note, published_at, created_at
)
values (
  :public_id, :shelf_id, :item_id, :feed_id, :link, :title, :content, :feed_name, :note, :published_at, :now
)
returning id;

-- name: keep_bookmarks
-- Of many items: rows are an item and a public id. One of the same link or item is as good (R71).
insert into bookmark (
  public_id, shelf_id, item_id, feed_id, link, title, content, feed_name, note, published_at, created_at
)
select unhex(wanted.value ->> 1), entry.shelf_id, item.id, item.feed_id, coalesce(item.link, ''), item.title, item.content,
  {feed_name}, '', item.published_at, cast(:now as bigint)
from json_each(cast(:rows as text)) as wanted
cross join entry
join item on item.id = entry.item_id
join feed on feed.id = entry.feed_id
join subscription on subscription.shelf_id = entry.shelf_id and subscription.feed_id = entry.feed_id
where entry.shelf_id = :shelf_id and entry.item_id = cast(wanted.value ->> 0 as bigint)
order by item.id
on conflict do nothing
returning id;

-- name: delete_bookmarks_of_items
delete from bookmark
where shelf_id = :shelf_id and item_id in (select cast(value as bigint) from json_each(cast(:ids as text)));

-- name: save_entries
-- Not `saved <> :saved`: where statistics know of none of these, PostgreSQL would go through all ids for each of them.
update entry set saved = :saved
where shelf_id = :shelf_id and case when saved then not cast(:saved as boolean) else cast(:saved as boolean) end
  and item_id in (select cast(value as bigint) from json_each(cast(:ids as text)));

-- name: set_note
update bookmark set note = :note where id = :id;

-- name: delete_bookmark
delete from bookmark where id = :id;

-- name: save_entry
-- What is bookmarked is saved: kept by every clean-up, and listed as such.
update entry set saved = :saved where shelf_id = :shelf_id and item_id = :item_id;

-- name: snapshot
select item.title, coalesce(item.link, '') as link, item.content,
  {feed_name} as feed_name,
  cast(:note as text) as note, item.published_at, item.id as item_id, item.feed_id
from entry
join item on item.id = entry.item_id
join feed on feed.id = entry.feed_id
join subscription on subscription.shelf_id = entry.shelf_id and subscription.feed_id = entry.feed_id
where entry.shelf_id = :shelf_id and entry.item_id = :item_id;

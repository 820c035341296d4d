-- name: is_subscribed
select exists (select 1 from subscription where shelf_id = :shelf_id and feed_id = :feed_id) as is_subscribed;

-- name: shelf_items
-- Of these keys, what the shelf has under this feed: the feed's own last, so that it counts. Both branches by the
-- unique (feed_id, key).
select item.key, item.id from json_each(cast(:rows as text))
cross join item
join entry on entry.shelf_id = :shelf_id and entry.item_id = item.id and entry.feed_id = :feed_id
where item.feed_id is null and item.key = value ->> 0
union all
select item.key, item.id from json_each(cast(:rows as text))
cross join item
join entry on entry.shelf_id = :shelf_id and entry.item_id = item.id
where item.feed_id = :feed_id and item.key = value ->> 0;

-- name: feed_items
select item.key, item.id from json_each(cast(:rows as text))
cross join item
where item.feed_id = :feed_id and item.key = value ->> 0;

-- name: add_detached
-- In the order of the rows, so that ties are listed in the same order. Without a link_key: for the shelf that brought
-- it, the key is enough to know it again (see `adoptable`).
insert into item (
  key, title, link, author, content, summary, published_at, published_raw, sort_at, categories, enclosures, page_urls,
  image_url, comments_url, content_hash, created_at, updated_at
)
select
  value ->> 'key', value ->> 'title', value ->> 'link', value ->> 'author', value ->> 'content', value ->> 'summary',
  cast(value ->> 'published_at' as bigint), value ->> 'published_raw', cast(value ->> 'sort_at' as bigint), {item_json},
  value ->> 'image_url', value ->> 'comments_url', unhex(value ->> 'content_hash'),
  cast(value ->> 'created_at' as bigint), cast(value ->> 'updated_at' as bigint)
from json_each(cast(:rows as text))
order by cast(value ->> 'n' as bigint)
returning key, id;

-- fragment: item_json
value ->> 'categories', value ->> 'enclosures', value ->> 'page_urls'

-- name: put_entries
-- I2. What is read or saved on either side stays so.
insert into entry (shelf_id, feed_id, item_id, unread, saved, sort_at, read_at, created_at)
select cast(:shelf_id as bigint), cast(:feed_id as bigint), cast(value ->> 'item_id' as bigint),
  cast(value ->> 'unread' as boolean), cast(value ->> 'saved' as boolean), cast(value ->> 'sort_at' as bigint),
  cast(value ->> 'read_at' as bigint), cast(value ->> 'created_at' as bigint)
from json_each(cast(:rows as text))
where true
order by cast(value ->> 'n' as bigint)
on conflict (shelf_id, item_id) where item_id is not null do update set
  unread = entry.unread and excluded.unread, saved = entry.saved or excluded.saved,
  read_at = coalesce(entry.read_at, excluded.read_at)
where (entry.unread and not excluded.unread) or (excluded.saved and not entry.saved);

-- name: adoptable
-- I2: what a shelf has without its feed, and the feed has brought itself just now. An item that a merge or a move left
-- behind is somebody else's word (its link_key is never null): it must be of the same page too, or an address that is
-- given up could take a guid of its new home away from its readers. One for each shelf and item.
-- Rows are the item, its feed, its key and its link_key.
select shelf_id, item_id, min(detached_id) as detached_id
from (
  select entry.shelf_id, cast(value ->> 0 as bigint) as item_id, detached.id as detached_id
  from json_each(cast(:rows as text)) cross join item as detached cross join entry
  where {is_same} and entry.item_id = detached.id and entry.feed_id = cast(value ->> 1 as bigint)
  union all
  select former_entry.shelf_id, cast(value ->> 0 as bigint), detached.id
  from json_each(cast(:rows as text)) cross join item as detached cross join former_entry
  where {is_same} and former_entry.item_id = detached.id and former_entry.feed_id = cast(value ->> 1 as bigint)
) as found
group by shelf_id, item_id;

-- fragment: is_same
detached.feed_id is null and detached.key = value ->> 2
  and (detached.link_key is null or detached.link_key = value ->> 3)

-- name: adopt_entries
-- Rows are a shelf, the item, and the detached one. As they are: what was read stays read.
update entry set item_id = {adopted_item} from json_each(cast(:rows as text)) as adopted
where entry.shelf_id = {adopting_shelf} and entry.item_id = {adopted_from};

-- name: adopt_former_entries
update former_entry set item_id = {adopted_item} from json_each(cast(:rows as text)) as adopted
where former_entry.shelf_id = {adopting_shelf} and former_entry.item_id = {adopted_from};

-- name: adopt_bookmarks
update bookmark set item_id = {adopted_item} from json_each(cast(:rows as text)) as adopted
where bookmark.shelf_id = {adopting_shelf} and bookmark.item_id = {adopted_from};

-- fragment: adopting_shelf
cast(adopted.value ->> 0 as bigint)

-- fragment: adopted_item
cast(adopted.value ->> 1 as bigint)

-- fragment: adopted_from
cast(adopted.value ->> 2 as bigint)

-- name: next_detached
select id from item where feed_id is null and id > :after order by id limit :most;

-- name: drop_unheld
-- What no shelf has any more, nor can have back.
delete from item
where feed_id is null and id in (select cast(value ->> 0 as bigint) from json_each(cast(:rows as text)))
  and not exists (select 1 from entry where entry.item_id = item.id)
  and not exists (select 1 from former_entry where former_entry.item_id = item.id)
  and not exists (select 1 from bookmark where bookmark.item_id = item.id);

-- The page first, by an index of entry; only its rows are joined with what they are about.

-- fragment: page_columns
select id, shelf_id, feed_id, item_id, unread, saved, sort_at, created_at

-- fragment: flags
(cast(:unread as boolean) is null or unread = cast(:unread as boolean))
and (cast(:saved as boolean) is null or saved = cast(:saved as boolean))

-- fragment: below
sort_at >= :since and (sort_at, id) < (cast(:at as bigint), cast(:id as bigint)) and {flags}
order by sort_at desc, id desc limit :most

-- fragment: place
(cast(:feed_id as bigint) is null or feed_id = cast(:feed_id as bigint))
and (cast(:group_id as bigint) is null or {of_group})

-- fragment: moment
-- What the list is sorted by.
case when cast(:by_arrival as boolean) then created_at else sort_at end

-- fragment: items
select page.id as entry_id, item.id, subscription.public_id as feed_id, item.key, item.title, item.link, item.author,
  case when item.title = '' then substr(item.content, 1, 6000) else '' end as beginning,
  case when cast(:with_content as boolean) then item.content else '' end as content, item.summary, item.published_at,
  item.categories, item.enclosures, item.page_urls, item.image_url, item.comments_url,
  page.unread, page.saved, page.sort_at, page.created_at, coalesce(item.updated_at, item.created_at) as updated_at,
  subscription.full_text as wants_full_text
from page
join item on item.id = page.item_id
join subscription on subscription.shelf_id = page.shelf_id and subscription.feed_id = page.feed_id

-- fragment: by_unread
-- Without statistics SQLite would walk through everything that was ever read.
entry indexed by entry_unread

-- fragment: by_saved
entry indexed by entry_saved

-- fragment: of_group
feed_id in (select feed_id from subscription where shelf_id = :shelf_id and group_id = :group_id)

-- name: list_items
-- A row value in the condition makes the page's end exact, whatever shares its time.
with page as ({page_columns} from entry where shelf_id = :shelf_id and item_id is not null and {below})
{items} order by page.sort_at desc, page.id desc;

-- name: list_unread_items
with page as ({page_columns} from {by_unread} where shelf_id = :shelf_id and unread and item_id is not null and {below})
{items} order by page.sort_at desc, page.id desc;

-- name: list_saved_items
with page as ({page_columns} from {by_saved} where shelf_id = :shelf_id and saved and item_id is not null and {below})
{items} order by page.sort_at desc, page.id desc;

-- name: list_feed_items
with page as ({page_columns} from entry where shelf_id = :shelf_id and feed_id = :feed_id and {below})
{items} order by page.sort_at desc, page.id desc;

-- name: list_group_items
with page as ({page_columns} from entry where shelf_id = :shelf_id and {of_group} and {below})
{items} order by page.sort_at desc, page.id desc;

-- name: list_newcomers
-- In the order in which they came; rarely asked for, so it is sorted.
with page as (
  {page_columns} from entry
  where shelf_id = :shelf_id and item_id is not null and {flags} and {place} and created_at >= :since
    and (created_at, id) < (cast(:at as bigint), cast(:id as bigint))
  order by created_at desc, id desc
  limit :most
)
{items} order by page.created_at desc, page.id desc;

-- name: list_sought_items
-- What matches first, then only those entries: exact at page ends like the others.
with hit as ({hits}),
page as (
  {page_columns}, {moment} as moment from {hit_entries}
  where shelf_id = :shelf_id and item_id = hit.found and {flags} and {place} and {moment} >= :since
    and ({moment}, id) < (cast(:at as bigint), cast(:id as bigint))
  order by moment desc, id desc
  limit :most
)
{items} order by page.moment desc, page.id desc;

-- fragment: hit_entries
hit cross join entry

-- fragment: hits
select rowid as found from item_search where item_search match :match

-- name: tallied_items
-- However many there are: a row for each feed.
select cast(coalesce(sum(entries), 0) as bigint) as entries, cast(coalesce(sum(unread), 0) as bigint) as unread
from (select of_id as feed_id, entries, unread from tally where shelf_id = :shelf_id and kind = 'item') as tallied
where {place};

-- name: tallied_saved
-- What a person saved by hand can be counted.
select count(*) as entries, count(case when unread then 1 end) as unread from {by_saved}
where shelf_id = :shelf_id and saved and item_id is not null and {place};

-- name: count_items_since
-- Said twice, so that the usual order can be counted along an index.
select count(*) from entry
where shelf_id = :shelf_id and item_id is not null and {flags} and {place}
  and {moment} >= :since
  and sort_at >= case when cast(:by_arrival as boolean) then 0 else cast(:since as bigint) end;

-- name: count_sought_items
with hit as ({hits})
select count(*) from {hit_entries}
where shelf_id = :shelf_id and item_id = hit.found and {flags} and {place} and {moment} >= :since;

-- name: find_item
-- inline: by unique keys, once for every article that is read
-- I8: an item that is not in this shelf's inbox is not found.
with page as ({page_columns} from entry where shelf_id = :shelf_id and item_id = :item_id)
{items};

-- name: mark_items
update entry set unread = :unread, read_at = :read_at
where shelf_id = :shelf_id and unread <> :unread
  and item_id in (select cast(value as bigint) from json_each(cast(:ids as text)));

-- name: mark_feed
update entry set unread = :unread, read_at = :read_at
where shelf_id = :shelf_id and feed_id = :feed_id and unread <> :unread and sort_at < :before;

-- name: mark_group
update entry set unread = :unread, read_at = :read_at
where shelf_id = :shelf_id and unread <> :unread and sort_at < :before
  and {of_group};

-- name: mark_all
update entry set unread = :unread, read_at = :read_at
where shelf_id = :shelf_id and unread <> :unread and sort_at < :before
  and (item_id is not null or cast(:with_chapters as boolean));

-- name: unmark_since
-- The undo of a mass mark: what was marked read at this very moment.
update entry set unread = true, read_at = null
where shelf_id = :shelf_id and not unread and read_at = :at;

-- The page first, by an index of entry; only its rows are joined with what they are about.

-- fragment: page_columns
select id, shelf_id, feed_id, item_id, unread, saved, sort_at, created_at

-- fragment: flags
(cast(:unread as boolean) is null or unread = cast(:unread as boolean))
and (cast(:saved as boolean) is null or saved = cast(:saved as boolean))

-- fragment: below
(sort_at, id) < (cast(:at as bigint), cast(:id as bigint)) and {flags} order by sort_at desc, id desc limit :most

-- fragment: items
select page.id as entry_id, item.id, subscription.public_id as feed_id, item.key, item.title, item.link, item.author,
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
  where shelf_id = :shelf_id and item_id is not null and {flags}
    and (cast(:feed_id as bigint) is null or feed_id = cast(:feed_id as bigint))
    and (cast(:group_id as bigint) is null or {of_group})
    and (created_at, id) < (cast(:at as bigint), cast(:id as bigint))
  order by created_at desc, id desc
  limit :most
)
{items} order by page.created_at desc, page.id desc;

-- name: count_items
select count(*) from entry where shelf_id = :shelf_id and item_id is not null and {flags};

-- name: count_unread_items
-- By entry_unread_feed alone.
select count(*) from entry where shelf_id = :shelf_id and unread and feed_id is not null;

-- name: count_feed_items
select count(*) from entry where shelf_id = :shelf_id and feed_id = :feed_id and {flags};

-- name: count_group_items
select count(*) from entry where shelf_id = :shelf_id and {of_group} and {flags};

-- name: find_item
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

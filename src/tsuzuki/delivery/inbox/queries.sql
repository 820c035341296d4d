-- The page first, by an index of entry; only its rows are joined with what they are about.

-- fragment: columns
select id, unread, saved, sort_at, created_at, feed_id, item_id, series_id, chapter_id

-- fragment: below
-- R92: by arrival, those that came at once as their publisher dates them.
shelf_id = :shelf_id and (created_at, sort_at, id) < (:at, :then, :id) and {is_wanted}

-- fragment: below_published
shelf_id = :shelf_id and (sort_at, id) < (:at, :id) and {is_wanted}

-- fragment: newest
order by created_at desc, sort_at desc, id desc limit :most

-- fragment: newest_published
order by sort_at desc, id desc limit :most

-- fragment: is_wanted
(cast(:kind as text) is null or (cast(:kind as text) = 'item') = (item_id is not null))

-- fragment: by_unread
-- Without statistics SQLite would walk through everything that was ever read.
entry indexed by entry_unread_arrival

-- fragment: by_unread_published
entry indexed by entry_unread

-- fragment: entries
select page.id, page.unread, page.saved, page.sort_at, page.created_at,
  page.item_id, subscription.public_id as feed_id, item.title as item_title,
  case when item.title = '' then substr(item.content, 1, 6000) else '' end as beginning, item.link, item.author,
  item.published_at as item_published_at,
  page.chapter_id, series.public_id as series_id, series.title as series_title, chapter.title as chapter_title,
  chapter.number, chapter.volume, chapter.published_at as chapter_published_at
from page
left join item on item.id = page.item_id
left join subscription on subscription.shelf_id = :shelf_id and subscription.feed_id = page.feed_id
left join chapter on chapter.id = page.chapter_id
left join series on series.id = page.series_id

-- name: all_entries
with page as ({columns} from entry where {below} {newest})
{entries} order by page.created_at desc, page.sort_at desc, page.id desc;

-- name: unread_entries
with page as ({columns} from {by_unread} where {below} and unread {newest})
{entries} order by page.created_at desc, page.sort_at desc, page.id desc;

-- name: read_entries
with page as ({columns} from entry where {below} and not unread {newest})
{entries} order by page.created_at desc, page.sort_at desc, page.id desc;

-- name: all_entries_published
with page as ({columns} from entry where {below_published} {newest_published})
{entries} order by page.sort_at desc, page.id desc;

-- name: unread_entries_published
with page as ({columns} from {by_unread_published} where {below_published} and unread {newest_published})
{entries} order by page.sort_at desc, page.id desc;

-- name: read_entries_published
with page as ({columns} from entry where {below_published} and not unread {newest_published})
{entries} order by page.sort_at desc, page.id desc;

-- name: tallied
-- However much lies there: a row for each feed and series of the shelf.
select cast(coalesce(sum(entries), 0) as bigint) as entries, cast(coalesce(sum(unread), 0) as bigint) as unread
from tally
where shelf_id = :shelf_id and (cast(:kind as text) is null or kind = cast(:kind as text));

-- The page first, by an index of entry; only its rows are joined with what they are about.

-- fragment: columns
select id, unread, saved, sort_at, feed_id, item_id, series_id, chapter_id

-- fragment: by_unread
-- Without statistics SQLite would walk through everything that was ever read.
entry indexed by entry_unread

-- fragment: by_saved
entry indexed by entry_saved

-- fragment: older
(sort_at, id) < (cast(:at as bigint), cast(:id as bigint))

-- fragment: newer
(sort_at, id) > (cast(:at as bigint), cast(:id as bigint))

-- fragment: is_wanted
(cast(:kind as text) is null or (cast(:kind as text) = 'item') = (item_id is not null))
and (cast(:feed_id as bigint) is null or feed_id = cast(:feed_id as bigint))
and (cast(:series_id as bigint) is null or series_id = cast(:series_id as bigint))
and (
  cast(:group_id as bigint) is null
  or feed_id in (select feed_id from subscription where shelf_id = :shelf_id and group_id = cast(:group_id as bigint))
  or series_id in (select series_id from follow where shelf_id = :shelf_id and group_id = cast(:group_id as bigint))
)

-- fragment: first_page
item.page_urls ->> '$[0]'

-- fragment: lines
select page.id, page.unread, page.saved, page.sort_at,
  page.item_id, subscription.public_id as feed_id,
  coalesce(nullif(subscription.name, ''), nullif(feed.title, ''), feed.link) as feed_name,
  item.title as item_title, item.link, item.author, item.published_at as item_published_at,
  coalesce(
    nullif(replace(replace(item.summary, '&', '&amp;'), '<', '&lt;'), ''),
    substr(item.content, 1, case when item.title = '' then 6000 else 1500 end)
  ) as beginning,
  coalesce(item.image_url, {first_page}) as image_url,
  page.chapter_id, series.public_id as series_id, series.title as series_title, chapter.title as chapter_title,
  chapter.number, chapter.volume, chapter.published_at as chapter_published_at,
  (
    select min(series_source.id) from series_source
    where series_source.series_id = page.series_id and series_source.cover_url is not null
  ) as cover_id
from page
left join item on item.id = page.item_id
left join feed on feed.id = page.feed_id
left join subscription on subscription.shelf_id = :shelf_id and subscription.feed_id = page.feed_id
left join chapter on chapter.id = page.chapter_id
left join series on series.id = page.series_id

-- name: all_lines
with page as (
  {columns} from entry where shelf_id = :shelf_id and {older} and {is_wanted} order by sort_at desc, id desc limit :most
)
{lines} order by page.sort_at desc, page.id desc;

-- name: unread_lines
with page as (
  {columns} from {by_unread} where shelf_id = :shelf_id and unread and {older} and {is_wanted}
  order by sort_at desc, id desc limit :most
)
{lines} order by page.sort_at desc, page.id desc;

-- name: saved_lines
with page as (
  {columns} from {by_saved} where shelf_id = :shelf_id and saved and {older} and {is_wanted}
  order by sort_at desc, id desc limit :most
)
{lines} order by page.sort_at desc, page.id desc;

-- name: newer_lines
with page as (
  {columns} from entry where shelf_id = :shelf_id and {newer} and {is_wanted} order by sort_at, id limit :most
)
{lines} order by page.sort_at, page.id;

-- name: newer_unread_lines
with page as (
  {columns} from {by_unread} where shelf_id = :shelf_id and unread and {newer} and {is_wanted}
  order by sort_at, id limit :most
)
{lines} order by page.sort_at, page.id;

-- name: newer_saved_lines
with page as (
  {columns} from {by_saved} where shelf_id = :shelf_id and saved and {newer} and {is_wanted}
  order by sort_at, id limit :most
)
{lines} order by page.sort_at, page.id;

-- name: lately_read_older
-- Of those close by: what was unread when the list was made, and is read by now.
with near as (
  {columns}, read_at from entry where shelf_id = :shelf_id and {older} and {is_wanted} order by sort_at desc, id desc limit 500
), page as (
  {columns} from near where not unread and read_at >= :since order by sort_at desc, id desc limit :most
)
{lines} order by page.sort_at desc, page.id desc;

-- name: lately_read_newer
with near as (
  {columns}, read_at from entry where shelf_id = :shelf_id and {newer} and {is_wanted} order by sort_at, id limit 500
), page as (
  {columns} from near where not unread and read_at >= :since order by sort_at, id limit :most
)
{lines} order by page.sort_at, page.id;

-- name: unread_ids
-- What a reader saw, or could have seen: nothing that came in later is marked unseen.
select id from {by_unread}
where shelf_id = :shelf_id and unread and (saved or not cast(:only_saved as boolean)) and {is_wanted} and id <= :newest;

-- name: newest_id
-- inline: the last of an index, at every inbox
select coalesce(max(id), 0) from entry where shelf_id = :shelf_id;

-- name: states
select id, unread, saved from entry
where shelf_id = :shelf_id and id in (select cast(value as bigint) from json_each(cast(:ids as text)));

-- name: save_chapter
update entry set saved = :saved where shelf_id = :shelf_id and id = :id and chapter_id is not null;

-- name: find_group
-- inline: by its key
select id from shelf_group where shelf_id = :shelf_id and public_id = :public_id;

-- name: find_feed
-- inline: by its key
select feed_id from subscription where shelf_id = :shelf_id and public_id = :public_id;

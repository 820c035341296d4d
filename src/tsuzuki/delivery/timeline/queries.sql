-- The page first, by an index of entry; only its rows are joined with what they are about. R92: by arrival, those that came
-- at once as their publisher dates them; or all by that date, in the lists called published.

-- fragment: columns
select id, unread, saved, sort_at, created_at, feed_id, item_id, series_id, chapter_id

-- fragment: by_unread
-- Without statistics SQLite would walk through everything that was ever read.
entry indexed by entry_unread_arrival

-- fragment: by_unread_published
entry indexed by entry_unread

-- fragment: by_saved
-- What a person saved by hand can be sorted.
entry indexed by entry_saved

-- fragment: older
-- No casts: with them SQLite seeks by the first of the three alone.
(created_at, sort_at, id) < (:at, :then, :id)

-- fragment: newer
(created_at, sort_at, id) > (:at, :then, :id)

-- fragment: older_published
(sort_at, id) < (:at, :id)

-- fragment: newer_published
(sort_at, id) > (:at, :id)

-- fragment: newest_first
order by created_at desc, sort_at desc, id desc

-- fragment: oldest_first
order by created_at, sort_at, id

-- fragment: newest_published
order by sort_at desc, id desc

-- fragment: oldest_published
order by sort_at, id

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
select page.id, page.unread, page.saved, page.sort_at, page.created_at,
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

-- fragment: newest_first_of_page
order by page.created_at desc, page.sort_at desc, page.id desc

-- fragment: oldest_first_of_page
order by page.created_at, page.sort_at, page.id

-- fragment: newest_published_of_page
order by page.sort_at desc, page.id desc

-- fragment: oldest_published_of_page
order by page.sort_at, page.id

-- name: all_lines
with page as ({columns} from entry where shelf_id = :shelf_id and {older} and {is_wanted} {newest_first} limit :most)
{lines} {newest_first_of_page};

-- name: unread_lines
with page as ({columns} from {by_unread} where shelf_id = :shelf_id and unread and {older} and {is_wanted} {newest_first} limit :most)
{lines} {newest_first_of_page};

-- name: saved_lines
with page as ({columns} from {by_saved} where shelf_id = :shelf_id and saved and {older} and {is_wanted} {newest_first} limit :most)
{lines} {newest_first_of_page};

-- name: newer_lines
with page as ({columns} from entry where shelf_id = :shelf_id and {newer} and {is_wanted} {oldest_first} limit :most)
{lines} {oldest_first_of_page};

-- name: newer_unread_lines
with page as ({columns} from {by_unread} where shelf_id = :shelf_id and unread and {newer} and {is_wanted} {oldest_first} limit :most)
{lines} {oldest_first_of_page};

-- name: newer_saved_lines
with page as ({columns} from {by_saved} where shelf_id = :shelf_id and saved and {newer} and {is_wanted} {oldest_first} limit :most)
{lines} {oldest_first_of_page};

-- name: lately_read_older
-- Of those close by: what was unread when the list was made, and is read by now.
with near as (
  {columns}, read_at from entry where shelf_id = :shelf_id and {older} and {is_wanted} {newest_first} limit 500
), page as (
  {columns} from near where not unread and read_at >= :since {newest_first} limit :most
)
{lines} {newest_first_of_page};

-- name: lately_read_newer
with near as (
  {columns}, read_at from entry where shelf_id = :shelf_id and {newer} and {is_wanted} {oldest_first} limit 500
), page as (
  {columns} from near where not unread and read_at >= :since {oldest_first} limit :most
)
{lines} {oldest_first_of_page};

-- name: all_lines_published
with page as ({columns} from entry where shelf_id = :shelf_id and {older_published} and {is_wanted} {newest_published} limit :most)
{lines} {newest_published_of_page};

-- name: unread_lines_published
with page as ({columns} from {by_unread_published} where shelf_id = :shelf_id and unread and {older_published} and {is_wanted} {newest_published} limit :most)
{lines} {newest_published_of_page};

-- name: saved_lines_published
with page as ({columns} from {by_saved} where shelf_id = :shelf_id and saved and {older_published} and {is_wanted} {newest_published} limit :most)
{lines} {newest_published_of_page};

-- name: newer_lines_published
with page as ({columns} from entry where shelf_id = :shelf_id and {newer_published} and {is_wanted} {oldest_published} limit :most)
{lines} {oldest_published_of_page};

-- name: newer_unread_lines_published
with page as ({columns} from {by_unread_published} where shelf_id = :shelf_id and unread and {newer_published} and {is_wanted} {oldest_published} limit :most)
{lines} {oldest_published_of_page};

-- name: newer_saved_lines_published
with page as ({columns} from {by_saved} where shelf_id = :shelf_id and saved and {newer_published} and {is_wanted} {oldest_published} limit :most)
{lines} {oldest_published_of_page};

-- name: lately_read_older_published
with near as (
  {columns}, read_at from entry where shelf_id = :shelf_id and {older_published} and {is_wanted} {newest_published} limit 500
), page as (
  {columns} from near where not unread and read_at >= :since {newest_published} limit :most
)
{lines} {newest_published_of_page};

-- name: lately_read_newer_published
with near as (
  {columns}, read_at from entry where shelf_id = :shelf_id and {newer_published} and {is_wanted} {oldest_published} limit 500
), page as (
  {columns} from near where not unread and read_at >= :since {oldest_published} limit :most
)
{lines} {oldest_published_of_page};

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

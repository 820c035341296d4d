-- Lists. The page first, by an index of entry; only its rows are joined with what they are about. R92: by arrival, those
-- that came at once as their publisher dates them; or all by that date, in the lists called published.

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

-- fragment: is_marked_otherwise
-- Not `unread <> :unread`: where statistics know of none of these, PostgreSQL would go through all ids for each of them.
case when unread then not cast(:unread as boolean) else cast(:unread as boolean) end

-- fragment: older
-- No casts: with them SQLite seeks by the first of the three alone.
created_at >= :since and (created_at, sort_at, id) < (:at, :then, :id)

-- fragment: newer
(created_at, sort_at, id) > (:at, :then, :id)

-- fragment: older_published
sort_at >= :since and (sort_at, id) < (:at, :id)

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

-- fragment: of_group
feed_id in (select feed_id from subscription where shelf_id = :shelf_id and group_id = cast(:group_id as bigint))

-- fragment: is_wanted
(cast(:kind as text) is null or (cast(:kind as text) = 'item') = (item_id is not null))
and (cast(:unread as boolean) is null or unread = cast(:unread as boolean))
and (cast(:saved as boolean) is null or saved = cast(:saved as boolean))
and (cast(:feed_id as bigint) is null or feed_id = cast(:feed_id as bigint))
and (cast(:series_id as bigint) is null or series_id = cast(:series_id as bigint))
and (
  cast(:group_id as bigint) is null
  or {of_group}
  or series_id in (select series_id from follow where shelf_id = :shelf_id and group_id = cast(:group_id as bigint))
)
and (
  cast(:tag_id as bigint) is null
  or item_id in (select item_id from tagging where tag_id = cast(:tag_id as bigint) and item_id is not null)
  or chapter_id in (select chapter_id from tagging where tag_id = cast(:tag_id as bigint) and chapter_id is not null)
  or feed_id in (select feed_id from tagging where tag_id = cast(:tag_id as bigint) and feed_id is not null)
  or series_id in (select series_id from tagging where tag_id = cast(:tag_id as bigint) and series_id is not null)
)

-- fragment: first_page
item.page_urls ->> '$[0]'

-- fragment: is_whole
cast(:detail as text) in ('item', 'content')

-- fragment: rows
select page.id, page.unread, page.saved, page.sort_at, page.created_at,
  coalesce(item.title, chapter.title, '') as title, coalesce(item.published_at, chapter.published_at) as published_at,
  page.item_id, subscription.public_id as feed_id,
  coalesce(nullif(subscription.name, ''), nullif(feed.title, ''), feed.link) as feed_name,
  item.link, item.author, coalesce(item.image_url, case when cast(:detail as text) = 'preview' then {first_page} end) as image_url,
  coalesce(
    case
      when cast(:detail as text) = 'preview' then coalesce(
        nullif(replace(replace(item.summary, '&', '&amp;'), '<', '&lt;'), ''),
        substr(item.content, 1, case when item.title = '' then 6000 else 1500 end)
      )
      when item.title = '' then substr(item.content, 1, 6000)
    end,
    ''
  ) as beginning,
  page.chapter_id, series.public_id as series_public_id, series.title as series_title, chapter.number, chapter.volume,
  (
    select min(series_source.id) from series_source
    where series_source.series_id = page.series_id and series_source.cover_url is not null
  ) as cover_id,
  case when {is_whole} then item.key end as key,
  case when {is_whole} then item.summary end as summary,
  case when {is_whole} then item.categories end as categories,
  case when {is_whole} then item.enclosures end as enclosures,
  case when {is_whole} then item.page_urls end as page_urls,
  case when {is_whole} then item.comments_url end as comments_url,
  case when {is_whole} then coalesce(item.updated_at, item.created_at) end as updated_at,
  case when {is_whole} then subscription.full_text end as wants_full_text,
  case when cast(:detail as text) = 'content' then item.content end as content
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

-- name: all_entries
with page as (
  {columns} from entry where shelf_id = :shelf_id and {older} and {is_wanted} {newest_first} limit :most
)
{rows} {newest_first_of_page};

-- name: unread_entries
with page as (
  {columns} from {by_unread} where shelf_id = :shelf_id and unread and {older} and {is_wanted} {newest_first} limit :most
)
{rows} {newest_first_of_page};

-- name: saved_entries
with page as (
  {columns} from {by_saved} where shelf_id = :shelf_id and saved and {older} and {is_wanted} {newest_first} limit :most
)
{rows} {newest_first_of_page};

-- name: newer_entries
with page as (
  {columns} from entry where shelf_id = :shelf_id and {newer} and {is_wanted} {oldest_first} limit :most
)
{rows} {oldest_first_of_page};

-- name: newer_unread_entries
with page as (
  {columns} from {by_unread} where shelf_id = :shelf_id and unread and {newer} and {is_wanted} {oldest_first} limit :most
)
{rows} {oldest_first_of_page};

-- name: newer_saved_entries
with page as (
  {columns} from {by_saved} where shelf_id = :shelf_id and saved and {newer} and {is_wanted} {oldest_first} limit :most
)
{rows} {oldest_first_of_page};

-- name: lately_read_older
-- Of those close by: what was unread when the list was made, and is read by now.
with near as (
  {columns}, read_at from entry where shelf_id = :shelf_id and {older} and {is_wanted} {newest_first} limit 500
), page as (
  {columns} from near where not unread and read_at >= :read_since {newest_first} limit :most
)
{rows} {newest_first_of_page};

-- name: lately_read_newer
with near as (
  {columns}, read_at from entry where shelf_id = :shelf_id and {newer} and {is_wanted} {oldest_first} limit 500
), page as (
  {columns} from near where not unread and read_at >= :read_since {oldest_first} limit :most
)
{rows} {oldest_first_of_page};

-- name: all_entries_published
with page as (
  {columns} from entry where shelf_id = :shelf_id and {older_published} and {is_wanted} {newest_published} limit :most
)
{rows} {newest_published_of_page};

-- name: unread_entries_published
with page as (
  {columns} from {by_unread_published} where shelf_id = :shelf_id and unread and {older_published} and {is_wanted} {newest_published} limit :most
)
{rows} {newest_published_of_page};

-- name: saved_entries_published
with page as (
  {columns} from {by_saved} where shelf_id = :shelf_id and saved and {older_published} and {is_wanted} {newest_published} limit :most
)
{rows} {newest_published_of_page};

-- name: feed_entries_published
with page as (
  {columns} from entry where shelf_id = :shelf_id and feed_id = :feed_id and {older_published} and {is_wanted} {newest_published} limit :most
)
{rows} {newest_published_of_page};

-- name: group_entries_published
-- Of its feeds.
with page as (
  {columns} from entry where shelf_id = :shelf_id and {of_group} and {older_published} and {is_wanted} {newest_published} limit :most
)
{rows} {newest_published_of_page};

-- name: newer_entries_published
with page as (
  {columns} from entry where shelf_id = :shelf_id and {newer_published} and {is_wanted} {oldest_published} limit :most
)
{rows} {oldest_published_of_page};

-- name: newer_unread_entries_published
with page as (
  {columns} from {by_unread_published} where shelf_id = :shelf_id and unread and {newer_published} and {is_wanted} {oldest_published} limit :most
)
{rows} {oldest_published_of_page};

-- name: newer_saved_entries_published
with page as (
  {columns} from {by_saved} where shelf_id = :shelf_id and saved and {newer_published} and {is_wanted} {oldest_published} limit :most
)
{rows} {oldest_published_of_page};

-- name: lately_read_older_published
with near as (
  {columns}, read_at from entry where shelf_id = :shelf_id and {older_published} and {is_wanted} {newest_published} limit 500
), page as (
  {columns} from near where not unread and read_at >= :read_since {newest_published} limit :most
)
{rows} {newest_published_of_page};

-- name: lately_read_newer_published
with near as (
  {columns}, read_at from entry where shelf_id = :shelf_id and {newer_published} and {is_wanted} {oldest_published} limit 500
), page as (
  {columns} from near where not unread and read_at >= :read_since {oldest_published} limit :most
)
{rows} {oldest_published_of_page};

-- fragment: moment
-- What the list is sorted by.
case when cast(:by_published as boolean) then sort_at else created_at end

-- fragment: hits
select rowid as found from item_search where item_search match :match

-- fragment: hit_entries
hit cross join entry

-- name: search_entries
-- What matches first, then only those entries: exact at page ends like the others.
with hit as ({hits}),
page as (
  {columns}, {moment} as moment from {hit_entries}
  where shelf_id = :shelf_id and item_id = hit.found and {is_wanted} and {moment} >= :since
    and ({moment}, id) < (cast(:at as bigint), cast(:id as bigint))
  order by moment desc, id desc
  limit :most
)
{rows} order by page.moment desc, page.id desc;

-- name: find_item
-- inline: by unique keys, once for every article that is read
-- I8: an item that is not in this shelf's inbox is not found.
with page as ({columns} from entry where shelf_id = :shelf_id and item_id = :item_id)
{rows};

-- fragment: these
in (select cast(value as bigint) from json_each(cast(:ids as text)))

-- name: entries_of
-- For apps, which ask by numbers.
with page as (
  {columns} from entry
  where shelf_id = :shelf_id and id {these}
)
{rows};

-- name: newest_id
-- inline: the last of an index, at every inbox
select coalesce(max(id), 0) from entry where shelf_id = :shelf_id;

-- name: states
select id, unread, saved from entry
where shelf_id = :shelf_id and id {these};

-- name: find_feed
-- inline: by its key
select feed_id from subscription
where shelf_id = :shelf_id and public_id = :public_id
  and (cast(:group_id as bigint) is null or group_id = cast(:group_id as bigint));

-- name: find_group
-- inline: by its key
select id from shelf_group where shelf_id = :shelf_id and public_id = :public_id;

-- name: unread_counts
-- REL-19h: the triggers of entry keep the tally, in the transaction of whatever they count.
select tally.kind, tally.of_id, subscription.public_id as shown_id, shelf_group.public_id as group_id, tally.unread
from tally
left join subscription on subscription.shelf_id = :shelf_id and subscription.feed_id = tally.of_id
left join shelf_group on shelf_group.id = subscription.group_id
where tally.shelf_id = :shelf_id and tally.kind = 'item' and tally.unread > 0
union all
select tally.kind, tally.of_id, series.public_id, shelf_group.public_id, tally.unread
from tally
join series on series.id = tally.of_id
left join follow on follow.shelf_id = :shelf_id and follow.series_id = tally.of_id
left join shelf_group on shelf_group.id = follow.group_id
where tally.shelf_id = :shelf_id and tally.kind = 'chapter' and tally.unread > 0;

-- name: unread_sums
-- What every page shows: from the same rows as unread_counts, put together here.
select tally.kind, subscription.group_id, cast(sum(tally.unread) as bigint) as unread
from tally
left join subscription on subscription.shelf_id = :shelf_id and subscription.feed_id = tally.of_id
where tally.shelf_id = :shelf_id and tally.kind = 'item' and tally.unread > 0
group by tally.kind, subscription.group_id
union all
select tally.kind, follow.group_id, cast(sum(tally.unread) as bigint)
from tally
left join follow on follow.shelf_id = :shelf_id and follow.series_id = tally.of_id
where tally.shelf_id = :shelf_id and tally.kind = 'chapter' and tally.unread > 0
group by tally.kind, follow.group_id;

-- name: tallied
-- However much lies there: a row for each feed and series of the shelf.
select cast(coalesce(sum(entries), 0) as bigint) as entries, cast(coalesce(sum(unread), 0) as bigint) as unread
from tally
where shelf_id = :shelf_id and (cast(:kind as text) is null or kind = cast(:kind as text))
  and (cast(:feed_id as bigint) is null or (kind = 'item' and of_id = cast(:feed_id as bigint)))
  and (cast(:series_id as bigint) is null or (kind = 'chapter' and of_id = cast(:series_id as bigint)))
  and (
    cast(:group_id as bigint) is null
    or (kind = 'item' and of_id in (
      select feed_id from subscription where shelf_id = :shelf_id and group_id = cast(:group_id as bigint)
    ))
    or (kind = 'chapter' and of_id in (
      select series_id from follow where shelf_id = :shelf_id and group_id = cast(:group_id as bigint)
    ))
  );

-- name: tallied_saved
-- What a person saved by hand can be counted.
select count(*) as entries, count(case when unread then 1 end) as unread from {by_saved}
where shelf_id = :shelf_id and saved and {is_wanted};

-- name: count_since
-- Said twice, so that the order of publishers' dates can be counted along an index.
select count(*) from entry
where shelf_id = :shelf_id and {is_wanted} and {moment} >= :since
  and sort_at >= case when cast(:by_published as boolean) then cast(:since as bigint) else 0 end;

-- name: count_search_entries
with hit as ({hits})
select count(*) from {hit_entries}
where shelf_id = :shelf_id and item_id = hit.found and {is_wanted} and {moment} >= :since;

-- name: unread_ids
-- What a reader saw, or could have seen: nothing that came in later is marked unseen.
select id from {by_unread} where shelf_id = :shelf_id and unread and {is_wanted} and id <= :newest;

-- fragment: changed
-- The trigger entry_changed_at would do it, row by row.
changed_at = cast(unixepoch('subsec') * 1000 as integer)

-- name: mark_entries
-- A mark that comes late does not undo that an entry was read since then: the newest counts.
update entry
set unread = :unread, read_at = :read_at, {changed}
where shelf_id = :shelf_id and {is_marked_otherwise} and coalesce(read_at, 0) <= :until
  and id {these};

-- name: mark_items
update entry set unread = :unread, read_at = :read_at, {changed}
where shelf_id = :shelf_id and {is_marked_otherwise}
  and item_id in (select cast(value as bigint) from json_each(cast(:ids as text)));

-- name: mark_feed
update entry set unread = :unread, read_at = :read_at, {changed}
where shelf_id = :shelf_id and feed_id = :feed_id and unread <> :unread and sort_at < :before;

-- name: mark_group
update entry set unread = :unread, read_at = :read_at, {changed}
where shelf_id = :shelf_id and unread <> :unread and sort_at < :before and {of_group};

-- name: mark_all
update entry set unread = :unread, read_at = :read_at, {changed}
where shelf_id = :shelf_id and unread <> :unread and sort_at < :before
  and (item_id is not null or cast(:with_chapters as boolean));

-- name: unmark_since
-- The undo of a mass mark: what was marked read at this very moment.
update entry set unread = true, read_at = null, {changed}
where shelf_id = :shelf_id and not unread and read_at = :at;

-- name: save_chapters
update entry set saved = :saved
where shelf_id = :shelf_id and chapter_id is not null
  and id {these};

-- name: next_events
select place, id, kind, payload
from event
where shelf_id = :shelf_id and (place, id) > (cast(:place as bigint), cast(:id as bigint))
order by place, id
limit :most;

-- name: newest_of_shelf
-- inline: the last of an index, at every page
select place, id from event where shelf_id = :shelf_id order by place desc, id desc limit 1;

-- name: find_event
select id from event where shelf_id = :shelf_id and place = :place and id = :id;

-- name: shelves_with_news
-- Rows are shelves that somebody listens to, each with where it was seen last: the newest events of those with later ones.
select event.shelf_id, event.place, event.id
from json_each(cast(:rows as text)) as wanted
cross join event
where event.id = (
  select newest.id from event as newest
  where newest.shelf_id = cast(wanted.value ->> 0 as bigint)
    and (newest.place, newest.id) > (cast(wanted.value ->> 1 as bigint), cast(wanted.value ->> 2 as bigint))
  order by newest.place desc, newest.id desc
  limit 1
);

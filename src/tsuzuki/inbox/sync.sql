-- What reader apps synchronise, by numbers (R108). Lists of numbers first, each by an index of entry; what they are about is
-- read for the numbers of one answer.

-- name: settled
-- Up to this number no entry will appear any more. SQLite has one writer: whatever can be seen has come in its order.
select 9223372036854775807 as settled;

-- name: find_number
-- inline: by its key
-- I8: another shelf's number is not found, nor that of what the shelf has left.
select feed_number.feed_id, feed_number.series_id, coalesce(subscription.public_id, follow.public_id) as public_id
from feed_number
left join subscription on subscription.shelf_id = feed_number.shelf_id and subscription.feed_id = feed_number.feed_id
left join follow on follow.shelf_id = feed_number.shelf_id and follow.series_id = feed_number.series_id
where feed_number.shelf_id = :shelf_id and feed_number.number = :number
  and (subscription.id is not null or follow.id is not null);

-- name: number_of_subscription
-- inline: by unique keys
select feed_number.number from subscription
join feed_number on feed_number.shelf_id = subscription.shelf_id and feed_number.feed_id = subscription.feed_id
where subscription.shelf_id = :shelf_id and subscription.public_id = :public_id;

-- name: last_checked
select watch.last_checked_at from subscription
join watch on watch.feed_id = subscription.feed_id
where subscription.shelf_id = :shelf_id and watch.last_checked_at is not null
order by watch.last_checked_at desc limit 1;

-- name: feeds
-- A series has no address of its own; its last look is that of any of its sources.
select feed_number.number, 'item' as kind, subscription.public_id, feed.id as of_id, shelf_group.id as group_id,
  {no_id} as series_public_id, shelf_group.name as group_name,
  coalesce(nullif(subscription.name, ''), nullif(feed.title, ''), feed.link) as title, feed.link,
  coalesce(subscription.site_url, feed.site_url) as site_url, coalesce(tally.unread, 0) as unread,
  coalesce(tally.entries, 0) as entries, watch.last_checked_at as checked_at, watch.next_check_at,
  watch.last_release_at as newest_at, watch.last_error as error, watch.consecutive_failures as failures,
  subscription.suspended_at is not null or watch.suspended_at is not null as is_suspended, watch.etag,
  watch.last_modified, subscription.full_text, subscription.created_at
from subscription
join feed_number on feed_number.shelf_id = subscription.shelf_id and feed_number.feed_id = subscription.feed_id
join feed on feed.id = subscription.feed_id
join watch on watch.feed_id = feed.id
join shelf_group on shelf_group.id = subscription.group_id
left join tally
  on tally.shelf_id = subscription.shelf_id and tally.kind = 'item' and tally.of_id = subscription.feed_id
where subscription.shelf_id = :shelf_id
  and (cast(:kind as text) is null or cast(:kind as text) = 'item')
  and (cast(:number as bigint) is null or feed_number.number = cast(:number as bigint))
union all
select feed_number.number, 'chapter', follow.public_id, series.id, shelf_group.id, series.public_id,
  shelf_group.name, coalesce(nullif(series.title, ''), 'Untitled'), null,
  {first_source},
  coalesce(tally.unread, 0), coalesce(tally.entries, 0), looked.checked_at, looked.next_check_at, series.last_chapter_at,
  looked.error, coalesce(looked.failures, 0), follow.status = 'dropped' or follow.held_at is not null, null, null,
  {never}, follow.created_at
from follow
join feed_number on feed_number.shelf_id = follow.shelf_id and feed_number.series_id = follow.series_id
join series on series.id = follow.series_id
join shelf_group on shelf_group.id = follow.group_id
left join tally on tally.shelf_id = follow.shelf_id and tally.kind = 'chapter' and tally.of_id = follow.series_id
left join (
  select series_source.series_id, max(watch.last_checked_at) as checked_at, min(watch.next_check_at) as next_check_at,
    max(watch.last_error) as error, min(watch.consecutive_failures) as failures
  from follow
  join series_source on series_source.series_id = follow.series_id
  join watch on watch.series_source_id = series_source.id
  where follow.shelf_id = :shelf_id
  group by series_source.series_id
) as looked on looked.series_id = series.id
where follow.shelf_id = :shelf_id
  and (cast(:kind as text) is null or cast(:kind as text) = 'chapter')
  and (cast(:number as bigint) is null or feed_number.number = cast(:number as bigint))
order by number;

-- fragment: first_source
(
    select coalesce(series_source.real_url, series_source.url) from series_source
    where series_source.series_id = series.id order by series_source.id limit 1
  )

-- fragment: no_id
null

-- fragment: never
false

-- fragment: by_unread
entry indexed by entry_unread_arrival

-- fragment: by_saved
entry indexed by entry_saved

-- fragment: by_feed
entry indexed by entry_feed

-- fragment: by_series
entry indexed by entry_series

-- fragment: by_date
entry indexed by entry_order

-- fragment: arrival
-- When it appeared on this shelf, whatever its publisher, its archive or the inbox say.
coalesce(entry.appeared_at, entry.created_at)

-- fragment: is_wanted
entry.shelf_id = :shelf_id and entry.id > :above and entry.id < :below and entry.id <= :settled
and (cast(:kind as text) is null or (cast(:kind as text) = 'item') = (entry.item_id is not null))
and (cast(:unread as boolean) is null or entry.unread = cast(:unread as boolean))
and (cast(:saved as boolean) is null or entry.saved = cast(:saved as boolean))
and (cast(:feed_id as bigint) is null or entry.feed_id = cast(:feed_id as bigint))
and (cast(:series_id as bigint) is null or entry.series_id = cast(:series_id as bigint))
and (
  (cast(:group_id as bigint) is null and cast(:tag_id as bigint) is null)
  or entry.feed_id in (
    select feed_id from subscription where shelf_id = :shelf_id and group_id = cast(:group_id as bigint)
  )
  or entry.series_id in (select series_id from follow where shelf_id = :shelf_id and group_id = cast(:group_id as bigint))
  or entry.item_id in (select item_id from tagging where tag_id = cast(:tag_id as bigint) and item_id is not null)
  or entry.chapter_id in (select chapter_id from tagging where tag_id = cast(:tag_id as bigint) and chapter_id is not null)
  or entry.feed_id in (select feed_id from tagging where tag_id = cast(:tag_id as bigint) and feed_id is not null)
  or entry.series_id in (select series_id from tagging where tag_id = cast(:tag_id as bigint) and series_id is not null)
)
and {arrival} >= :arrived_from and {arrival} <= :arrived_until
and entry.sort_at >= :published_from and entry.sort_at <= :published_until
and coalesce(entry.changed_at, {arrival}) <= :changed_until
and (
  cast(:changed_from as bigint) is null or entry.changed_at > cast(:changed_from as bigint)
  or {arrival} > cast(:changed_from as bigint)
)
and (
  cast(:tags as text) = '[]'
  or exists (
    select 1 from item where item.id = entry.item_id and not exists (
      select 1 from json_each(cast(:tags as text)) as wanted where not {has_tag}
    )
  )
)

-- fragment: has_tag
-- In ASCII whatever their case.
exists (select 1 from json_each(item.categories) as has where lower(has.value) = lower(wanted.value ->> 0))

-- fragment: ref
select entry.id, coalesce(of_feed.number, of_series.number) as feed, {arrival} as arrived_at

-- fragment: numbered
left join feed_number as of_feed on of_feed.shelf_id = entry.shelf_id and of_feed.feed_id = entry.feed_id
left join feed_number as of_series on of_series.shelf_id = entry.shelf_id and of_series.series_id = entry.series_id

-- name: ascending
{ref} from entry {numbered} where {is_wanted} order by entry.id limit :most offset :skip;

-- name: descending
{ref} from entry {numbered} where {is_wanted} order by entry.id desc limit :most offset :skip;

-- fragment: in_order
order by case cast(:by as text)
    when 'published' then entry.sort_at
    when 'created' then {arrival}
    when 'changed' then coalesce(entry.changed_at, {arrival})
    else entry.id
  end * case when cast(:descending as boolean) then -1 else 1 end,
  entry.id * case when cast(:descending as boolean) then -1 else 1 end
limit :most offset :skip

-- name: unread
-- Sorted after it was found: what is unread is little of what there is.
{ref} from {by_unread} {numbered} where entry.unread and {is_wanted} {in_order};

-- name: saved
{ref} from {by_saved} {numbered} where entry.saved and {is_wanted} {in_order};

-- name: of_feed
{ref} from {by_feed} {numbered} where entry.shelf_id = :shelf_id and entry.feed_id = :feed_id and {is_wanted} {in_order};

-- name: of_series
{ref} from {by_series} {numbered} where entry.shelf_id = :shelf_id and entry.series_id = :series_id and {is_wanted} {in_order};

-- name: published
-- By the date of the publisher, along its index.
{ref} from {by_date} {numbered} where {is_wanted} order by entry.sort_at, entry.id limit :most offset :skip;

-- name: last_published
{ref} from {by_date} {numbered} where {is_wanted} order by entry.sort_at desc, entry.id desc limit :most offset :skip;

-- name: changed
-- What was marked or saved since then, and what came since then, each by its index.
{ref} from (
  select id from entry where shelf_id = :shelf_id and changed_at > :changed_from
  union
  select id from entry where shelf_id = :shelf_id and created_at > :changed_from
  union
  select id from entry where shelf_id = :shelf_id and appeared_at > :changed_from
) as recent
cross join entry {numbered}
where entry.id = recent.id and {is_wanted} {in_order};

-- name: ordered
{ref} from entry {numbered} where {is_wanted} {in_order};

-- fragment: hits
select rowid as found from item_search where item_search match :match

-- name: found
with hit as ({hits})
{ref} from hit cross join entry {numbered}
where entry.shelf_id = :shelf_id and entry.item_id = hit.found and {is_wanted} {in_order};

-- fragment: placed
row_number() over (
  order by
    case cast(:by as text)
      when 'status' then case when entry.unread then 'unread' else 'read' end
      when 'title' then coalesce(item.title, chapter.title)
      when 'author' then coalesce(item.author, '')
      when 'category_title' then shelf_group.name
    end,
    case when cast(:by as text) = 'category_id' then shelf_group.id end, entry.id
) as place

-- fragment: named
left join item on item.id = entry.item_id
left join chapter on chapter.id = entry.chapter_id
left join subscription on subscription.shelf_id = entry.shelf_id and subscription.feed_id = entry.feed_id
left join follow on follow.shelf_id = entry.shelf_id and follow.series_id = entry.series_id
left join shelf_group on shelf_group.id = coalesce(subscription.group_id, follow.group_id)

-- fragment: by_place
order by case when cast(:descending as boolean) then -place else place end limit :most offset :skip

-- name: by_name
-- For the few who list by status, title, author or category.
select id, feed, arrived_at from (
  {ref}, {placed} from entry {numbered} {named} where {is_wanted}
) as listed {by_place};

-- name: found_by_name
with hit as ({hits})
select id, feed, arrived_at from (
  {ref}, {placed} from hit cross join entry {numbered} {named}
  where entry.shelf_id = :shelf_id and entry.item_id = hit.found and {is_wanted}
) as listed {by_place};

-- name: count
select count(*) from entry where {is_wanted};

-- name: count_found
with hit as ({hits})
select count(*) from hit cross join entry
where entry.shelf_id = :shelf_id and entry.item_id = hit.found and {is_wanted};

-- fragment: these
in (select cast(value as bigint) from json_each(cast(:ids as text)))

-- name: details
-- Of the entries of one answer, what apps get beside the item or chapter. Materialized: PostgreSQL would rather begin
-- with all that the shelf has.
with page as materialized (
  select id, shelf_id, feed_id, series_id, changed_at, {arrival} as arrived_at from entry
  where shelf_id = :shelf_id and id {these}
    and id <= :settled
    and (cast(:kind as text) is null or (cast(:kind as text) = 'item') = (item_id is not null))
)
select entry.id, coalesce(of_feed.number, of_series.number) as feed, entry.arrived_at, entry.changed_at, shelf_group.id as group_id,
  shelf_group.name as group_name,
  case
    when series.id is null then coalesce(nullif(subscription.name, ''), nullif(feed.title, ''), feed.link)
    else coalesce(nullif(series.title, ''), 'Untitled')
  end as feed_title,
  coalesce(subscription.site_url, feed.site_url, {first_source}) as site_url, feed.link as feed_link
from page as entry {numbered}
left join feed on feed.id = entry.feed_id
left join subscription on subscription.shelf_id = entry.shelf_id and subscription.feed_id = entry.feed_id
left join series on series.id = entry.series_id
left join follow on follow.shelf_id = entry.shelf_id and follow.series_id = entry.series_id
join shelf_group on shelf_group.id = coalesce(subscription.group_id, follow.group_id);

-- name: text_sizes
-- Of texts as they are stored: neither engine reads them for that.
select entry.id,
  coalesce(octet_length(item.content), 0) + coalesce(octet_length(item_full_text.content), 0) as size
from entry left join item on item.id = entry.item_id left join item_full_text on item_full_text.item_id = entry.item_id
where entry.shelf_id = :shelf_id and entry.id {these};

-- name: full_texts
-- Of the items of one answer, what their pages say; nothing where that could not be fetched.
select item_id, content from item_full_text
where item_id in (select cast(value as bigint) from json_each(cast(:ids as text)));

-- name: played
select entry_id, place, seconds from played_file
where entry_id in (select cast(value as bigint) from json_each(cast(:ids as text)));

-- name: play
-- I8: only of an entry of the shelf, which may have gone meanwhile.
insert into played_file (entry_id, place, seconds, updated_at)
select id, cast(:place as bigint), cast(:seconds as bigint), cast(:now as bigint)
from entry where shelf_id = :shelf_id and id = :id
on conflict (entry_id, place) do update set seconds = excluded.seconds, updated_at = excluded.updated_at;

-- name: visible
-- Which of these are entries of the shelf that the app may see, and what each is about.
select id, item_id, saved from entry
where shelf_id = :shelf_id and id {these}
  and (cast(:kind as text) is null or (cast(:kind as text) = 'item') = (item_id is not null))
order by id;

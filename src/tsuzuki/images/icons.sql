-- Icons of feeds: which there are, which are due, and what became of them.

-- name: changed_feeds
-- Feeds that somebody follows and whose icons are not chosen yet, or by what they no longer say. Behind a proxy of a reader's
-- own nothing is fetched without it.
select feed.id, feed.link, feed.icon_url, coalesce(feed.site_url, feed.link) as site_url
from feed left join feed_icon on feed_icon.feed_id = feed.id
where feed.proxy = ''
  and (
    feed_icon.feed_id is null or feed_icon.icon_url is distinct from feed.icon_url
    or feed_icon.site_url <> coalesce(feed.site_url, feed.link)
  )
  and exists (select 1 from subscription where subscription.feed_id = feed.id)
order by feed.id desc
limit :most;

-- name: add_icon
-- Whoever needs it at once has it fetched, if nobody has until now.
insert into icon (subject, page, next_at) values (:subject, :page, :next_at)
on conflict (subject) do update set next_at = coalesce(icon.next_at, excluded.next_at)
returning id, png is null and failures > 0 as has_failed;

-- name: choose
insert into feed_icon (feed_id, icon_url, site_url, own_id, site_id)
values (:feed_id, :icon_url, :site_url, :own_id, :site_id)
on conflict (feed_id) do update set
  icon_url = excluded.icon_url, site_url = excluded.site_url, own_id = excluded.own_id, site_id = excluded.site_id;

-- name: forget_unused
delete from icon
where not exists (select 1 from feed_icon where feed_icon.own_id = icon.id)
  and not exists (select 1 from feed_icon where feed_icon.site_id = icon.id);

-- name: due
select id, subject, page, failures from icon where next_at <= :now order by next_at, id limit :most;

-- name: save_picture
-- The same picture keeps its address: nobody fetches it again.
update icon set
  token = case when png = :png then token else :token end, png = :png, failures = 0, error = null, next_at = :next_at
where id = :id;

-- name: save_failure
update icon set failures = :failures, error = :error, next_at = :next_at where id = :id;

-- name: want_sites
-- The feeds that name this picture have none but their site's.
update icon set next_at = :now
where next_at is null and id in (select site_id from feed_icon where own_id = :own_id)
  and exists (select 1 from icon as own where own.id = :own_id and own.png is null);

-- fragment: of_feeds
from subscription
join feed_icon on feed_icon.feed_id = subscription.feed_id
left join icon as own on own.id = feed_icon.own_id
left join icon as site on site.id = feed_icon.site_id
where subscription.shelf_id = :shelf_id and (own.png is not null or site.png is not null)

-- name: of_shelf
select subscription.feed_id,
  case when own.png is not null then own.id else site.id end as id,
  case when own.png is not null then own.token else site.token end as token
{of_feeds};

-- name: pictures_of_shelf
select icon.id, icon.png from icon
where icon.id in (select case when own.png is not null then own.id else site.id end {of_feeds})
order by icon.id;

-- name: by_token
-- inline: by key
select png from icon where token = :token;

-- fragment: recipient
channel.id as channel_id, channel.public_id as channel_public_id

-- name: item_recipients
-- Entries of this delivery only: who subscribed since then gets no notices of it (R8). Muted ones are left out.
select {recipient}, case when subscription.name = '' then feed.title else subscription.name end as name
from entry
join subscription on subscription.shelf_id = entry.shelf_id and subscription.feed_id = entry.feed_id
join feed on feed.id = entry.feed_id
join channel on channel.shelf_id = entry.shelf_id
where entry.item_id = :id and entry.created_at = :at
  and subscription.notify and subscription.suspended_at is null and channel.is_enabled
order by channel.id;

-- name: chapter_recipients
select {recipient}, series.title as name
from entry
join follow on follow.shelf_id = entry.shelf_id and follow.series_id = entry.series_id
join series on series.id = entry.series_id
join channel on channel.shelf_id = entry.shelf_id
where entry.chapter_id = :id and entry.created_at = :at
  and follow.notify and follow.status <> 'dropped' and follow.held_at is null and channel.is_enabled
order by channel.id;

-- name: items_recipients
-- A flood: who got something of it and was there before it.
select {recipient}, case when subscription.name = '' then feed.title else subscription.name end as name
from subscription
join feed on feed.id = subscription.feed_id
join channel on channel.shelf_id = subscription.shelf_id
where subscription.feed_id = :id and subscription.notify and subscription.suspended_at is null and channel.is_enabled
  and subscription.created_at <= :at and exists (
    select 1 from entry
    where entry.shelf_id = subscription.shelf_id and entry.feed_id = subscription.feed_id and entry.created_at >= :at
  )
order by channel.id;

-- name: chapters_recipients
select {recipient}, series.title as name
from follow
join series on series.id = follow.series_id
join channel on channel.shelf_id = follow.shelf_id
where follow.series_id = :id and follow.notify and follow.status <> 'dropped' and follow.held_at is null and channel.is_enabled
  and follow.created_at <= :at and exists (
    select 1 from entry
    where entry.shelf_id = follow.shelf_id and entry.series_id = follow.series_id and entry.created_at >= :at
  )
order by channel.id;

-- name: tenant_recipients
-- Notices on a tenant's account go to every channel of its shelves, of those that sleep too.
select {recipient}, tenant.name
from shelf
join tenant on tenant.id = shelf.tenant_id
join channel on channel.shelf_id = shelf.id
where shelf.tenant_id = :tenant_id and channel.is_enabled
order by channel.id;

-- fragment: no_series
(select series.public_id from series where false)

-- name: item_subject
select title, link as url, cast(null as text) as number, {no_series} as series_public_id,
  case when title = '' then substr(content, 1, 6000) else '' end as beginning
from item where id = :id;

-- name: chapter_subject
select title, (
  select coalesce(release.real_url, release.url) from release
  where release.chapter_id = chapter.id and release.is_available order by release.id limit 1
) as url, number, (select series.public_id from series where series.id = chapter.series_id) as series_public_id, '' as beginning
from chapter where id = :id;

-- name: feed_subject
select title, site_url as url, cast(null as text) as number, {no_series} as series_public_id, '' as beginning
from feed where id = :id;

-- name: series_subject
select title, cast(null as text) as url, cast(null as text) as number, public_id as series_public_id, '' as beginning
from series where id = :id;

-- name: close_burst
-- From here on, each one has its own notice.
update surge set told_at = :now where kind = :kind and of_id = :of_id and since = :at returning count;

-- fragment: channel
id, public_id, shelf_id, kind, name, config, is_enabled, consecutive_failures, rests_until, last_sent_at, last_failed_at,
  last_error, created_at, updated_at

-- fragment: maker
(select shelf_member.id from shelf_member where shelf_member.shelf_id = :shelf_id and shelf_member.user_id = :user_id)

-- fragment: of_person
-- R91: a channel is whose it is; those from before people had their own are the shelf's.
shelf_id = :shelf_id and (member_id is null or member_id = {maker})

-- name: add_channel
insert into channel (public_id, shelf_id, member_id, kind, name, config, created_at, updated_at)
values (:public_id, :shelf_id, {maker}, :kind, :name, :config, :now, :now)
returning {channel};

-- name: change_channel
-- One that was asleep wakes with its breaker closed.
update channel
set name = :name, config = :config, is_enabled = :is_enabled, consecutive_failures = 0, rests_until = null,
  last_error = null, updated_at = :now
where id = :id
returning {channel};

-- name: remove_channel
delete from channel where {of_person} and public_id = :public_id;

-- name: forget_channel
delete from channel where id = :id;

-- name: list_channels
select {channel} from channel where {of_person} order by name;

-- name: channel_names
select name from channel where shelf_id = :shelf_id;

-- name: count_channels
select count(*) as total from channel where shelf_id = :shelf_id;

-- name: find_channel
select {channel} from channel where {of_person} and public_id = :public_id;

-- name: channel_to_notify
-- Whoever is locked out gets no notices.
select {channel} from channel
where id = :id and not exists (
  select 1 from shelf_member
  join user_account on user_account.id = shelf_member.user_id
  where shelf_member.id = channel.member_id and user_account.disabled_at is not null
);

-- name: channel_worked
update channel set consecutive_failures = 0, rests_until = null, last_sent_at = :now, last_error = null where id = :id;

-- name: channel_failed
update channel
set consecutive_failures = consecutive_failures + 1, last_failed_at = :now, last_error = :error
where id = :id
returning consecutive_failures;

-- name: pause_channel
update channel set rests_until = :until where id = :id;

-- name: claim_probe
-- Of all that wait for a channel to wake up, one tries it.
update channel set rests_until = :until where id = :id and rests_until <= :now;

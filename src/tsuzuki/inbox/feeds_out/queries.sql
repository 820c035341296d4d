-- fragment: columns
feed_out.id, feed_out.public_id, feed_out.shelf_id, shelf.public_id as shelf_public_id, feed_out.name, feed_out.kind,
  feed_out.state, feed_out.of_feed, feed_out.of_group, feed_out.of_series, feed_out.of_tag, feed_out.search,
  feed_out.is_full, feed_out.secret, feed_out.created_at, feed_out.updated_at, feed_out.fetched_at

-- fragment: of_person
-- I8: nobody else's on a shared shelf.
from feed_out
join shelf on shelf.id = feed_out.shelf_id
join shelf_member on shelf_member.id = feed_out.member_id
where feed_out.shelf_id = :shelf_id and shelf_member.user_id = :user_id

-- fragment: of_somebody_who_may
-- SEC-34: whoever is locked out shows nothing any more.
from feed_out
join shelf on shelf.id = feed_out.shelf_id
join shelf_member on shelf_member.id = feed_out.member_id
join user_account on user_account.id = shelf_member.user_id and user_account.disabled_at is null

-- name: list_feeds
select {columns} {of_person} order by feed_out.id desc;

-- name: get_feed
select {columns} {of_person} and feed_out.public_id = :public_id;

-- name: count_feeds
select count(*) as total {of_person};

-- name: add_feed
insert into feed_out (
  public_id, shelf_id, member_id, name, kind, state, of_feed, of_group, of_series, of_tag, search, is_full, secret_hash,
  secret, created_at, updated_at
)
select :public_id, shelf_member.shelf_id, shelf_member.id, cast(:name as text), cast(:kind as text), cast(:state as text),
  :of_feed, :of_group, :of_series, :of_tag, cast(:search as text), cast(:is_full as boolean), :secret_hash, cast(:secret as text),
  cast(:now as bigint), cast(:now as bigint)
from shelf_member where shelf_member.shelf_id = :shelf_id and shelf_member.user_id = :user_id
returning id;

-- name: replace_secret
update feed_out set secret_hash = :secret_hash, secret = :secret, updated_at = :now, fetched_at = null where id = :id;

-- name: end_subscriptions
-- The topic that they know has ended; each is notified.
update hub_subscription set feed_out_id = null where feed_out_id = :id;

-- name: delete_feed
delete from feed_out where id = :id;

-- name: find_feed
-- inline: by a unique key, at every request of a feed reader
select {columns} {of_somebody_who_may} where feed_out.secret_hash = :secret_hash;

-- name: touch_feed
update feed_out set fetched_at = :now where id = :id;

-- The hub ----------------------------------------------------------------------------------------------------

-- fragment: subscription
hub_subscription.id, hub_subscription.feed_out_id, hub_subscription.topic, hub_subscription.callback,
  hub_subscription.host, hub_subscription.secret, hub_subscription.lease_until, hub_subscription.asked_mode,
  hub_subscription.asked_secret, hub_subscription.asked_lease, hub_subscription.asked_at, hub_subscription.failures

-- name: find_subscription
select {subscription} from hub_subscription where hub_subscription.id = :id;

-- name: feed_of_subscription
-- I8: none, when it has ended or whose it is is locked out.
select {columns} {of_somebody_who_may} where feed_out.id = :id;

-- name: lock_feed_out
-- Whoever else wants it waits for the end of this transaction.
update feed_out set told = told where id = :id returning told;

-- name: store_told
update feed_out set told = :told where id = :id;

-- name: count_subscribers
select count(*) as total from hub_subscription where feed_out_id = :feed_out_id and callback_hash <> :callback_hash;

-- name: count_of_host
-- I8: of the tenant's feeds alone; nobody is to be kept from subscribing by what others have.
select count(*) as total
from hub_subscription
join feed_out on feed_out.id = hub_subscription.feed_out_id
join shelf on shelf.id = feed_out.shelf_id
where hub_subscription.host = :host and hub_subscription.callback_hash <> :callback_hash
  and shelf.tenant_id = (select own.tenant_id from shelf own where own.id = :shelf_id);

-- name: ask_to_subscribe
-- What was confirmed before stays as it is until this is confirmed too.
insert into hub_subscription (
  feed_out_id, format, topic, callback, callback_hash, host, asked_mode, asked_secret, asked_lease, asked_at, created_at
)
values (
  :feed_out_id, :form, :topic, :callback, :callback_hash, :host, 'subscribe', :asked_secret, :asked_lease, :now, :now
)
on conflict (feed_out_id, format, callback_hash) where feed_out_id is not null do update set
  asked_mode = excluded.asked_mode, asked_secret = excluded.asked_secret, asked_lease = excluded.asked_lease,
  asked_at = excluded.asked_at
returning id;

-- name: ask_to_unsubscribe
update hub_subscription set asked_mode = 'unsubscribe', asked_at = :now
where feed_out_id = :feed_out_id and format = :form and callback_hash = :callback_hash
returning id;

-- name: confirm_subscription
update hub_subscription
set secret = :secret, lease_until = :lease_until, failures = 0, asked_mode = null, asked_secret = ''
where id = :id;

-- name: forget_question
update hub_subscription set asked_mode = null, asked_secret = '' where id = :id;

-- name: delete_subscription
delete from hub_subscription where id = :id;

-- name: note_push
update hub_subscription set failures = :failures where id = :id;

-- name: watched
-- Feeds with subscribers, on whose shelves something happened since then.
select {columns} {of_somebody_who_may}
where exists (
    select 1 from hub_subscription
    where hub_subscription.feed_out_id = feed_out.id and hub_subscription.lease_until > :now
  )
  and (
    cast(:since as bigint) = 0
    or exists (select 1 from event where event.shelf_id = feed_out.shelf_id and event.created_at >= cast(:since as bigint))
  )
order by feed_out.id;

-- name: get_told
select told from feed_out where id = :id;

-- name: subscribers
select id from hub_subscription where feed_out_id = :feed_out_id and lease_until > :now order by id;

-- name: ended
-- Those whose feed has ended; who has not confirmed is not notified.
select id as subscription_id, asked_at from hub_subscription
where feed_out_id is null and lease_until > :now order by id;

-- name: forget_old
delete from hub_subscription
where lease_until <= :now or (lease_until is null and (asked_at < :before or feed_out_id is null));

-- name: newest_text
select coalesce(max(fetched_at), 0) from item_full_text
where content <> '' and item_id in (select cast(value as bigint) from json_each(cast(:ids as text)));

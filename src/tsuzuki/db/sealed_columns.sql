-- name: sealed_with
select value from server_secret where name = 'sealed-with';

-- name: set_sealed_with
insert into server_secret (name, value, created_at) values ('sealed-with', :value, :now)
on conflict (name) do update set value = excluded.value, created_at = excluded.created_at;

-- name: channels_after
select id, name, config from channel where id > :after order by id limit :most;

-- name: seal_channel
update channel set config = :config where id = :id;

-- name: sources_after
select id, name, config from source where id > :after order by id limit :most;

-- name: seal_source
update source set config = :config where id = :id;

-- name: proxies_after
select id, link as name, proxy as value from feed where id > :after and proxy <> '' order by id limit :most;

-- name: seal_proxy
-- Where the feed exists a second time under its sealed name, it stays as it is.
update feed set proxy = :value
where id = :id and not exists (
  select 1 from feed as other where other.link = feed.link and other.proxy = :value and other.id <> feed.id
);

-- name: notes_after
select source_id as id, key as name, value from source_meta where source_id > :after order by source_id limit :most;

-- name: seal_note
update source_meta set value = :value where source_id = :id and key = :name;

-- name: feeds_out_after
select id, name, secret as value from feed_out where id > :after order by id limit :most;

-- name: seal_feed_out
update feed_out set secret = :value where id = :id;

-- name: hub_after
select id, host as name, topic, callback, secret, asked_secret from hub_subscription
where id > :after order by id limit :most;

-- name: seal_hub
update hub_subscription set topic = :topic, callback = :callback, secret = :secret, asked_secret = :asked_secret
where id = :id;

-- name: add_feed
-- R70: a feed that is known is shared, not stored again; a repeat returns no row.
insert into feed (link, proxy, title, created_at, updated_at)
values (:link, :proxy, :title, :now, :now)
on conflict (link, proxy) do nothing
returning id;

-- name: find_feed
-- inline: by its unique key
select id from feed where link = :link and proxy = :proxy;

-- name: add_source
insert into source (uid, name, slug, lang, base_url, connector, config, is_nsfw, supports_latest, created_at, updated_at)
values (:uid, :name, :slug, :lang, :base_url, :connector, :config, :is_nsfw, :supports_latest, :now, :now)
returning id;

-- name: add_series
insert into series (public_id, title, match_key, author, created_at, updated_at)
values (:public_id, :title, :match_key, :author, :now, :now)
returning id;

-- name: add_series_source
-- REL-10: a repeat meets the unique (source_id, source_key), inserts nothing and returns no row.
insert into series_source (series_id, source_id, source_key, url, title, created_at, updated_at)
values (:series_id, :source_id, :source_key, :url, :title, :now, :now)
on conflict (source_id, source_key) do nothing
returning id;

-- name: add_watch
-- One watch per feed or series source: the unique keys refuse a second.
insert into watch (feed_id, series_source_id, host, priority, next_check_at, created_at)
values (:feed_id, :series_source_id, :host, :priority, :next_check_at, :now)
returning id;

-- name: claim_due_watches
-- R25: one statement takes the lease, so two schedulers never poll the same watch. I5: while it is held, next_check_at is
-- its end; a claimer that dies leaves the watch due again then.
update watch
set lease_token = lease_token + 1, lease_until = :until, next_check_at = :until
where id in (
  select id from watch
  where suspended_at is null and priority = :priority and next_check_at <= :now
  order by next_check_at
  limit :most
)
returning id, lease_token, feed_id, series_source_id, host, priority, etag, last_modified, body_hash, consecutive_failures;

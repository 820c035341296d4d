-- A claim writes no column of an index any more, nor an outcome the one by hosts. The order of the columns is for
-- PostgreSQL's sake (docs/decisions/0102-what-a-poll-writes.md). Foreign keys are not enforced meanwhile.

create table watch_made_new (
  id integer primary key,
  feed_id integer references feed (id) on delete cascade,
  series_source_id integer references series_source (id) on delete cascade,
  host text not null,
  priority integer not null default 2 check (priority in (1, 2, 3)),  -- HOT, WARM, COLD
  next_check_why text not null default '',
  refresh_at integer,  -- a person wants it now; suspended or not
  poll_floor integer,  -- the fastest plan among its followers, in milliseconds
  suspended_at integer,
  suspended_reason text,
  etag text,
  last_modified text,
  cache_control text,
  retry_after_until integer,
  body_hash blob,
  last_full_at integer,  -- R26: the last unconditional GET
  last_http_status integer,
  last_error_at integer,
  last_error text,
  last_error_code text,
  consecutive_failures integer not null default 0 check (consecutive_failures >= 0),
  first_harvest_at integer,  -- R8: null until the back-catalogue is in
  last_release_at integer,
  moved_to text,
  moved_count integer not null default 0,
  moved_since integer,
  gone_since integer,
  created_at integer not null,
  waits_since integer,  -- R97: when it fell due, while it waits for its host: its place
  validators_url text,  -- whose etag and last_modified are; null: the address that is asked
  ttl integer,  -- R94: the publisher's wishes, in milliseconds and as bits
  skip_hours integer not null default 0,  -- bit 0 is from 0:00 to 1:00 UTC
  skip_days integer not null default 0,  -- bit 0 is Monday
  harvested_at integer,
  lease_token integer not null default 0,  -- I4: a writer without the newest token writes nothing
  unended integer not null default 0,  -- polls in a row that were begun and never ended
  lease_until integer,
  next_check_at integer not null,  -- I5: this alone decides when it is due
  last_checked_at integer,
  last_success_at integer,
  expires_at integer,
  check ((feed_id is null) <> (series_source_id is null))
) strict;
insert into watch_made_new (
  id, feed_id, series_source_id, host, priority, next_check_why, refresh_at, poll_floor, suspended_at, suspended_reason,
  etag, last_modified, cache_control, retry_after_until, body_hash, last_full_at, last_http_status, last_error_at,
  last_error, last_error_code, consecutive_failures, first_harvest_at, last_release_at, moved_to, moved_count,
  moved_since, gone_since, created_at, waits_since, validators_url, ttl, skip_hours, skip_days, harvested_at,
  lease_token, unended, lease_until, next_check_at, last_checked_at, last_success_at, expires_at
)
select
  id, feed_id, series_source_id, host, priority, next_check_why, refresh_at, poll_floor, suspended_at, suspended_reason,
  etag, last_modified, cache_control, retry_after_until, body_hash, last_full_at, last_http_status, last_error_at,
  last_error, last_error_code, consecutive_failures, first_harvest_at, last_release_at, moved_to, moved_count,
  moved_since, gone_since, created_at, waits_since, validators_url, ttl, skip_hours, skip_days, harvested_at,
  lease_token, unended, lease_until, next_check_at, last_checked_at, last_success_at, expires_at
from watch order by id;
drop table watch;
alter table watch_made_new rename to watch;

create unique index watch_feed on watch (feed_id) where feed_id is not null;
create unique index watch_series_source on watch (series_source_id) where series_source_id is not null;
create index watch_due on watch (  -- host and feed_id: what waits behind full hosts is found without a look at its row
  priority, (case when waits_since < next_check_at then waits_since else next_check_at end), next_check_at, host, feed_id,
  waits_since, suspended_at
) where suspended_at is null;
create index watch_new on watch (
  (case when waits_since < next_check_at then waits_since else next_check_at end), next_check_at, host, feed_id,
  waits_since, suspended_at
) where suspended_at is null and last_checked_at is null;
create index watch_refresh on watch (refresh_at) where refresh_at is not null;
create index watch_broken on watch (series_source_id) where consecutive_failures >= 5 and series_source_id is not null;

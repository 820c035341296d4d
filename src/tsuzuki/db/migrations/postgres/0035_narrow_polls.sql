-- What a poll writes: a claim no column of an index, an outcome few indexes, and what both write side by side, since of
-- a row PostgreSQL logs all from the first column that changed to the last (docs/decisions/0102-what-a-poll-writes.md).

drop index watch_due;
drop index watch_new;
drop index watch_host;

alter table watch drop constraint watch_feed_id_key;
alter table watch drop constraint watch_series_source_id_key;
create unique index watch_feed on watch (feed_id) where feed_id is not null;
create unique index watch_series_source on watch (series_source_id) where series_source_id is not null;

alter table watch rename column lease_token to former_lease_token;
alter table watch rename column unended to former_unended;
alter table watch rename column lease_until to former_lease_until;
alter table watch rename column next_check_at to former_next_check_at;
alter table watch rename column last_checked_at to former_last_checked_at;
alter table watch rename column last_success_at to former_last_success_at;
alter table watch rename column expires_at to former_expires_at;
alter table watch
  add column lease_token bigint not null default 0,  -- I4: a writer without the newest token writes nothing
  add column unended bigint not null default 0,  -- polls in a row that were begun and never ended
  add column lease_until bigint,
  add column next_check_at bigint,  -- I5: this alone decides when it is due
  add column last_checked_at bigint,
  add column last_success_at bigint,
  add column expires_at bigint;
update watch
set lease_token = former_lease_token, unended = former_unended, lease_until = former_lease_until,
  next_check_at = former_next_check_at, last_checked_at = former_last_checked_at,
  last_success_at = former_last_success_at, expires_at = former_expires_at;
alter table watch
  alter column next_check_at set not null,
  drop column former_lease_token, drop column former_unended, drop column former_lease_until,
  drop column former_next_check_at, drop column former_last_checked_at, drop column former_last_success_at,
  drop column former_expires_at;
alter table watch set (fillfactor = 80);  -- room on the page for the next version of a row

create index watch_due on watch (
  priority, (case when waits_since < next_check_at then waits_since else next_check_at end)
) where suspended_at is null;
create index watch_new on watch (
  (case when waits_since < next_check_at then waits_since else next_check_at end)
) where suspended_at is null and last_checked_at is null;

-- How a publisher wants to be called, and the line of those that wait (R94-R97).

alter table watch add column waits_since integer;  -- R97: when it fell due, while it waits or is polled: its place
alter table watch add column unended integer not null default 0;  -- polls in a row that were begun and never ended
alter table watch add column validators_url text;  -- whose etag and last_modified are; null: the address that is asked
alter table watch add column ttl integer;  -- R94: the publisher's wishes, in milliseconds and as bits
alter table watch add column skip_hours integer not null default 0;  -- bit 0 is from 0:00 to 1:00 UTC
alter table watch add column skip_days integer not null default 0;  -- bit 0 is Monday

drop index watch_due;
create index watch_due on watch (  -- host and feed_id: what must wait for them is passed over without a look at its row
  priority, (case when waits_since < next_check_at then waits_since else next_check_at end), next_check_at, host, feed_id,
  waits_since, suspended_at
) where suspended_at is null;
create index watch_new on watch (
  (case when waits_since < next_check_at then waits_since else next_check_at end), next_check_at, host, feed_id,
  waits_since, suspended_at
) where suspended_at is null and last_checked_at is null;

create table looked_at (  -- R96: what a look at an address brought, for the first poll of whoever follows it then
  url text primary key,
  reply blob not null,
  at integer not null
) strict;
create index looked_at_at on looked_at (at);

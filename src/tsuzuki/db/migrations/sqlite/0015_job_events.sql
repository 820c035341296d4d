-- Streams tell of crawl jobs too. A check cannot be changed here: the table is made anew, and its ids go on from where they were.

alter table event rename to event_before;
create table event (
  id integer primary key autoincrement,  -- never used twice
  txid integer not null default 0,  -- there is one writer: ids are committed in their order
  shelf_id integer not null references shelf (id) on delete cascade,
  kind text not null check (kind in ('entry', 'counts', 'feed', 'job')),
  payload text not null,
  created_at integer not null
) strict;
insert into event (id, txid, shelf_id, kind, payload, created_at)
select id, txid, shelf_id, kind, payload, created_at from event_before;
delete from sqlite_sequence where name = 'event';
insert into sqlite_sequence (name, seq) select 'event', seq from sqlite_sequence where name = 'event_before';
drop table event_before;
create index event_shelf on event (shelf_id, txid, id);  -- what Last-Event-ID names
create index event_order on event (txid, id);
create index event_age on event (created_at);

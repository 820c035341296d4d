-- The inbox by arrival (R92), breakers that close (R99), one call for a cold key (R102), floods that were told.

create index entry_arrival on entry (shelf_id, created_at, sort_at, id);
create index entry_unread_arrival on entry (shelf_id, created_at, sort_at, id) where unread;

create index watch_broken on watch (series_source_id) where consecutive_failures >= 5 and series_source_id is not null;

alter table surge add column harvest text not null default '';  -- which poll or refresh began the flood
alter table surge add column told_at bigint;  -- when the channels were told of it

create table call_lock (  -- R102: who calls a source for this key, while others wait for what it brings
  key text primary key,
  holder text not null,
  failure text,  -- why its call failed, for those who waited for it
  until bigint not null
);

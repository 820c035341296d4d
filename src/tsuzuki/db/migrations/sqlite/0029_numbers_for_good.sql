-- R108: apps know groups and chapters by their ids too. None is used twice from now on: both tables are made anew with
-- autoincrement. Foreign keys are not enforced meanwhile, so whatever points to them stays.

create table shelf_group_new (
  id integer primary key autoincrement,  -- R108: the number that apps know it by
  public_id blob not null unique check (length(public_id) = 16),
  shelf_id integer not null references shelf (id) on delete cascade,
  name text not null,
  position integer not null default 0,
  is_default integer not null default 0 check (is_default in (0, 1)),
  created_at integer not null,
  updated_at integer not null,
  unique (shelf_id, name)
) strict;
insert into shelf_group_new (id, public_id, shelf_id, name, position, is_default, created_at, updated_at)
select id, public_id, shelf_id, name, position, is_default, created_at, updated_at from shelf_group order by id;
drop table shelf_group;
alter table shelf_group_new rename to shelf_group;
create unique index shelf_group_default on shelf_group (shelf_id) where is_default;

create table chapter_new (
  id integer primary key autoincrement,  -- R108: the number that apps know it by
  series_id integer not null references series (id) on delete cascade,
  key text not null,  -- R3: its number, or its release's key when it has none
  number text,  -- R2: exact decimal, canonical
  number_sort integer,  -- the same in millionths
  volume text,
  title text not null default '',
  published_at integer,
  first_seen_at integer not null,
  updated_at integer not null,
  revision integer not null default 0,  -- R1: 0 in an upsert's RETURNING means that it inserted
  unique (series_id, key)  -- I1, I2
) strict;
insert into chapter_new (
  id, series_id, key, number, number_sort, volume, title, published_at, first_seen_at, updated_at, revision
)
select id, series_id, key, number, number_sort, volume, title, published_at, first_seen_at, updated_at, revision
from chapter order by id;
drop table chapter;
alter table chapter_new rename to chapter;
create index chapter_order on chapter (series_id, number_sort);
create trigger chapter_search_gone after delete on chapter when old.title <> '' begin
  delete from chapter_search where rowid = old.id;
end;
-- One that was merged into another is still known by its number.
insert into sqlite_sequence (name, seq)
select 'chapter', 0 where not exists (select 1 from sqlite_sequence where name = 'chapter');
update sqlite_sequence set seq = max(seq, (select coalesce(max(id), 0) from former_chapter)) where name = 'chapter';

-- What apps are told arrived is what appeared on their shelf, which may be later than the inbox says: deliveries in
-- portions, what is restored, what an archive brings.
alter table entry add column appeared_at integer;  -- null: at created_at
create index entry_appeared on entry (shelf_id, appeared_at) where appeared_at is not null;

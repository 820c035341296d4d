-- How far a file of an entry was played, as an app tells it.
create table played_file (
  id integer primary key,
  entry_id integer not null references entry (id) on delete cascade,
  place integer not null check (place between 0 and 99),  -- among the files of its item
  seconds integer not null check (seconds >= 0),
  updated_at integer not null
) strict;
create unique index played_file_place on played_file (entry_id, place);

-- R108: reader apps know entries and feeds by numbers. None is ever used twice: the table of entries is made anew with
-- autoincrement.

create table entry_new (
  id integer primary key autoincrement,  -- R108: the number that apps know it by
  shelf_id integer not null references shelf (id) on delete cascade,
  feed_id integer,  -- its item's, for the lists by feed: the item goes with its feed, and the entry with its item
  item_id integer references item (id) on delete cascade,
  series_id integer,  -- its chapter's, in the same way
  chapter_id integer references chapter (id) on delete restrict,  -- I9: a reader's state holds the chapter
  unread integer not null default 1 check (unread in (0, 1)),
  saved integer not null default 0 check (saved in (0, 1)),
  sort_at integer not null,
  read_at integer,
  created_at integer not null,
  changed_at integer,  -- when it was last marked or saved, by the database's clock; null for never
  check ((item_id is null) <> (chapter_id is null)),
  check ((item_id is null) = (feed_id is null)),
  check ((chapter_id is null) = (series_id is null))
) strict;
insert into entry_new (
  id, shelf_id, feed_id, item_id, series_id, chapter_id, unread, saved, sort_at, read_at, created_at, changed_at
)
select id, shelf_id, feed_id, item_id, series_id, chapter_id, unread, saved, sort_at, read_at, created_at, read_at
from entry order by id;
drop table entry;
alter table entry_new rename to entry;
create unique index entry_item on entry (shelf_id, item_id) where item_id is not null;  -- I2
create unique index entry_chapter on entry (shelf_id, chapter_id) where chapter_id is not null;  -- I2
create index entry_unread on entry (shelf_id, sort_at, id) where unread;
create index entry_order on entry (shelf_id, sort_at, id);
create index entry_newest on entry (shelf_id, id);  -- up to where a mass mark goes; what apps ask for since a number
create index entry_saved on entry (shelf_id, sort_at, id) where saved;
create index entry_feed on entry (shelf_id, feed_id, sort_at, id) where feed_id is not null;
create index entry_series on entry (shelf_id, series_id, sort_at, id) where series_id is not null;
create index entry_of_item on entry (item_id) where item_id is not null;
create index entry_of_chapter on entry (chapter_id) where chapter_id is not null;
create index entry_arrival on entry (shelf_id, created_at, sort_at, id);
create index entry_unread_arrival on entry (shelf_id, created_at, sort_at, id) where unread;
create index entry_read on entry (shelf_id, feed_id, coalesce(read_at, created_at))
where not unread and not saved and feed_id is not null;
create index entry_changed on entry (shelf_id, changed_at) where changed_at is not null;

create trigger entry_added after insert on entry begin
  insert into tally (shelf_id, kind, of_id, entries, unread)
  values (
    new.shelf_id, iif(new.feed_id is null, 'chapter', 'item'), coalesce(new.feed_id, new.series_id), 1, new.unread
  )
  on conflict (shelf_id, kind, of_id) do update set entries = entries + 1, unread = unread + excluded.unread;
end;
create trigger entry_moved after update of shelf_id, feed_id, series_id on entry  -- series are merged and split
when (old.shelf_id, old.feed_id, old.series_id) is not (new.shelf_id, new.feed_id, new.series_id) begin
  update tally set entries = entries - 1, unread = unread - new.unread
  where shelf_id = old.shelf_id and kind = iif(old.feed_id is null, 'chapter', 'item')
    and of_id = coalesce(old.feed_id, old.series_id);
  delete from tally
  where shelf_id = old.shelf_id and kind = iif(old.feed_id is null, 'chapter', 'item')
    and of_id = coalesce(old.feed_id, old.series_id) and entries = 0;
  insert into tally (shelf_id, kind, of_id, entries, unread)
  values (
    new.shelf_id, iif(new.feed_id is null, 'chapter', 'item'), coalesce(new.feed_id, new.series_id), 1, new.unread
  )
  on conflict (shelf_id, kind, of_id) do update set entries = entries + 1, unread = unread + excluded.unread;
end;
create trigger entry_marked after update of unread on entry when old.unread <> new.unread begin
  update tally set unread = unread + new.unread - old.unread
  where shelf_id = old.shelf_id and kind = iif(old.feed_id is null, 'chapter', 'item')
    and of_id = coalesce(old.feed_id, old.series_id);
end;
create trigger entry_gone after delete on entry begin
  update tally set entries = entries - 1, unread = unread - old.unread
  where shelf_id = old.shelf_id and kind = iif(old.feed_id is null, 'chapter', 'item')
    and of_id = coalesce(old.feed_id, old.series_id);
  delete from tally
  where shelf_id = old.shelf_id and kind = iif(old.feed_id is null, 'chapter', 'item')
    and of_id = coalesce(old.feed_id, old.series_id) and entries = 0;
end;
-- Whoever marks or saves, however: apps ask for what changed since they looked.
create trigger entry_changed_at after update of unread, saved on entry
when old.unread <> new.unread or old.saved <> new.saved begin
  update entry set changed_at = cast(unixepoch('subsec') * 1000 as integer) where id = new.id;
end;

-- Feeds and series of a shelf share one row of numbers. A row stays when the shelf leaves what it is about: whoever
-- comes back has the number from before.
create table feed_number (
  number integer primary key autoincrement,
  shelf_id integer not null references shelf (id) on delete cascade,
  feed_id integer references feed (id) on delete cascade,
  series_id integer references series (id) on delete cascade,
  check ((feed_id is null) <> (series_id is null))
) strict;
create unique index feed_number_feed on feed_number (shelf_id, feed_id) where feed_id is not null;
create unique index feed_number_series on feed_number (shelf_id, series_id) where series_id is not null;
create index feed_number_shelf on feed_number (shelf_id);
create index feed_number_of_feed on feed_number (feed_id) where feed_id is not null;
create index feed_number_of_series on feed_number (series_id) where series_id is not null;
insert into feed_number (shelf_id, feed_id) select shelf_id, feed_id from subscription order by id;
insert into feed_number (shelf_id, series_id) select shelf_id, series_id from follow order by id;

create trigger subscription_numbered after insert on subscription begin
  insert into feed_number (shelf_id, feed_id) values (new.shelf_id, new.feed_id)
  on conflict (shelf_id, feed_id) where feed_id is not null do nothing;
end;
create trigger subscription_moved after update of feed_id on subscription when old.feed_id <> new.feed_id begin
  -- The number goes along to the new address, unless that has one already.
  update or ignore feed_number set feed_id = new.feed_id where shelf_id = new.shelf_id and feed_id = old.feed_id;
  insert into feed_number (shelf_id, feed_id) values (new.shelf_id, new.feed_id)
  on conflict (shelf_id, feed_id) where feed_id is not null do nothing;
end;
create trigger follow_numbered after insert on follow begin
  insert into feed_number (shelf_id, series_id) values (new.shelf_id, new.series_id)
  on conflict (shelf_id, series_id) where series_id is not null do nothing;
end;
create trigger follow_moved after update of series_id on follow when old.series_id <> new.series_id begin
  update or ignore feed_number set series_id = new.series_id where shelf_id = new.shelf_id and series_id = old.series_id;
  insert into feed_number (shelf_id, series_id) values (new.shelf_id, new.series_id)
  on conflict (shelf_id, series_id) where series_id is not null do nothing;
end;

-- R119: a shelf's own words for entries, feeds and series. An entry has its own tags and those of its feed or series. They
-- are of the item or chapter and not of the entry, so that they are there again when a feed or series comes back (I9).
create table tag (
  id integer primary key,
  public_id blob not null unique check (length(public_id) = 16),
  shelf_id integer not null references shelf (id) on delete cascade,
  name text not null check (length(name) between 1 and 100),
  folded text not null,  -- the name as it is compared, whatever its case
  deleted_at integer,  -- can be undone for a while
  created_at integer not null,
  updated_at integer not null
) strict;
create unique index tag_name on tag (shelf_id, folded) where deleted_at is null;
create index tag_deleted on tag (deleted_at) where deleted_at is not null;
create index tag_shelf on tag (shelf_id);

create table tagging (
  id integer primary key,
  tag_id integer not null references tag (id) on delete cascade,
  item_id integer references item (id) on delete cascade,
  chapter_id integer references chapter (id) on delete cascade,
  feed_id integer references feed (id) on delete cascade,
  series_id integer references series (id) on delete cascade,
  check ((item_id is not null) + (chapter_id is not null) + (feed_id is not null) + (series_id is not null) = 1)
) strict;
create unique index tagging_item on tagging (tag_id, item_id);
create unique index tagging_chapter on tagging (tag_id, chapter_id) where chapter_id is not null;
create unique index tagging_feed on tagging (tag_id, feed_id) where feed_id is not null;
create unique index tagging_series on tagging (tag_id, series_id) where series_id is not null;
create index tagging_of_item on tagging (item_id) where item_id is not null;
create index tagging_of_chapter on tagging (chapter_id) where chapter_id is not null;
create index tagging_of_feed on tagging (feed_id) where feed_id is not null;
create index tagging_of_series on tagging (series_id) where series_id is not null;

-- Imports of files from elsewhere, what undoes them, what backups said of series, and what devices synchronise.
create table shelf_import (
  id integer primary key autoincrement,  -- tasks name it
  public_id blob not null unique check (length(public_id) = 16),
  shelf_id integer not null references shelf (id) on delete cascade,
  user_id integer not null references user_account (id) on delete cascade,
  name text not null,  -- of the file
  kind text not null,
  status text not null default 'shown' check (
    status in ('shown', 'queued', 'running', 'done', 'failed', 'undoing', 'undone')
  ),
  preview text not null check (json_valid(preview)),  -- what the file has
  report text check (json_valid(report)),  -- what became of it
  error text,
  part text,  -- what is being imported
  done integer not null default 0,
  total integer not null default 0,
  created_at integer not null,
  updated_at integer not null,
  finished_at integer
) strict;
create index shelf_import_shelf on shelf_import (shelf_id, id);
create index shelf_import_user on shelf_import (user_id);

create table import_made (  -- what an import put onto a shelf, for its undo
  shelf_import_id integer not null references shelf_import (id) on delete cascade,
  kind text not null check (kind in ('group', 'subscription', 'follow', 'bookmark', 'backup')),
  of_id integer not null,
  primary key (shelf_import_id, kind, of_id)
) strict, without rowid;

create table import_progress (  -- how far chapters had been read before
  shelf_import_id integer not null references shelf_import (id) on delete cascade,
  chapter_id integer not null references chapter (id) on delete cascade,
  was_there integer not null check (was_there in (0, 1)),
  page integer not null,
  furthest_page integer not null,
  is_read integer not null check (is_read in (0, 1)),
  is_bookmarked integer not null check (is_bookmarked in (0, 1)),
  device text,
  paged_at integer,
  marked_at integer,
  opened_at integer,
  primary key (shelf_import_id, chapter_id)
) strict, without rowid;
create index import_progress_chapter on import_progress (chapter_id);

create table import_entry (  -- what entries of articles had been before
  shelf_import_id integer not null references shelf_import (id) on delete cascade,
  entry_id integer not null references entry (id) on delete cascade,
  was_there integer not null check (was_there in (0, 1)),
  unread integer not null check (unread in (0, 1)),
  saved integer not null check (saved in (0, 1)),
  read_at integer,
  primary key (shelf_import_id, entry_id)
) strict, without rowid;
create index import_entry_entry on import_entry (entry_id);

create table backup_series (  -- what a backup of Mihon said of a series: goes into the next one that is exported
  id integer primary key,
  shelf_id integer not null references shelf (id) on delete cascade,
  series_id integer not null references series (id) on delete cascade,
  source_uid integer not null,
  url text not null,
  source_name text not null,
  message blob not null,  -- packed with zlib
  updated_at integer not null,
  unique (shelf_id, source_uid, url)
) strict;
create index backup_series_series on backup_series (series_id);

create table backup_rest (  -- what backups said beside series, without anybody's passwords
  shelf_id integer primary key references shelf (id) on delete cascade,
  body blob not null,
  updated_at integer not null
) strict;

create table synced_backup (  -- what SyncYomi's clients share, in versions; the newest counts
  id integer primary key autoincrement,
  shelf_id integer not null references shelf (id) on delete cascade,
  etag text not null,
  file_key text not null,
  size integer not null,
  sha256 blob not null check (length(sha256) = 32),
  created_at integer not null
) strict;
create index synced_backup_shelf on synced_backup (shelf_id, id);

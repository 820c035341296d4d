-- What an import left, so that its undo takes back that and nothing else: what differs from it is the reader's own.
alter table import_made add column public_id bytea;  -- ids may be given out again
alter table import_made add column state text;  -- how a follow or a subscription was left

alter table import_progress add column left_page bigint;
alter table import_progress add column left_furthest_page bigint;
alter table import_progress add column left_is_read boolean;
alter table import_progress add column left_is_bookmarked boolean;
alter table import_progress add column left_paged_at bigint;
alter table import_progress add column left_marked_at bigint;
alter table import_progress add column left_opened_at bigint;

alter table import_entry add column left_unread boolean;
alter table import_entry add column left_saved boolean;
alter table import_entry add column left_read_at bigint;

create table import_former (  -- what the shelf had left before, and following again took
  shelf_import_id bigint not null references shelf_import (id) on delete cascade,
  series_id bigint not null references series (id) on delete cascade,
  group_id bigint references shelf_group (id) on delete set null,
  status text not null,
  notify boolean not null,
  preferences jsonb not null,
  entries jsonb not null,
  created_at bigint not null,
  left_at bigint not null,
  primary key (shelf_import_id, series_id)
);
create index import_former_series on import_former (series_id);
create index import_former_group on import_former (group_id);

create table import_series (  -- series that an import made
  shelf_import_id bigint not null references shelf_import (id) on delete cascade,
  series_id bigint not null references series (id) on delete cascade,
  primary key (shelf_import_id, series_id)
);
create index import_series_series on import_series (series_id);

create table import_chapter (  -- chapters that it added to series without a source
  shelf_import_id bigint not null references shelf_import (id) on delete cascade,
  chapter_id bigint not null references chapter (id) on delete cascade,
  primary key (shelf_import_id, chapter_id)
);
create index import_chapter_chapter on import_chapter (chapter_id);

create table import_backup (  -- what an earlier backup had said of a series
  shelf_import_id bigint not null references shelf_import (id) on delete cascade,
  backup_series_id bigint not null references backup_series (id) on delete cascade,
  source_name text not null,
  message bytea not null,
  updated_at bigint not null,
  primary key (shelf_import_id, backup_series_id)
);
create index import_backup_series on import_backup (backup_series_id);

create table import_rest (  -- and beside series; null where there was none
  shelf_import_id bigint primary key references shelf_import (id) on delete cascade,
  body bytea,
  updated_at bigint
);

-- Which import wrote it last.
alter table backup_series add column shelf_import_id bigint references shelf_import (id) on delete set null;
alter table backup_rest add column shelf_import_id bigint references shelf_import (id) on delete set null;
create index backup_series_import on backup_series (shelf_import_id) where shelf_import_id is not null;
create index backup_rest_import on backup_rest (shelf_import_id) where shelf_import_id is not null;
create index shelf_import_old on shelf_import (updated_at);

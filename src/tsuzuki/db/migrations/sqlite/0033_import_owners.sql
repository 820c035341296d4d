-- Whose it was what an import wrote over: undone, that is theirs again. What there was nothing of before is noted in the
-- same way, without a message.
create table import_backup_new (
  shelf_import_id integer not null references shelf_import (id) on delete cascade,
  backup_series_id integer not null references backup_series (id) on delete cascade,
  source_name text,
  message blob,  -- null where there was none
  updated_at integer,
  previous_import_id integer references shelf_import (id) on delete set null,  -- which had written that; null: none that is undone
  primary key (shelf_import_id, backup_series_id)
) strict, without rowid;
insert into import_backup_new (shelf_import_id, backup_series_id, source_name, message, updated_at)
select shelf_import_id, backup_series_id, source_name, message, updated_at from import_backup
union all
select shelf_import_id, of_id, null, null, null from import_made
where kind = 'backup' and exists (select 1 from backup_series where backup_series.id = import_made.of_id)
  and shelf_import_id not in (select id from shelf_import where status = 'undone')
  and not exists (
    select 1 from import_backup
    where import_backup.shelf_import_id = import_made.shelf_import_id and import_backup.backup_series_id = import_made.of_id
  );
drop table import_backup;
alter table import_backup_new rename to import_backup;
create index import_backup_series on import_backup (backup_series_id);
create index import_backup_previous on import_backup (previous_import_id) where previous_import_id is not null;

alter table import_rest add column previous_import_id integer references shelf_import (id) on delete set null;
create index import_rest_previous on import_rest (previous_import_id) where previous_import_id is not null;

create table import_made_new (
  shelf_import_id integer not null references shelf_import (id) on delete cascade,
  kind text not null check (kind in ('group', 'subscription', 'follow', 'former', 'bookmark')),
  of_id integer not null,  -- of a former follow: its series
  public_id blob,  -- ids may be given out again
  state text,  -- how it was left
  primary key (shelf_import_id, kind, of_id)
) strict, without rowid;
insert into import_made_new (shelf_import_id, kind, of_id, public_id, state)
select shelf_import_id, kind, of_id, public_id, state from import_made where kind <> 'backup';
drop table import_made;
alter table import_made_new rename to import_made;


-- Before, it was told by times. What each wrote over is newer than what the one before it wrote over.
update import_backup set previous_import_id = own.id
from (
  select shelf_import_id, backup_series_id,
    lag(shelf_import_id) over (
      partition by backup_series_id order by coalesce(updated_at, 0), shelf_import_id
    ) as former_id
  from import_backup
) as place, shelf_import as own
where import_backup.shelf_import_id = place.shelf_import_id
  and import_backup.backup_series_id = place.backup_series_id
  and own.id = place.former_id and import_backup.updated_at >= own.created_at
  and (import_backup.updated_at <= own.finished_at or own.finished_at is null or own.status in ('queued', 'running'));
update import_rest set previous_import_id = own.id
from (
  select import_rest.shelf_import_id,
    lag(import_rest.shelf_import_id) over (
      partition by shelf_import.shelf_id order by coalesce(import_rest.updated_at, 0), import_rest.shelf_import_id
    ) as former_id
  from import_rest join shelf_import on shelf_import.id = import_rest.shelf_import_id
) as place, shelf_import as own
where import_rest.shelf_import_id = place.shelf_import_id
  and own.id = place.former_id and import_rest.updated_at >= own.created_at
  and (import_rest.updated_at <= own.finished_at or own.finished_at is null or own.status in ('queued', 'running'));

-- An import that is undone has nothing to undo any more.
delete from import_made where shelf_import_id in (select id from shelf_import where status = 'undone');
delete from import_former where shelf_import_id in (select id from shelf_import where status = 'undone');
delete from import_chapter where shelf_import_id in (select id from shelf_import where status = 'undone');

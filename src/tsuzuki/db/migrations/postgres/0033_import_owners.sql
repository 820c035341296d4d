-- Whose it was what an import wrote over: undone, that is theirs again. What there was nothing of before is noted in the
-- same way, without a message.
alter table import_backup
  alter column source_name drop not null, alter column message drop not null, alter column updated_at drop not null,
  add column previous_import_id bigint references shelf_import (id) on delete set null;
insert into import_backup (shelf_import_id, backup_series_id)
select shelf_import_id, of_id from import_made
where kind = 'backup' and exists (select 1 from backup_series where backup_series.id = import_made.of_id)
  and shelf_import_id not in (select id from shelf_import where status = 'undone')
on conflict (shelf_import_id, backup_series_id) do nothing;
create index import_backup_previous on import_backup (previous_import_id) where previous_import_id is not null;

alter table import_rest add column previous_import_id bigint references shelf_import (id) on delete set null;
create index import_rest_previous on import_rest (previous_import_id) where previous_import_id is not null;

delete from import_made where kind = 'backup';
alter table import_made drop constraint import_made_kind_check,
  add constraint import_made_kind_check check (kind in ('group', 'subscription', 'follow', 'former', 'bookmark'));

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

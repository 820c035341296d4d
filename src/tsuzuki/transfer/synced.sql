-- fragment: columns
id, etag, file_key, size, sha256, created_at

-- name: list_versions
select {columns} from synced_backup where shelf_id = :shelf_id order by id desc;

-- name: find_version
-- I8: of this shelf only.
select {columns} from synced_backup where shelf_id = :shelf_id and id = :id;

-- name: newest
select {columns} from synced_backup where shelf_id = :shelf_id order by id desc limit 1;

-- name: add_version
insert into synced_backup (shelf_id, etag, file_key, size, sha256, created_at)
values (:shelf_id, :etag, :file_key, :size, :sha256, :now)
returning {columns};

-- name: drop_old
delete from synced_backup
where shelf_id = :shelf_id and id not in (
  select id from synced_backup as kept where kept.shelf_id = :shelf_id order by id desc limit :most
)
returning file_key;

-- name: keys
select file_key from synced_backup;

-- name: lock_source
select {source_columns} from source where id = :id for update;

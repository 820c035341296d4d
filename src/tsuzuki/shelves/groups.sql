-- fragment: columns
id, public_id, name, position, is_default, created_at, updated_at

-- name: list_groups
-- inline: a shelf's few, along an index, at every page; the caller puts them in order
select {columns} from shelf_group where shelf_id = :shelf_id;

-- name: find_group
-- I8: another shelf's group is not found.
select {columns} from shelf_group where shelf_id = :shelf_id and public_id = :public_id;

-- name: find_group_named
select {columns} from shelf_group where shelf_id = :shelf_id and name = :name;

-- name: default_group
select {columns} from shelf_group where shelf_id = :shelf_id and is_default;

-- name: add_group
-- At the end; the unique (shelf_id, name) refuses a second one of this name.
insert into shelf_group (public_id, shelf_id, name, position, created_at, updated_at)
values (
  :public_id, :shelf_id, :name, (select coalesce(max(position), 0) + 1 from shelf_group where shelf_id = :shelf_id),
  :now, :now
)
returning {columns};

-- name: change_group
update shelf_group set name = :name, position = :position, updated_at = :now where id = :id
returning {columns};

-- name: move_subscriptions
update subscription set group_id = :to_id, updated_at = :now where group_id = :from_id;

-- name: move_follows
update follow set group_id = :to_id, updated_at = :now where group_id = :from_id;

-- name: delete_group
delete from shelf_group where id = :id;

-- name: read_failures
select recent, blocked_until from sign_in_guard where key = :key;

-- name: lock_failures
-- SEC-37: the upsert locks the row, so that attempts of many processes are counted one after another.
insert into sign_in_guard (key, forget_at) values (:key, :forget_at)
on conflict (key) do update set forget_at = sign_in_guard.forget_at
returning recent, blocked_until;

-- name: save_guard
update sign_in_guard set recent = :recent, blocked_until = :blocked_until, forget_at = :forget_at where key = :key;

-- name: delete_old_guards
delete from sign_in_guard where key in (select key from sign_in_guard where forget_at <= :now);

-- name: is_known_device
select count(*) as total
from known_device
join user_account on user_account.id = known_device.user_id
where known_device.key_hash = :key_hash and user_account.username = :username and known_device.last_used_at > :since;

-- name: rename_device
update known_device set key_hash = :key_hash where key_hash = :old_hash;

-- name: remember_device
insert into known_device (key_hash, user_id, last_used_at) values (:key_hash, :user_id, :now)
on conflict (key_hash, user_id) do update set last_used_at = excluded.last_used_at;

-- name: delete_surplus_devices
delete from known_device
where user_id = :user_id and key_hash not in (
  select newest.key_hash from known_device as newest
  where newest.user_id = :user_id
  order by newest.last_used_at desc, newest.key_hash
  limit :most
);

-- name: forget_devices
delete from known_device where user_id = :user_id;

-- name: delete_old_devices
delete from known_device where last_used_at <= :before;

-- name: look_at_guard
select recent, blocked_until from sign_in_guard where key = :key;

-- name: hold_guard
-- SEC-37: the upsert locks the row, so that attempts of many processes are counted one after another.
insert into sign_in_guard (key, forget_at) values (:key, :forget_at)
on conflict (key) do update set forget_at = sign_in_guard.forget_at
returning recent, blocked_until;

-- name: save_guard
update sign_in_guard set recent = :recent, blocked_until = :blocked_until, forget_at = :forget_at where key = :key;

-- name: delete_old_guards
delete from sign_in_guard where key in (select key from sign_in_guard where forget_at <= :now);

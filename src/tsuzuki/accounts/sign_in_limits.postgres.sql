-- name: delete_old_guards
-- SKIP LOCKED: a row that a sign-in holds is in use, and waiting for several in any order can deadlock.
delete from sign_in_guard
where key in (select key from sign_in_guard where forget_at <= :now for update skip locked);

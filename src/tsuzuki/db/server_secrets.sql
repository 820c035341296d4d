-- name: keep_secret
insert into server_secret (name, value, created_at) values (:name, :value, :now)
on conflict (name) do nothing;

-- name: find_secret
select value from server_secret where name = :name;

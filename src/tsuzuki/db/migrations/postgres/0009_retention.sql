-- What was read long ago goes, in portions at night, and never comes back as new.

-- What a shelf's owners want, in milliseconds: null is the server's setting, 0 is for ever. `retention` is the plan's.
alter table shelf add column own_retention bigint check (own_retention >= 0);

-- The same for one feed: null is what the shelf has, 0 is for ever. Before, it could only be longer than 0.
alter table subscription add column new_retention bigint check (new_retention >= 0);
update subscription set new_retention = retention;
alter table subscription drop column retention;
alter table subscription rename column new_retention to retention;

create index entry_read on entry (shelf_id, feed_id, coalesce(read_at, created_at))
where not unread and not saved and feed_id is not null;

-- REL-39d: an item that was removed because no shelf had it any more. The feed still knows it when it is listed.
create table item_tombstone (
  feed_id bigint not null references feed (id) on delete cascade,
  key text not null,
  link_key text,
  content_hash bytea not null,
  at bigint not null,  -- when it was removed, or last listed, give or take a month
  primary key (feed_id, key)
);
create index item_tombstone_link on item_tombstone (feed_id, link_key, at) where link_key is not null;
create index item_tombstone_age on item_tombstone (at);

-- When its document was last read. A tombstone that was in it stays, however long the document does not change.
alter table watch add column harvested_at bigint;

-- How far the night's work has come.
create table retention_step (
  name text primary key,
  after_id bigint not null default 0,  -- where to go on
  before bigint not null default 0,  -- of the audit log: what is older may be removed
  finished_at bigint,
  pruned bigint not null default 0
);

-- The audit log is append-only but for what retention removes.
drop trigger audit_unchanged on audit;
create trigger audit_unchanged before update or truncate on audit
  for each statement execute function refuse_audit_change();
create function refuse_audit_delete() returns trigger language plpgsql as $$
begin
  if old.at >= coalesce((select before from retention_step where name = 'audit'), 0) then
    raise exception 'the audit log is append-only' using errcode = 'integrity_constraint_violation';
  end if;
  return old;
end $$;
create trigger audit_undeleted before delete on audit
  for each row execute function refuse_audit_delete();

-- What was read long ago goes, in portions at night, and never comes back as new.

-- What a shelf's owners want, in milliseconds: null is the server's setting, 0 is for ever. `retention` is the plan's.
alter table shelf add column own_retention integer check (own_retention >= 0);

-- The same for one feed: null is what the shelf has, 0 is for ever. Before, it could only be longer than 0.
alter table subscription add column new_retention integer check (new_retention >= 0);
update subscription set new_retention = retention;
alter table subscription drop column retention;
alter table subscription rename column new_retention to retention;

create index entry_read on entry (shelf_id, feed_id, coalesce(read_at, created_at))
where not unread and not saved and feed_id is not null;

-- REL-39d: an item that was removed because no shelf had it any more. The feed still knows it when it is listed.
create table item_tombstone (
  feed_id integer not null references feed (id) on delete cascade,
  key text not null,
  link_key text,
  content_hash blob not null,
  at integer not null,  -- when it was removed, or last listed, give or take a month
  primary key (feed_id, key)
) strict, without rowid;
create index item_tombstone_link on item_tombstone (feed_id, link_key, at) where link_key is not null;
create index item_tombstone_age on item_tombstone (at);

-- When its document was last read. A tombstone that was in it stays, however long the document does not change.
alter table watch add column harvested_at integer;

-- How far the night's work has come.
create table retention_step (
  name text primary key,
  after_id integer not null default 0,  -- where to go on
  before integer not null default 0,  -- of the audit log: what is older may be removed
  finished_at integer,
  pruned integer not null default 0
) strict, without rowid;

-- The audit log is append-only but for what retention removes.
drop trigger audit_undeleted;
create trigger audit_undeleted before delete on audit
when old.at >= coalesce((select before from retention_step where name = 'audit'), 0) begin
  select raise(abort, 'the audit log is append-only');
end;

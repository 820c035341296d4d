-- R107: what apps send instead of a device password, the hash of each; and what such a password gives access to.
alter table api_token add column kinds text not null default 'both' check (kinds in ('item', 'chapter', 'both'));
alter table api_token add column shelf_id bigint references shelf (id) on delete cascade;  -- null for whichever is chosen
alter table api_token add column client text;  -- what used it last
create index api_token_shelf on api_token (shelf_id) where shelf_id is not null;

create table device_key (
  key_hash bytea not null check (length(key_hash) = 32),
  token_id bigint not null references api_token (id) on delete cascade,
  protocol text not null,
  primary key (key_hash, protocol)
);
create index device_key_token on device_key (token_id);

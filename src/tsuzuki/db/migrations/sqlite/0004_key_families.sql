-- Who made a token, so that what came out of a key ends with it.
alter table api_token add column parent_id integer references api_token (id) on delete cascade;  -- the token that made it
alter table api_token add column made_in blob check (length(made_in) = 16);  -- the public id of the session that made it, which may have ended
create index api_token_parent on api_token (parent_id) where parent_id is not null;

-- Browsers that a person has signed in with: strangers' guesses do not lock them out.
create table known_device (
  key_hash blob not null check (length(key_hash) = 32),  -- of a cookie, whose value itself is nowhere
  user_id integer not null references user_account (id) on delete cascade,
  last_used_at integer not null,
  primary key (key_hash, user_id)  -- several people may share a browser
) strict, without rowid;
create index known_device_user on known_device (user_id, last_used_at);
create index known_device_age on known_device (last_used_at);

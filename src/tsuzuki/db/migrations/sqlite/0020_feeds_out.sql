-- Views of a shelf as feeds at secret addresses, and who is told when something new is in one (WebSub).
create table feed_out (
  id integer primary key autoincrement,
  public_id blob not null unique check (length(public_id) = 16),
  shelf_id integer not null references shelf (id) on delete cascade,
  member_id integer not null references shelf_member (id) on delete cascade,  -- I8: whose it is, until they lose the shelf
  name text not null,
  kind text check (kind in ('item', 'chapter')),  -- null for both
  state text not null default 'all' check (state in ('all', 'unread', 'saved')),
  of_feed blob check (length(of_feed) = 16),  -- public ids of what it is of: a subscription, a group or a series
  of_group blob check (length(of_group) = 16),
  of_series blob check (length(of_series) = 16),
  search text,
  is_full integer not null default 1 check (is_full in (0, 1)),
  secret_hash blob not null unique check (length(secret_hash) = 32),
  secret text not null,  -- R123: of its address; sealed, because its owner is shown the address again
  told text not null default '[]' check (json_valid(told)),  -- entries, and their changes, that subscribers know of
  created_at integer not null,
  updated_at integer not null,
  fetched_at integer
) strict;
create index feed_out_shelf on feed_out (shelf_id);
create index feed_out_member on feed_out (member_id);

create table hub_subscription (
  id integer primary key autoincrement,  -- tasks name it: no number is given out again
  feed_out_id integer references feed_out (id) on delete set null,  -- null: its feed has ended, which it is to be told
  format text not null check (format in ('rss', 'atom', 'json')),
  topic text not null,  -- sealed: the feed's address, as the subscriber knows it
  callback text not null,  -- sealed
  callback_hash blob not null check (length(callback_hash) = 32),
  host text not null,  -- of the callback
  secret text not null default '',  -- sealed: what bodies are signed with; empty for none
  lease_until integer,  -- null until its subscriber has confirmed it
  asked_mode text check (asked_mode in ('subscribe', 'unsubscribe')),  -- what is to be confirmed; null for nothing
  asked_secret text not null default '',  -- sealed: counts once that is confirmed
  asked_lease integer not null default 0,
  asked_at integer not null,
  failures integer not null default 0 check (failures >= 0),  -- in a row
  created_at integer not null
) strict;
create unique index hub_subscription_callback on hub_subscription (feed_out_id, format, callback_hash)
where feed_out_id is not null;
create index hub_subscription_ended on hub_subscription (id) where feed_out_id is null;
create index hub_subscription_host on hub_subscription (host);

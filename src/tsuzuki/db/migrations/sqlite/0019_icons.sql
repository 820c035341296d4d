-- The icons of feeds and their sites, small enough to be kept as rows: every process has them.

create table icon (
  id integer primary key autoincrement,  -- apps know it by this number, so none is used twice
  subject text not null unique,  -- the address of a picture that a feed names, or the host of a site
  page text,  -- of a site: the page that names its icon
  token blob unique check (length(token) = 16),  -- in its public address; another for every picture
  png blob,
  failures integer not null default 0 check (failures >= 0),
  error text,
  next_at integer,  -- when to fetch it; null while nobody needs it
  check ((token is null) = (png is null))
) strict;
create index icon_due on icon (next_at) where next_at is not null;

create table feed_icon (
  feed_id integer primary key references feed (id) on delete cascade,
  icon_url text,  -- these two are what the icons were chosen by: another choice is made when the feed changes
  site_url text not null,
  own_id integer references icon (id) on delete set null,  -- shown if it has a picture
  site_id integer references icon (id) on delete set null  -- else this
) strict;
create index feed_icon_own on feed_icon (own_id) where own_id is not null;
create index feed_icon_site on feed_icon (site_id) where site_id is not null;

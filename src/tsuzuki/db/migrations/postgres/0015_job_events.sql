-- Streams tell of crawl jobs too.

alter table event drop constraint event_kind_check;
alter table event add constraint event_kind_check check (kind in ('entry', 'counts', 'feed', 'job'));

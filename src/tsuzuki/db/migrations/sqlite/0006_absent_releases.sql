-- R100: how many full listings in a row lacked a release; the second makes it unavailable.
alter table release add column absences integer not null default 0;

-- R9: a uid names one source. Of sources that shared one, the oldest keeps it; the others have their own id instead.
update source set uid = id
where exists (select 1 from source as older where older.uid = source.uid and older.id < source.id);
drop index source_uid;
create unique index source_uid on source (uid);

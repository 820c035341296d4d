-- What is being read: few of a shelf's chapters, and asked for whenever a comic app opens.
create index progress_begun on progress (shelf_id, chapter_id)
where not is_read and paged_at is not null and (marked_at is null or paged_at >= marked_at);

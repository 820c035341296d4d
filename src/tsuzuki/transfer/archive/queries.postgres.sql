-- OFFSET 0 keeps it a look into an index for each row: a join would be planned for a thousand rows of tables that were
-- empty when the import began, and would read them whole for each series.

-- fragment: wanted_progress
lateral (
  select chapter_id, page, furthest_page, is_read, is_bookmarked, device, paged_at, marked_at, opened_at from progress
  where progress.shelf_id = :shelf_id and progress.chapter_id = cast(wanted.value ->> 'chapter_id' as bigint) offset 0
) as progress
where true

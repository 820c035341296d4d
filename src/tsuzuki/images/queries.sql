-- fragment: image_columns
image.id, image.hash, image.media_type, image.width, image.height, image.bytes, image.used_at, image.crc32

-- name: find_known
-- inline: by key, once for every image that is shown
-- An address that the source has changed since makes another image of it; one that expires is not compared (R66).
select {image_columns},
  coalesce(
    case
      when image_of.release_id is not null then page.image_url = image_of.address
      when image_of.series_source_id is not null
        then coalesce(series_source.cover_url, series.cover_url) = image_of.address
    end, true
  ) as is_current,
  image_of.error, image_of.failures, image_of.retry_at
from image_of
left join image on image.id = image_of.image_id
left join page on page.release_id = image_of.release_id and page.position = :position
left join series_source on series_source.id = image_of.series_source_id
left join series on series.id = series_source.series_id
where image_of.subject = :subject and image_of.thumbnail = :thumbnail;

-- name: page_pictures
select image_of.subject, image.media_type, image.width, image.height, image.bytes
from image_of join image on image.id = image_of.image_id
where image_of.release_id = :release_id and image_of.thumbnail = 0;

-- fragment: may_read
(
  exists (select 1 from release where release.id = chapter_copy.release_id)
  or exists (
    select 1 from kept_chapter join shelf_member on shelf_member.shelf_id = kept_chapter.shelf_id
    where kept_chapter.copy_id = chapter_copy.id and shelf_member.user_id = :user_id
  )
)

-- name: find_copied
-- I9: what is kept is readable without its source, by those who keep it; while there is a source, by everyone.
select {image_columns}
from chapter_copy
join copy_page on copy_page.copy_id = chapter_copy.id and copy_page.position = :position
join image on image.id = copy_page.image_id
where chapter_copy.release_id = :release_id and {may_read};

-- name: known_positions
-- Pages that need not be fetched ahead: they are here, or it is not their time to be tried again.
select cast(value ->> 'position' as bigint) as position from json_each(cast(:rows as text))
where exists (
  select 1 from image_of
  where image_of.subject = value ->> 'subject' and image_of.thumbnail = 0
    and (image_of.image_id is not null or image_of.retry_at > :now)
);

-- name: touch_image
update image set used_at = :now where id = :id;

-- name: add_image
insert into image (hash, media_type, width, height, bytes, crc32, created_at, used_at)
values (:hash, :media_type, :width, :height, :bytes, :crc32, :now, :now)
on conflict (hash) do update set used_at = excluded.used_at, crc32 = coalesce(image.crc32, excluded.crc32)
returning {image_columns};

-- name: drop_thumbnails
-- Of an image that is another one now.
delete from image_of where subject = :subject and thumbnail > 0 and exists (
  select 1 from image_of as whole
  where whole.subject = image_of.subject and whole.thumbnail = 0 and whole.image_id <> :image_id
);

-- name: cover_fetched
update series_source set cover_fetched_at = :now where id = :id;

-- name: find_address
select address from image_of where subject = :subject and thumbnail = 0 and address is not null;

-- name: show_image
-- Nothing for a release or series that went away meanwhile.
insert into image_of (subject, thumbnail, release_id, series_source_id, image_id, address, tried_at)
select cast(:subject as text), cast(:thumbnail as bigint), cast(:release_id as bigint), cast(:series_source_id as bigint),
  cast(:image_id as bigint), cast(:address as text), cast(:now as bigint)
where (cast(:release_id as bigint) is null or exists (select 1 from release where release.id = :release_id))
  and (
    cast(:series_source_id as bigint) is null
    or exists (select 1 from series_source where series_source.id = :series_source_id)
  )
on conflict (subject, thumbnail) do update set
  image_id = excluded.image_id, address = excluded.address, error = null, failures = 0, tried_at = excluded.tried_at,
  retry_at = null;

-- name: show_failure
-- What is here already stays, though it cannot be fetched again.
insert into image_of (subject, thumbnail, release_id, series_source_id, error, failures, tried_at, retry_at)
select cast(:subject as text), 0, cast(:release_id as bigint), cast(:series_source_id as bigint), cast(:error as text),
  cast(:failures as bigint), cast(:now as bigint), cast(:retry_at as bigint)
where (cast(:release_id as bigint) is null or exists (select 1 from release where release.id = :release_id))
  and (
    cast(:series_source_id as bigint) is null
    or exists (select 1 from series_source where series_source.id = :series_source_id)
  )
on conflict (subject, thumbnail) do update set
  error = excluded.error, failures = excluded.failures, tried_at = excluded.tried_at, retry_at = excluded.retry_at
where image_of.image_id is null;

-- name: find_cover
select series_source.source_id, coalesce(series_source.cover_url, series.cover_url) as url
from series_source join series on series.id = series_source.series_id
where series_source.id = :id;

-- Room ------------------------------------------------------------------------------------------------------

-- name: evictable_bytes
select cast(coalesce(sum(bytes), 0) as bigint) from image
where not exists (select 1 from copy_page where copy_page.image_id = image.id);

-- name: oldest_images
select id, hash, bytes from image
where not exists (select 1 from copy_page where copy_page.image_id = image.id)
order by used_at, id
limit :most;

-- name: unreferenced_images
select id, hash, bytes from image
where created_at < :before
  and not exists (select 1 from image_of where image_of.image_id = image.id)
  and not exists (select 1 from copy_page where copy_page.image_id = image.id)
order by id
limit :most;

-- name: forget_images
-- What it shows goes along. Kept in the meantime: it stays.
delete from image
where id in (select cast(value as bigint) from json_each(cast(:ids as text)))
  and not exists (select 1 from copy_page where copy_page.image_id = image.id)
returning hash;

-- name: stored_hashes
select hash from image
where hash in (select unhex(value ->> 'hash') from json_each(cast(:rows as text)));

-- name: forget_failures
delete from image_of where id in (
  select id from image_of where image_id is null and tried_at < :before limit :most
);

-- Kept chapters ---------------------------------------------------------------------------------------------

-- fragment: copy_columns
id, release_id, status, total

-- name: add_copy
-- A copy that failed begins anew when somebody wants it again; one that is there serves everyone.
insert into chapter_copy (chapter_id, release_id, title, language, group_name, created_at, updated_at)
select release.chapter_id, release.id, release.title, release.language, release.group_name, cast(:now as bigint),
  cast(:now as bigint)
from release where release.id = :release_id
on conflict (release_id) do update set
  status = case when chapter_copy.status = 'failed' then 'queued' else chapter_copy.status end,
  error = case when chapter_copy.status = 'failed' then null else chapter_copy.error end,
  updated_at = excluded.updated_at
returning {copy_columns};

-- name: find_copy
select {copy_columns} from chapter_copy where id = :id;

-- name: add_download
insert into kept_chapter (shelf_id, copy_id, created_at) values (:shelf_id, :copy_id, :now)
on conflict (shelf_id, copy_id) do nothing;

-- name: delete_download
delete from kept_chapter
where shelf_id = :shelf_id and copy_id in (select id from chapter_copy where release_id = :release_id);

-- name: unused_copies
-- Of shelves that were deleted.
select release_id from chapter_copy
where not exists (select 1 from kept_chapter where kept_chapter.copy_id = chapter_copy.id)
limit :most;

-- name: lock_download
-- One writer at a time on SQLite: nobody begins to keep it while it is let go.
select id from chapter_copy where release_id = :release_id;

-- name: drop_unused_copy
-- The pages go along; the images stay in the cache until there is no room for them.
delete from chapter_copy
where release_id = :release_id
  and not exists (select 1 from kept_chapter where kept_chapter.copy_id = chapter_copy.id);

-- fragment: kept_chapter
select
  chapter_copy.id as copy_id, chapter_copy.release_id, chapter_copy.chapter_id, series.public_id as series_public_id,
  series.title as series_title, chapter.number, chapter_copy.title, chapter_copy.language, chapter_copy.group_name,
  chapter_copy.status,
  (select count(*) from copy_page where copy_page.copy_id = chapter_copy.id) as done,
  chapter_copy.total,
  cast((
    select coalesce(sum(image.bytes), 0) from copy_page join image on image.id = copy_page.image_id
    where copy_page.copy_id = chapter_copy.id
  ) as bigint) as bytes,
  chapter_copy.error,
  exists (select 1 from release where release.id = chapter_copy.release_id) as is_available,
  kept_chapter.created_at
from kept_chapter
join chapter_copy on chapter_copy.id = kept_chapter.copy_id
join chapter on chapter.id = chapter_copy.chapter_id
join series on series.id = chapter.series_id

-- name: find_download
{kept_chapter}
where kept_chapter.shelf_id = :shelf_id and chapter_copy.release_id = :release_id;

-- name: list_downloaded
{kept_chapter}
where kept_chapter.shelf_id = :shelf_id and (kept_chapter.created_at, kept_chapter.copy_id) < (:at, :id)
order by kept_chapter.created_at desc, kept_chapter.copy_id desc
limit :most;

-- name: count_downloads
select count(*) from kept_chapter where shelf_id = :shelf_id;

-- name: downloads_among
{kept_chapter}
where kept_chapter.shelf_id = :shelf_id
  and chapter_copy.release_id in (select cast(value as bigint) from json_each(cast(:release_ids as text)));

-- name: downloads_of_chapters
{kept_chapter}
where kept_chapter.shelf_id = :shelf_id and chapter_copy.status = 'done'
  and chapter_copy.chapter_id in (select cast(value as bigint) from json_each(cast(:chapter_ids as text)))
order by kept_chapter.created_at;

-- name: downloaded_releases
select chapter_copy.release_id
from kept_chapter join chapter_copy on chapter_copy.id = kept_chapter.copy_id
where kept_chapter.shelf_id = :shelf_id and chapter_copy.status = 'done'
  and chapter_copy.release_id in (select cast(value as bigint) from json_each(cast(:release_ids as text)));

-- name: copied_positions
select position from copy_page where copy_id = :copy_id;

-- name: whole_copy
-- All pages of a release that was downloaded completely; of one without a source, for those who keep it (I9).
select {image_columns}
from chapter_copy
join copy_page on copy_page.copy_id = chapter_copy.id
join image on image.id = copy_page.image_id
where chapter_copy.release_id = :release_id and chapter_copy.status = 'done' and {may_read}
order by copy_page.position;

-- name: cached_pages
-- Those pages of a release that are in the cache with their checksums; nothing while its page list is not known.
select {image_columns}, image_of.subject, release.page_count
from release
join image_of on image_of.release_id = release.id and image_of.thumbnail = 0
join image on image.id = image_of.image_id
where release.id = :release_id and release.pages_fetched_at is not null and image.crc32 is not null;

-- name: pages_of_copy
select {image_columns}
from copy_page join image on image.id = copy_page.image_id
where copy_page.copy_id = :copy_id
order by copy_page.position;

-- name: set_crc32
update image set crc32 = :crc32 where id = :id;

-- name: pin_page
-- Nothing when the image was evicted in the meantime, or the copy is wanted no more.
insert into copy_page (copy_id, position, image_id)
select chapter_copy.id, cast(:position as bigint), image.id from chapter_copy, image
where chapter_copy.id = :copy_id and image.id = :image_id
on conflict (copy_id, position) do update set image_id = excluded.image_id;

-- name: drop_surplus_copies
delete from copy_page where copy_id = :copy_id and position >= :total;

-- name: set_copy
update chapter_copy
set status = :status, total = coalesce(cast(:total as bigint), total), error = cast(:error as text), updated_at = :now
where id = :id;

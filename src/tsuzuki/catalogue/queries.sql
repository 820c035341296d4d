-- name: find_release
select
  release.id, release.chapter_id, release.series_source_id, series_source.source_id, release.url, release.real_url,
  release.page_count, release.pages_fetched_at, release.is_readable
from release join series_source on series_source.id = release.series_source_id
where release.id = :id;

-- name: list_pages
select position, url, image_url from page where release_id = :release_id order by position;

-- name: resolve_image
-- Where `pages` did not tell it. R66: never for addresses that expire.
update page set image_url = :image_url where release_id = :release_id and position = :position;

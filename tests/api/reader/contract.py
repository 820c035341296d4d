"""What clients of the reader's API were promised: rows, and the fields of each thing."""

from datetime import UTC, datetime

GROUP = {"id", "name", "is_default", "created_at", "updated_at"}
FEED = {
    *("id", "group_id", "name", "link", "site_url", "suspended", "proxy", "unread_count", "item_count", "created_at"),
    *("updated_at", "fetch_state"),
}
REMOVED = {"last_build", "last_failure_at", "failure", "failures"}
FETCH_STATE = {
    *("etag", "last_modified", "cache_control", "expires_at", "retry_after_until", "last_checked_at", "next_check_at"),
    *("last_http_status", "last_success_at", "last_error_at", "last_error", "consecutive_failures"),
}
ITEM = {
    *("id", "feed_id", "guid", "title", "link", "author", "pub_date", "unread", "saved", "created_at", "updated_at"),
}
BOOKMARK = {"id", "item_id", "link", "title", "content", "pub_date", "feed_name", "created_at"}
MISSING = "01952ff9-0000-7000-8000-000000000000"

ROWS = {
    "POST /sessions": 200,
    "DELETE /sessions": 204,
    "GET /me": 200,
    "GET /oidc/enabled": 200,
    "GET /oidc/login": 200,
    "GET /oidc/callback": None,
    "GET /groups": 200,
    "POST /groups": 201,
    "GET /groups/{}": 200,
    "PATCH /groups/{}": 200,
    "DELETE /groups/{}": 204,
    "GET /feeds": 200,
    "POST /feeds": 201,
    "POST /feeds/batch": 200,
    "POST /feeds/validate": 200,
    "POST /feeds/refresh": 202,
    "GET /feeds/{}": 200,
    "PATCH /feeds/{}": 200,
    "DELETE /feeds/{}": 204,
    "POST /feeds/{}/refresh": 202,
    "GET /items": 200,
    "GET /items/{}": 200,
    "PATCH /items/-/read": 200,
    "PATCH /items/-/unread": 200,
    "GET /search": 200,
    "GET /bookmarks": 200,
    "POST /bookmarks": 201,
    "GET /bookmarks/{}": 200,
    "DELETE /bookmarks/{}": 204,
    "POST /opml": 200,
    "GET /opml": 200,
    "GET /inbox": 200,
    "GET /events": 200,
}
"""Every row that clients were promised, and what it answers; None for a redirect."""


def is_time(text: str) -> bool:
    return datetime.fromisoformat(text).tzinfo == UTC and text.endswith("Z")

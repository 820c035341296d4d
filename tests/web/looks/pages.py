"""Every page there is, by who opens it, with what its address may say besides.

A path is written as the router has it; what stands in braces is found by `server.py`. A test holds that no page of the
router is missing here; `make screenshots` takes its pictures of the same list.
"""

from tests.api.people import API
from tests.crawler.builders import SITE

# Somebody who runs the server and reads: something of everything is there.
ADMIN = (
    "/",
    "/?kind=chapter",
    "/?show=all",
    "/?show=saved",
    "/?group={group_id}",
    "/?marked=3&undo=1",
    "/items/{item_id}",
    "/items/{playing_id}",
    "/feeds",
    "/feeds?done=unfollowed&left={left_id}",
    "/feeds/add",
    "/feeds/import",
    "/feeds/{feed_id}",
    "/feeds/{failing_id}",
    "/feeds/{feed_id}/delete",
    "/groups/new",
    "/groups/{group_id}",
    "/library",
    "/library?status=dropped",
    "/history",
    "/history/clear",
    "/series/{series_id}",
    "/series/{series_id}?marked=3&undo=1",
    "/series/{series_id}/unfollow",
    "/series/{series_id}/chapters/{chapter_id}",
    "/discover",
    "/discover/sources/{site_id}",
    "/discover/sources/{site_id}?list=search",
    "/discover/series/{manga_id}",
    "/search",
    "/search?q=ink",
    "/search?q=nothingthatthereis",
    "/bookmarks",
    "/bookmarks/{bookmark_id}",
    "/bookmarks/{bookmark_id}/delete",
    "/notifications",
    "/notifications/{channel_id}/remove",
    "/settings",
    "/account",
    "/account/device-passwords",
    "/account/tokens/{token_id}/revoke",
    "/account/shelves",
    "/account/shelves?done=shelf_own",
    "/account/shelves/{shelf_id}",
    "/account/shelves/{shelf_id}/people/{person_name}/remove",
    "/account/shelves/{shelf_id}/delete",
    "/admin",
    "/admin?span=week&done=crawler_paused",
    "/admin/sources",
    "/admin/sources/add",
    f"/admin/sources/add?connector={SITE}",
    "/admin/sources/{source_id}?done=source_saved",
    "/admin/sources/{broken_id}",
    "/admin/sources/{source_id}/edit",
    "/admin/sources/{source_id}/delete",
    "/admin/sources/{source_id}/map",
    "/admin/comics/{comic_id}/sources/{mapping_id}/remove",
    "/admin/jobs",
    "/admin/jobs?status=cancelled",
    "/admin/jobs/{job_id}",
    "/admin/jobs/{failed_id}",
    "/admin/jobs/{queued_id}",
    "/admin/dead-letters",
    "/admin/dead-letters?queue=none",
    "/admin/dead-letters/discard?queue=nobody",
    "/admin/dead-letters/{letter_id}",
    "/admin/dead-letters/{letter_id}/discard",
    "/admin/audit",
    "/admin/audit?action=nothing",
    "/admin/users",
    "/admin/users/add",
    "/admin/users/{user_id}",
    "/admin/users/{user_id}/delete",
    "/admin/tenants",
    "/admin/tenants/{tenant_id}",
    "/admin/invoices/{invoice_id}",
    "/admin/settings",
    "/admin/feeds",
    "/admin/retention",
    "/styleguide",
)
# A tenant's member who has something to pay, a full shelf, and one that sleeps.
PAYER = (
    "/account/billing",
    "/account/billing?done=shelf_asleep&slept={sleeping_id}",
    "/account/billing/statement",
    "/account/billing/new",
    "/invoices/{invoice_id}",
    "/account/billing/shelves/{rented_id}",
    "/account/billing/shelves/{rented_id}/plan?plan=growth",
    "/account/billing/shelves/{rented_id}/plan?plan=free",
    "/account/billing/shelves/{rented_id}/deactivate",
    "/account/billing/shelves/{sleeping_id}/reactivate",
)
# Nobody in particular.
VISITOR = (
    "/",
    "/sign-in",
    "/sign-in?reason=oidc_not_linked",
    "/invite",
    "/invite?code=none",
    "/offline",
    f"{API}/docs",
)
# Somebody on a server on which nothing has happened yet.
NEWCOMER = (
    "/",
    "/?show=saved",
    "/?kind=chapter",
    "/feeds",
    "/library",
    "/history",
    "/discover",
    "/bookmarks",
    "/notifications",
    "/account",
    "/account/device-passwords",
    "/account/shelves",
    "/account/billing",
    "/account/billing/statement",
    "/admin",
    "/admin/sources",
    "/admin/jobs",
    "/admin/dead-letters",
    "/admin/audit",
    "/admin/users",
    "/admin/tenants",
)
# Addresses that answer something else than 200, by who opens them.
REFUSED = {
    ("reader", "/nothing-here"): 404,
    ("reader", "/admin"): 403,
    ("reader", "/items/999999"): 404,
    ("visitor", "/nothing-here"): 404,
}
SETUP = "/setup"
"""Shown only while nobody can sign in."""

STOPS = {"admin": ADMIN, "payer": PAYER, "visitor": VISITOR}


def routes_of(stops: tuple[str, ...]) -> set[str]:
    """The paths as the router has them."""
    return {stop.partition("?")[0] for stop in stops}

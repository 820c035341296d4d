"""Every page there is, by who opens it, and what its address may say besides.

Pages come from `POLICY`, so a new one is here by itself. A path is written as the router has it; what stands in braces
is found by `sample_server.py`. `make screenshots` takes its pictures of the same list.
"""

from tests.authorisation.policy import POLICY, PUBLIC, is_page
from tests.crawler.builders import SITE

# What else pages can show. An administrator runs the server and reads: something of everything is there.
_ADMIN = (
    "/",
    "/?kind=chapter",
    "/?show=all",
    "/?show=saved",
    "/?group={group_id}",
    "/?marked=3&undo=1",
    "/items/{playing_id}",
    "/feeds?done=unfollowed&left={left_id}",
    "/feeds/{failing_id}",
    "/library?status=dropped",
    "/series/{series_id}?marked=3&undo=1",
    "/discover/sources/{site_id}?list=search",
    "/search?q=ink",
    "/search?q=nothingthatthereis",
    "/account/shelves?done=shelf_own",
    "/account/feeds-out?group={group_id}&name=Webcomics&done=feed_out_added",
    "/admin?span=week&done=crawler_paused",
    f"/admin/sources/add?connector={SITE}",
    "/admin/sources/{source_id}?done=source_saved",
    "/admin/sources/{broken_id}",
    "/admin/jobs?status=cancelled",
    "/admin/jobs/{failed_id}",
    "/admin/jobs/{queued_id}",
    "/admin/dead-letters?queue=none",
    "/admin/dead-letters/discard?queue=nobody",
    "/admin/audit?action=nothing",
)
# A tenant's member who has something to pay, a full shelf, and one that sleeps.
_PAYER = (
    "/account/billing?done=shelf_asleep&slept={sleeping_id}",
    "/account/billing/shelves/{rented_id}/plan?plan=growth",
    "/account/billing/shelves/{rented_id}/plan?plan=free",
    "/account/billing/shelves/{sleeping_id}/reactivate",
)
# Nobody in particular.
_VISITOR = ("/sign-in?reason=oidc_not_linked", "/invite?code=none")
# Shown only as above.
_NOT_ALONE = {
    "/admin/sources/{source_id}",
    "/admin/dead-letters/discard",
    "/account/billing/shelves/{rented_id}/plan",
    "/account/billing/shelves/{rented_id}/reactivate",
}
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
    "/account/feeds-out",
    "/account/shelves",
    "/apps",
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

PARTS = {"/inbox/states", "/komga/series/{series_id}", "/komga/book/{chapter_id}"}
"""No pages: where scripts ask for parts of one, and what only leads to one."""


def _opened_by(name: str) -> str | None:
    """Who opens this route; None for one that is no page, or that is shown otherwise."""
    method, path = name.split()
    if method != "GET" or not is_page(path) or path in PARTS | _NOT_ALONE | {SETUP}:
        return None
    if POLICY[name] == PUBLIC:
        return "visitor"
    return "payer" if path.startswith(("/account/billing", "/invoices/")) else "admin"


STOPS = {
    who: (*(name.removeprefix("GET ") for name in POLICY if _opened_by(name) == who), *more)
    for who, more in (("admin", _ADMIN), ("payer", _PAYER), ("visitor", _VISITOR))
}


def routes_of(stops: tuple[str, ...]) -> set[str]:
    """The paths as the router has them."""
    return {stop.partition("?")[0] for stop in stops}

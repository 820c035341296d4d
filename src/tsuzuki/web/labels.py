"""Texts that are picked by a code, such as a status: `label_of("role", "admin")` is `Administrator`."""

from collections.abc import Mapping
from types import MappingProxyType

from starlette.requests import Request

from tsuzuki.web.texts import N_
from tsuzuki.web.texts import gettext as _

LABELS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "amount": {
            "database": N_("Database"),
            "images": N_("Images"),
            "items": N_("Articles"),
            "chapters": N_("Chapters"),
            "entries": N_("Inbox entries"),
            "watches": N_("Watched feeds and series"),
            "logs": N_("Crawl log lines"),
        },
        "article_step": {
            "newer": N_("Newer"),
            "older": N_("Older"),
        },
        "balance": {
            "charged": N_("Charged"),
            "paid": N_("Paid"),
            "settled": N_("Paid by credit"),
            "written_off": N_("Written off"),
            "open": N_("Outstanding"),
        },
        "channel_add": {
            "webhook": N_("Add a webhook"),
            "ntfy": N_("Add an ntfy topic"),
        },
        "channel_field": {
            "webhook.url": N_("Address"),
            "ntfy.url": N_("Server"),
            "ntfy.topic": N_("Topic"),
            "ntfy.token": N_("Access token"),
            "ntfy.priority": N_("Priority"),
        },
        "channel_hint": {
            "webhook.url": N_("Receives a signed JSON document for each new chapter or article."),
            "ntfy.topic": N_("Anyone who knows the topic can read it."),
            "ntfy.token": N_("Only for a protected topic."),
            "ntfy.priority": N_("From 1 (lowest) to 5 (highest)."),
        },
        "channel_kind": {
            "webhook": N_("Webhook"),
            "ntfy": N_("ntfy"),
        },
        "chart": {
            "levels": N_("Tasks, dead letters and failing sources"),
            "events": N_("Polls, finished tasks and failed tasks"),
        },
        "clock": {
            "auto": N_("Automatic"),
            "12": N_("12-hour"),
            "24": N_("24-hour"),
        },
        "config_about": {
            "ratelimit": N_("Requests per second, at most. If empty, the connector's own limit."),
            "proxy": N_("For example http://host:port."),
            "headers": N_("Sent with every request."),
            "maxpages": N_("How many pages of a list are read."),
            "fetchpages": N_("A crawl also fetches the page lists of new chapters."),
            "definition": N_("See docs/connectors.md. You can test it before you save it."),
            "folder": N_("A folder on this server's disk; nothing outside it is read."),
        },
        "config_how": {
            "list": N_("One per line."),
            "pairs": N_("One per line, as Name: value."),
            "json": N_("As JSON."),
        },
        "config_no": {
            "int": N_("Enter a whole number."),
            "float": N_("Enter a number."),
        },
        "density": {
            "cozy": N_("Comfortable"),
            "compact": N_("Compact"),
        },
        "dispute": {
            "open": N_("Not decided yet."),
            "won": N_("The payment stands."),
            "lost": N_("The bank reversed it."),
        },
        "done": {
            "shelf_made": N_("Shelf created."),
            "shelf_own": N_("You now have your own shelf. The shared one is still here."),
            "shelf_shared": N_("Shelf shared."),
            "shelf_role": N_("Role changed."),
            "shelf_unshared": N_("They no longer have access to this shelf."),
            "shelf_left": N_("You left the shelf."),
            "shelf_named": N_("Shelf renamed."),
            "shelf_deleted": N_("Shelf deleted."),
            "password_revoked": N_("Device password revoked."),
            "shelf_rented": N_("Shelf added."),
            "shelf_renamed": N_("Shelf renamed."),
            "plan_changed": N_("Plan changed."),
            "shelf_asleep": N_("Shelf deactivated."),
            "shelf_awake": N_("Shelf reactivated."),
            "signed_out": N_("You are signed out."),
            "signed_out_everywhere": N_("You are signed out everywhere."),
            "device": N_("Device signed out."),
            "others": N_("All other devices are signed out."),
            "password": N_("Password changed. All other devices are signed out."),
            "revoked": N_("Token revoked."),
            "linked": N_("Account linked."),
            "unlinked": N_("Account unlinked."),
            "shelf_keeps": N_("Saved. Older articles are deleted at night."),
            "followed": N_("Followed. Its articles are arriving."),
            "feed_saved": N_("Feed saved."),
            "unfollowed": N_("Unfollowed."),
            "restored": N_("Followed again, as it was."),
            "checking": N_("Checking now."),
            "held": N_("The publisher asks not to be checked so often."),
            "known": N_("It was checked a moment ago."),
            "checking_all": N_("Checking all feeds."),
            "suspended": N_("Feed suspended."),
            "resumed": N_("Feed resumed."),
            "group_added": N_("Group added."),
            "group_saved": N_("Group saved."),
            "group_moved": N_("Group moved."),
            "group_deleted": N_("Group deleted. Its feeds are now in the default group."),
            "bookmark_deleted": N_("Bookmark deleted."),
            "note": N_("Note saved."),
            "bookmarked": N_("Page saved."),
            "channel_added": N_("Channel added. Send a test to see if it works."),
            "channel_removed": N_("Channel removed."),
            "channel_on": N_("Channel turned on."),
            "channel_off": N_("Channel turned off."),
            "channel_test": N_("Test sent. Reload the page in a moment to see the result."),
            "left": N_("Unfollowed."),
            "follows_already": N_("You already follow it."),
            "series_saved": N_("Saved."),
            "refreshed": N_("Its sources were checked."),
            "keeping": N_("Download started."),
            "recalled": N_("Restored to history."),
            "history_cleared": N_("History cleared."),
            "settings": N_("Settings saved."),
            "source_added": N_("Source added. Test it, then discover what it has."),
            "source_saved": N_("Source saved."),
            "source_on": N_("Source enabled. Its failure count starts from zero."),
            "source_off": N_("Source disabled."),
            "source_deleted": N_("Source deleted."),
            "mapping_added": N_("Comic added. It is crawled from now on."),
            "mapping_on": N_("Comic enabled."),
            "mapping_off": N_("Comic disabled at this source."),
            "mapping_removed": N_("Comic removed from this source."),
            "job_queued": N_("Job queued."),
            "job_exists": N_("This job already exists."),
            "job_cancelled": N_("Job cancelled."),
            "job_over": N_("The job had already ended."),
            "letter_replayed": N_("Task queued again."),
            "letter_discarded": N_("Dead letter discarded."),
            "letters_replayed": N_("Tasks queued again. Those still listed have a task with the same key in progress."),
            "letters_discarded": N_("Dead letters discarded."),
            "person_added": N_("User added, with a shelf of their own."),
            "person_saved": N_("Changes saved."),
            "person_password": N_("Password set. Their devices are signed out."),
            "person_on": N_("User enabled."),
            "person_off": N_("User disabled and signed out everywhere."),
            "person_deleted": N_("User deleted."),
            "invite_revoked": N_("Invitation revoked."),
            "tenant_added": N_("Tenant added, with one shelf."),
            "tenant_saved": N_("Tenant renamed."),
            "credit_granted": N_("Credit granted. Open and next invoices use it."),
            "invoice_paid": N_("Invoice marked as paid."),
            "invoice_voided": N_("Invoice written off."),
            "crawler_paused": N_("All sources are paused."),
            "crawler_resumed": N_("All sources are resumed."),
        },
        "error_title": {
            "403": N_("Access denied"),
            "404": N_("Page not found"),
            "405": N_("Method not allowed"),
            "429": N_("Too many requests"),
            "500": N_("Something went wrong"),
            "503": N_("Temporarily unavailable"),
        },
        "fail": {
            "refresh": N_("None of its sources is responding."),
            "keep_full": N_("Your plan's limit of downloaded chapters is reached. Remove one first."),
        },
        "feed_status": {
            "ok": N_("OK"),
            "error": N_("failing"),
            "suspended": N_("suspended"),
            "waiting": N_("not checked yet"),
        },
        "figure": {
            "depth": N_("Tasks"),
            "dead_letters": N_("Dead letters"),
            "failing": N_("Failing"),
            "polls": N_("Polls"),
            "finished": N_("Done"),
            "failed": N_("Failed"),
        },
        "follow_status": {
            "reading": N_("reading"),
            "plan": N_("planned"),
            "done": N_("completed"),
            "dropped": N_("dropped"),
        },
        "health": {
            "new": N_("not checked yet"),
            "ok": N_("OK"),
            "failing": N_("failing"),
            "broken": N_("broken"),
            "off": N_("off"),
            "paused": N_("paused"),
        },
        "interval": {
            "3600": N_("at most once an hour"),
            "21600": N_("at most every 6 hours"),
            "86400": N_("at most once a day"),
            "604800": N_("at most once a week"),
            "own": N_("custom"),
        },
        "invoice_status": {
            "open": N_("open"),
            "paid": N_("paid"),
            "voided": N_("written off"),
        },
        "job_status": {
            "queued": N_("queued"),
            "running": N_("running"),
            "done": N_("done"),
            "failed": N_("failed"),
            "cancelled": N_("cancelled"),
        },
        "library_look": {
            "grid": N_("Covers"),
            "list": N_("List"),
        },
        "library_sort": {
            "title": N_("title"),
            "last_chapter": N_("newest chapter"),
            "unread": N_("most unread"),
            "added": N_("recently added"),
            "last_read": N_("recently read"),
        },
        "medium": {
            "audio": N_("Audio"),
            "video": N_("Video"),
            "file": N_("File"),
        },
        "plan_limit": {
            "follows": N_("Feeds and series"),
            "kept": N_("Downloaded chapters"),
        },
        "plan_status": {
            "active": N_("active"),
            "inactive": N_("inactive"),
            "delinquent": N_("paused: overdue"),
        },
        "protocol": {
            "opds": N_("OPDS"),
            "greader": N_("Google Reader"),
        },
        "protocol_for": {
            "opds": N_("comics, in e-readers and comic apps"),
            "greader": N_("feeds, in most reader apps"),
        },
        "reader_fit": {
            "width": N_("fit width"),
            "height": N_("fit height"),
            "original": N_("original size"),
        },
        "reader_mode": {
            "ltr": N_("left to right"),
            "rtl": N_("right to left"),
            "double": N_("double page"),
            "vertical": N_("vertical"),
            "webtoon": N_("webtoon"),
        },
        "reading_font": {
            "serif": N_("Serif"),
            "sans": N_("Sans-serif"),
        },
        "reading_width": {
            "narrow": N_("Narrow"),
            "normal": N_("Normal"),
            "wide": N_("Wide"),
        },
        "reason": {
            "oidc_off": N_("Sign-in with an identity provider is not set up."),
            "oidc_denied": N_("The identity provider denied access, or you cancelled."),
            "oidc_expired": N_("The sign-in took too long, or was started in another browser. Try again."),
            "oidc_failed": N_("The identity provider is not responding correctly. Try again later."),
            "oidc_not_allowed": N_("This identity is not allowed to sign in here."),
            "oidc_not_linked": N_("No account is linked to this identity. Sign in with your password and link it."),
            "oidc_taken": N_("This identity is linked to another account."),
            "oidc_disabled": N_("This account is disabled."),
        },
        "retention": {
            "entries": N_("Read articles on shelves"),
            "items": N_("Articles on no shelf"),
            "jobs": N_("Crawl jobs"),
            "audit": N_("Audit log"),
        },
        "role": {
            "admin": N_("Administrator"),
            "reader": N_("Reader"),
        },
        "scope": {
            "read": N_("read"),
            "write": N_("write"),
            "admin": N_("admin: manage this server"),
        },
        "series_state": {
            "1": N_("ongoing"),
            "2": N_("completed"),
            "3": N_("licensed"),
            "4": N_("publishing finished"),
            "5": N_("cancelled"),
            "6": N_("on hiatus"),
        },
        "settings": {
            "theme": N_("Theme"),
            "density": N_("List density"),
            "text_size": N_("Text size"),
            "reading_font": N_("Article font"),
            "reading_width": N_("Article width"),
            "clock": N_("Time format"),
        },
        "shelf_role": {
            "owner": N_("Owner"),
            "editor": N_("Editor"),
            "reader": N_("Reader"),
        },
        "shelf_role_can": {
            "owner": N_("can do everything, including sharing, renaming and deleting it"),
            "editor": N_("can follow, mark, save and change what is on it"),
            "reader": N_("can read, but not change anything"),
        },
        "source_state": {
            "ok": N_("OK"),
            "failing": N_("failing"),
            "disabled": N_("disabled"),
            "new": N_("not called yet"),
        },
        "standing": {
            "ok": N_("OK"),
            "failing": N_("failing"),
            "disabled": N_("disabled"),
            "paused": N_("paused"),
            "not_installed": N_("not installed"),
        },
        "stop": {
            "source_off": N_("This source is disabled. An administrator can enable it."),
            "series_off": N_("An administrator has disabled this series at this source."),
        },
        "text_size": {
            "small": N_("Small"),
            "normal": N_("Normal"),
            "large": N_("Large"),
            "huge": N_("Huge"),
        },
        "theme": {
            "auto": N_("System"),
            "light": N_("Light"),
            "dark": N_("Dark"),
        },
        "token_life": {
            "30": N_("in 30 days"),
            "90": N_("in 90 days"),
            "365": N_("in 1 year"),
            "never": N_("never"),
        },
        "trial_detail": {
            "title": N_("Title"),
            "author": N_("Author"),
            "artist": N_("Artist"),
            "language": N_("Language"),
        },
        "trial_step": {
            "series": N_("Series list"),
            "details": N_("First series"),
            "chapters": N_("Its chapters"),
            "pages": N_("Pages of the newest chapter"),
        },
        "tristate": {
            "0": N_("any"),
            "1": N_("include"),
            "2": N_("exclude"),
        },
    }
)
"""By kind and code. A test holds each kind to the codes that there are."""


def label_of(kind: str, code: object) -> str:
    """The text of this code in the reader's language; KeyError when there is none."""
    return _(LABELS[kind][str(code)])


def done_text(request: Request) -> str | None:
    """What was just done, where the page's address says it: `?done=signed_out`."""
    return find_label("done", request.query_params.get("done"))


def find_label(kind: str, code: str | None) -> str | None:
    """The same for a code of an address: None unless it is one of ours, so that a page never repeats a request."""
    text = LABELS[kind].get(code or "")
    return None if text is None else _(text)

"""Messages of the desk whose keys are picked from lists and tables in code."""

from typing import get_args

from tsuzuki.web.admin.charts import EVENTS, LEVELS
from tsuzuki.web.admin.health import State
from tsuzuki.web.admin.jobs import STATUSES

AMOUNTS = ("database", "images", "items", "chapters", "entries", "watches", "logs")
KEYS = ("ratelimit", "proxy", "headers", "maxpages", "fetchpages", "definition", "folder")
STEPS = ("series", "details", "chapters", "pages")
DETAILS = ("title", "author", "artist", "language")


def chosen_at_the_desk() -> set[str]:
    used = {f"desk.figure_{name}" for name in (*LEVELS, *EVENTS)}
    used |= {f"desk.amount_{name}" for name in AMOUNTS}
    used |= {"desk.chart_levels", "desk.chart_events"}
    used |= {f"sources.state_{state}" for state in get_args(State)} | {f"jobs.status_{status}" for status in STATUSES}
    used |= {f"config.about_{key}" for key in KEYS} | {f"config.how_{kind}" for kind in ("list", "pairs", "json")}
    used |= {"config.no_int", "config.no_float"}
    used |= {f"tried.{step}" for step in STEPS} | {f"tried.detail_{name}" for name in DETAILS}
    used |= {f"tenants.{name}" for name in ("charged", "paid", "settled", "written_off", "open")}
    used |= {f"tenants.invoice_{status}" for status in ("open", "paid", "voided")}
    return used

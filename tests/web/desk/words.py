"""Messages of the desk whose keys are picked from lists and tables in code."""

from tsuzuki.web.desk.charts import EVENTS, LEVELS

AMOUNTS = ("database", "images", "items", "chapters", "entries", "watches", "logs")


def chosen_at_the_desk() -> set[str]:
    used = {f"desk.figure_{name}" for name in (*LEVELS, *EVENTS)}
    used |= {f"desk.amount_{name}" for name in AMOUNTS}
    used |= {"desk.chart_levels", "desk.chart_events"}
    return used

import io
import json
import logging
import warnings
from collections.abc import Iterator

import pytest
import structlog
from structlog.contextvars import bound_contextvars

from tsuzuki.log import set_up_logging


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    structlog.reset_defaults()


def test_json_lines_have_event_values_and_logger():
    out = io.StringIO()
    set_up_logging(style="json", stream=out)
    with bound_contextvars(request_id="r1"):
        structlog.stdlib.get_logger("tsuzuki.polling").info("polled", found=3)
    line = json.loads(out.getvalue())
    assert line.pop("timestamp").endswith("Z")
    assert line == {"event": "polled", "found": 3, "level": "info", "logger": "tsuzuki.polling", "request_id": "r1"}


def test_a_librarys_log_goes_the_same_way():
    out = io.StringIO()
    set_up_logging(style="json", stream=out)
    logging.getLogger("asyncpg").warning("lost %s", "postgresql://ann:canary@db", extra={"attempt": 2})
    line = json.loads(out.getvalue())
    assert (line["event"], line["attempt"], line["logger"]) == ("lost postgresql://ann:***@db", 2, "asyncpg")


def test_a_warning_of_python_becomes_a_log_line():
    out = io.StringIO()
    set_up_logging(style="json", stream=out)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn("old ways", stacklevel=1)
    assert "old ways" in json.loads(out.getvalue())["event"]


def test_auto_is_json_where_there_is_no_terminal():
    out = io.StringIO()
    set_up_logging(style="auto", stream=out)
    structlog.stdlib.get_logger("x").info("hello")
    assert json.loads(out.getvalue())["event"] == "hello"


def test_auto_is_text_on_a_terminal():
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    set_up_logging(style="auto", stream=out)
    structlog.stdlib.get_logger("x").info("hello", answer=42)
    assert "hello" in out.getvalue()
    assert not out.getvalue().startswith("{")


def test_the_level_is_the_least_that_is_logged():
    out = io.StringIO()
    set_up_logging(style="json", level="warning", stream=out)
    structlog.stdlib.get_logger("x").info("quiet")
    logging.getLogger("y").info("quiet")
    structlog.stdlib.get_logger("x").warning("loud")
    assert [json.loads(line)["event"] for line in out.getvalue().splitlines()] == ["loud"]


@pytest.mark.parametrize("style", ["text", "json"])
def test_no_value_can_forge_a_second_line(style):
    out = io.StringIO()
    set_up_logging(style=style, stream=out)
    structlog.stdlib.get_logger("x").info("request\nforged", path="/a\r\n2026 [info] forged\x1b[2J")
    assert len(out.getvalue().splitlines()) == 1
    assert "\x1b[2J" not in out.getvalue()


CANARY = "canary-7f3a"


@pytest.mark.parametrize("style", ["text", "json"])
def test_sec_39_a_secret_is_in_no_line_however_it_gets_there(style):
    out = io.StringIO()
    set_up_logging(style=style, stream=out, secrets=["hunter-canary-7f3a"])
    log = structlog.stdlib.get_logger("x")
    log.info("by key", password=CANARY, session_token=CANARY, headers={"Cookie": CANARY, "set-cookie": [CANARY]})
    log.info("by form", url=f"https://ann:{CANARY}@example.org/x", header=f"Authorization: Basic {CANARY}==")
    log.info("in a query", path=f"/x?access_token={CANARY}&page=2")
    log.info("known", body=b"hunter-canary-7f3a", deep={"a": [{"b": ("hunter-canary-7f3a",)}]})
    logging.getLogger("lib").warning("password=%s", CANARY)
    try:
        int(f"redis://:{CANARY}@127.0.0.1")
    except ValueError:
        log.exception("failed")
    assert CANARY not in out.getvalue()
    assert out.getvalue().count("***") >= 10
    assert "ValueError" in out.getvalue()


def test_an_unwritable_log_line_is_dropped():
    out = io.StringIO()
    set_up_logging(style="json", stream=out)
    out.close()
    structlog.stdlib.get_logger("tsuzuki.test").warning("nobody reads this")

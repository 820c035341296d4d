"""Logging: ours through structlog, libraries' through the standard module, with secrets masked in both.

Text for a terminal, JSON lines otherwise, always on stderr: stdout belongs to what a command answers.
"""

import logging
import sys
from collections.abc import Collection, Mapping
from contextlib import nullcontext, suppress
from typing import Any, Literal, TextIO

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from tsuzuki.model.secrets import MASKED, is_secret, mask_text

SHORTEST_SECRET = 4
DEEPEST = 6

# They speak on every start and stop; we say that ourselves, in one line.
_TALKATIVE = ("uvicorn.error", "asyncio")


def set_up_logging(
    *,
    level: str = "info",
    style: Literal["auto", "text", "json"] = "auto",
    secrets: Collection[str] = (),
    stream: TextIO | None = None,
) -> None:
    """Send every log line of this process to `stream` (stderr), masked; `secrets` are blotted out anywhere."""
    out = stream or sys.stderr
    text = style == "text" or (style == "auto" and out.isatty())
    shared = _shared_processors()
    rendering: list[Processor] = [
        structlog.processors.format_exc_info,
        SecretMask(secrets),
        *_render(text=text, colors=text and out.isatty()),
    ]
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *rendering],
        )
    )
    _set_up_structlog(level, [*shared, *rendering], handler)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel("DEBUG" if level == "debug" else "WARNING")
    logging.captureWarnings(capture=True)


def _shared_processors() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]


def _set_up_structlog(level: str, processors: list[Processor], handler: "logging.StreamHandler[TextIO]") -> None:
    structlog.configure(
        processors=processors,
        logger_factory=lambda name="tsuzuki": _Lines(name, handler),
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=False,
    )


class _Lines:
    """Writes finished lines where the handler does. Records of the standard module would cost as much again."""

    __slots__ = ("_handler", "name")

    def __init__(self, name: str, handler: "logging.StreamHandler[TextIO]") -> None:
        self.name = name
        self._handler = handler

    def msg(self, line: str) -> None:
        """Write one; what cannot be written is lost, as with the handler."""
        with suppress(OSError, ValueError), self._handler.lock or nullcontext():
            self._handler.stream.write(line + self._handler.terminator)
            self._handler.flush()

    debug = info = warning = error = critical = exception = msg


def _render(*, text: bool, colors: bool) -> list[Processor]:
    if not text:
        return [structlog.processors.JSONRenderer(_json)]
    plain = structlog.dev.ConsoleRenderer(
        colors=colors, pad_event_to=32, exception_formatter=structlog.dev.plain_traceback, sort_keys=False
    )
    return [_one_line, plain]


def _json(event: EventDict, **_: Any) -> str:
    return msgspec.json.encode(event, enc_hook=str).decode()


def _one_line(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """No value of ours may forge a second line or move the cursor of a terminal."""
    for key, value in event.items():
        if isinstance(value, str) and not value.isprintable() and key != "exception":
            event[key] = value.encode("unicode_escape").decode("ascii")
    return event


class SecretMask:
    """Replaces what must not be seen: by the name of a key, by its form in a text, and known secrets anywhere."""

    def __init__(self, secrets: Collection[str]) -> None:
        # The longest first: a secret may hold another.
        self._known = sorted({s for s in secrets if len(s) >= SHORTEST_SECRET}, key=len, reverse=True)

    def __call__(self, _: WrappedLogger, __: str, event: EventDict) -> EventDict:
        """The event with its secrets masked."""
        return {key: MASKED if is_secret(str(key)) and value else self._mask(value, 0) for key, value in event.items()}

    def _mask(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._mask_text(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if depth < DEEPEST and isinstance(value, Mapping):
            return {
                key: MASKED if is_secret(str(key)) and inner else self._mask(inner, depth + 1)
                for key, inner in value.items()
            }
        if depth < DEEPEST and isinstance(value, list | tuple | set | frozenset):
            return [self._mask(inner, depth + 1) for inner in value]
        return self._mask_text(str(value))

    def _mask_text(self, text: str) -> str:
        for secret in self._known:
            if secret in text:
                text = text.replace(secret, MASKED)
        return mask_text(text)

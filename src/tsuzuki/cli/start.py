"""What every command does first: read the settings, set up the log."""

import os
from pathlib import Path

import tsuzuki
from tsuzuki.settings import PREFIX, Settings, checkout, read_env_file, read_settings, unknown_variables


def environment(**overrides: object) -> dict[str, str]:
    """The variables of this process; where it has none, of a checkout's `.env`; options of the command line win."""
    said = {PREFIX + name.upper(): str(value) for name, value in overrides.items() if value is not None}
    beside = checkout(Path(tsuzuki.__file__).parent)
    return {**({} if beside is None else read_env_file(beside / ".env")), **os.environ, **said}


def load_settings(environ: dict[str, str]) -> Settings:
    """The settings; `BadSetting` stops the command."""
    return read_settings(environ, beside=checkout(Path(tsuzuki.__file__).parent))


def start(**overrides: object) -> Settings:
    """The settings, with the log set up by them and a warning for each variable that means nothing."""
    import structlog

    from tsuzuki.log import set_up_logging

    environ = environment(**overrides)
    settings = load_settings(environ)
    set_up_logging(level=settings.log_level, style=settings.log_format, secrets=settings.secrets())
    for sentence in unknown_variables(environ):
        structlog.stdlib.get_logger("tsuzuki.settings").warning("unknown_variable", why=sentence)
    return settings


def log_start(schema_version: int) -> None:
    """What a server or worker says of itself at its start."""
    import structlog

    structlog.stdlib.get_logger("tsuzuki.start").info("schema", version=schema_version, program=tsuzuki.__version__)

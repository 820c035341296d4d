"""The command line: one module per command or group of commands.

To add one: write `cli/<name>.py` with a click command, and name it in `COMMANDS`. Keep heavy imports inside the
function, so that `tsuzuki --help` stays quick; `cli/start.py` reads the settings and sets up the log.
"""

from typing import Any

import click

from tsuzuki import __version__
from tsuzuki.cli.database import backup, copy_database, migrate, prune
from tsuzuki.cli.files import files
from tsuzuki.cli.people import token, user
from tsuzuki.cli.serve import demo, serve, settings, work
from tsuzuki.cli.transfer import export, import_
from tsuzuki.cli.trials import poll, source
from tsuzuki.model.errors import TsuzukiError
from tsuzuki.settings import BadSetting

COMMANDS = (
    serve,
    work,
    demo,
    migrate,
    backup,
    copy_database,
    files,
    prune,
    settings,
    user,
    token,
    poll,
    source,
    import_,
    export,
)


class _Misconfigured(click.ClickException):
    """Ends the program with one line on stderr, as a wrong option does."""

    exit_code = 2


class _Commands(click.Group):
    """Turns what has a name into one line: exit status 2 for a bad setting, 1 for the rest."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BadSetting as error:
            raise _Misconfigured(str(error)) from error
        except TsuzukiError as error:
            raise click.ClickException(str(error)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tsuzuki")
def main() -> None:
    """A feed and comics reader: follow manga, webcomics, blogs and any web feed.

    Settings are TSUZUKI_* environment variables; `tsuzuki settings` shows them all.
    """


for _command in COMMANDS:
    main.add_command(_command)

"""`tsuzuki settings`"""

import click

from tsuzuki.cli.start import environment, load_settings
from tsuzuki.settings import effective, unknown_variables


@click.command()
def settings() -> None:
    """Show every setting, its value in force and where that came from. Secrets are masked."""
    environ = environment()
    for setting in effective(load_settings(environ), environ):
        click.echo(f"{setting.name}={setting.value}  # {setting.origin}: {setting.variable.says}")
    for sentence in unknown_variables(environ):
        click.echo(f"Warning: {sentence}", err=True)

"""`arvis completion`: prints the script with which a shell completes commands and options."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import get_completion_class

from arvis.cli.options import PlacedCommand
from arvis.domain.errors import ConfigError

#: For each shell, the lines of its configuration that load the script.
_LINES = {
    "bash": 'eval "$(arvis completion bash)" in ~/.bashrc',
    "zsh": 'eval "$(arvis completion zsh)" in ~/.zshrc, below compinit',
    "fish": "arvis completion fish | source in ~/.config/fish/config.fish",
}


@click.command(
    cls=PlacedCommand,
    epilog="\b\n" + "\n".join(["Write one of these lines:", *(f"  {each}" for each in _LINES.values())]),
)
@click.argument("shell", type=click.Choice(list(_LINES)))
@click.pass_context
def completion(context: click.Context, *, shell: str, config: Path | None, data: Path | None) -> None:  # noqa: ARG001
    """Print the script that completes commands and options in a shell. (--config and --data have no effect.)"""
    scripts = get_completion_class(shell)
    root = context.find_root()
    if scripts is None:
        raise ConfigError(f"The shell {shell} is not supported", fix=f"Use one of {', '.join(_LINES)}.")
    click.echo(scripts(root.command, {}, "arvis", "_ARVIS_COMPLETE").source())

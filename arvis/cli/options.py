"""The options that many commands have, the input of secrets, and groups that list their commands in the order of the
code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from arvis.domain.workflows import PREFIX

_Function = TypeVar("_Function", bound=Callable[..., Any])

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")


def place_options(command: _Function) -> _Function:
    """Add `--config` and `--data`, which every command has."""
    path = click.Path(path_type=Path)
    config = click.option(
        "--config", type=path, metavar="FILE", help="The configuration file (default: ./config.yaml, if it exists)."
    )
    data = click.option(
        "--data", type=path, metavar="DIR", help="The data folder (default: ARVIS_DATA_DIR, then data_dir)."
    )
    return config(data(command))


def page_options(command: _Function) -> _Function:
    """Add `--limit` and `--cursor`, for commands that print a list."""
    most = click.IntRange(1, 200)
    limit = click.option("--limit", type=most, default=50, show_default=True, help="The maximum number of rows.")
    cursor = click.option("--cursor", help="The cursor that the previous page printed.")
    return limit(cursor(command))


def all_options(*options: Callable[[Any], Any]) -> Callable[[_Function], _Function]:
    """Return a decorator that adds these options to a command, in their order."""

    def decorate(command: _Function) -> _Function:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def channel_of(text: str) -> dict[str, str]:
    """Convert the text PLATFORM:CHANNEL of `--to` to the fields of the API."""
    platform, colon, channel = text.partition(":")
    if not (platform and colon and channel):
        raise click.BadParameter("must have the form PLATFORM:CHANNEL, such as telegram:-1001234", param_hint="--to")
    return {"platform": platform, "channelId": channel}


def workflow_option(words: str) -> Callable[[_Function], _Function]:
    """Add `--workflow`, which `as_graph` converts. A command can also have `--graph`."""
    return click.option("--workflow", metavar="NAME", help=words)


def as_graph(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given options as fields of the API, with the workflow in the field `graph`. An empty name of a
    workflow becomes None, which removes the stored graph."""
    rest = {name: value for name, value in given.items() if name != "workflow"}
    if "workflow" not in given:
        return rest
    if "graph" in rest:
        raise click.UsageError("Give either --graph or --workflow.")
    named = given["workflow"].removeprefix(PREFIX)
    return {**rest, "graph": PREFIX + named if named else None}


class Commands(click.Group):
    """A group whose help lists the commands in the order of the module; click's own group sorts them by name."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - its signature
        return list(self.commands)


# Secrets come from a variable, a file or standard input. They never come from an argument, which every user of the
# machine can read while the command runs, and which the shell stores in its history.

#: The maximum number of characters of a secret; the rest of a longer text is not read.
_MOST = 65_536


def secret_options(word: str) -> Callable[[_Function], _Function]:
    """Add `--key-env` and `--key-file`, with `word` in place of "key"."""

    def decorate(command: _Function) -> _Function:
        variable = click.option(
            f"--{word}-env", "variable", metavar="NAME", help=f"Read the {word} from this environment variable."
        )
        path = click.Path(exists=True, dir_okay=False, path_type=Path)
        file = click.option(
            f"--{word}-file", "file", type=path, metavar="PATH", help=f"Read the {word} from this file."
        )
        return variable(file(command))

    return decorate


def read_secret(word: str, variable: str | None, file: Path | None, *, hidden: bool = True) -> str:
    """Return the secret from the variable, the file or standard input, without the line end; it may be empty. On a
    terminal, ask for it. `hidden`: the terminal does not show the typed text."""
    if variable is not None and file is not None:
        raise click.UsageError(f"Give either --{word}-env or --{word}-file.")
    if variable is not None:
        found = os.environ.get(variable, "")
        if not found:
            raise click.BadParameter(f"{variable} is not set", param_hint=f"--{word}-env")
        return found
    if file is not None:
        return _read(file, word)
    if sys.stdin.isatty():
        return str(click.prompt(word.capitalize(), default="", show_default=False, hide_input=hidden, err=True))
    return sys.stdin.read(_MOST).rstrip("\r\n")


def _read(file: Path, word: str) -> str:
    try:
        with file.open(encoding="utf-8") as text:
            return text.read(_MOST).rstrip("\r\n")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise click.BadParameter(f"{file} cannot be read: {reason}", param_hint=f"--{word}-file") from error

"""Reads a secret from a variable, a file or standard input. Never from an argument, which every user of the machine
can read while the command runs, and which the shell stores in its history."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: Characters; what is longer is no secret.
_MOST = 65_536


def secret_options(word: str) -> Callable[[_Function], _Function]:
    """Add `--key-env` and `--key-file`, with `word` in place of "key"."""

    def decorate(command: _Function) -> _Function:
        variable = click.option(
            f"--{word}-env", "variable", metavar="NAME", help=f"Take the {word} from this variable."
        )
        path = click.Path(exists=True, dir_okay=False, path_type=Path)
        file = click.option(
            f"--{word}-file", "file", type=path, metavar="PATH", help=f"Take the {word} from this file."
        )
        return variable(file(command))

    return decorate


def read_secret(word: str, variable: str | None, file: Path | None, *, hidden: bool = True) -> str:
    """Return the given secret without the line end; "" if empty. On a terminal the command asks for it, and does not
    show it if `hidden`."""
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

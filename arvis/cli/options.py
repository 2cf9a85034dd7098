"""Defines the command classes and options that many commands use, converts the values of options, and reads secrets."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import click

from arvis.cli.output import Output
from arvis.domain.effort import EFFORTS
from arvis.domain.workflows import PREFIX

_Function = TypeVar("_Function", bound=Callable[..., Any])

_JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON for programs.")
_PLACE = (
    click.Option(
        ["--config"],
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The configuration file (default: ./config.yaml, if it exists).",
    ),
    click.Option(
        ["--data"],
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="The data folder (default: ARVIS_DATA_DIR, then data_dir).",
    ),
)


class PlacedCommand(click.Command):
    """A command with `--config` and `--data`, which every command has."""

    common: ClassVar[tuple[click.Option, ...]] = _PLACE

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        super().__init__(*arguments, **attributes)
        self.params.extend(self.common)


class JsonCommand(PlacedCommand):
    """A command that also has `--json`."""

    common = (_JSON, *_PLACE)


class PrintingCommand(JsonCommand):
    """A command whose function returns an `Output`. The command prints it as JSON with `--json`, else as text."""

    def invoke(self, ctx: click.Context) -> None:
        as_json = ctx.params.pop("as_json")
        output: Output = super().invoke(ctx)
        output.print(as_json=as_json)


def all_options(*options: Callable[[Any], Any]) -> Callable[[_Function], _Function]:
    """Return a decorator that adds these options to a command, in their order."""

    def decorate(command: _Function) -> _Function:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


#: The options of commands that print a list.
page_options = all_options(
    click.option(
        "--limit", type=click.IntRange(1, 200), default=50, show_default=True, help="The maximum number of rows."
    ),
    click.option("--cursor", help="The cursor that the previous page printed."),
)


def on_option(words: str) -> Callable[[_Function], _Function]:
    """Add `--on` and `--off`. Commands use these options to change the field `enabled`, or to filter a list by this
    field."""
    return click.option("--on/--off", "enabled", default=None, help=words)


def choice(values: type[StrEnum]) -> click.Choice[str]:
    return click.Choice([*map(str, values)])


#: An option with this value removes the stored value.
CLEARED = object()


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given, as fields of the API."""
    return {name: None if value is CLEARED else value for name, value in options.items() if value not in (None, ())}


def effort_option(default: str) -> Callable[[_Function], _Function]:
    """Return the option for a reasoning effort. `default` is the effort that applies without it."""
    return click.option(
        "--effort",
        type=click.Choice([*EFFORTS, "default"]),
        callback=lambda _context, _option, effort: CLEARED if effort == "default" else effort,
        help=f"The reasoning effort of model calls; default: {default}.",
    )


def changes(options: Mapping[str, Any], example: str) -> dict[str, Any]:
    """Return the options that were given. If none was given, raise `UsageError` with `example` as a suggestion."""
    found = given(options)
    if not found:
        raise click.UsageError(f"Nothing to change. Give at least one option, such as {example}.")
    return found


def names(text: str) -> list[str]:
    """Return the list of names in a text such as `a,b`. An empty text gives an empty list."""
    return [part.strip() for part in text.split(",") if part.strip()]


def channel_as(field: str) -> Callable[[str], dict[str, str]]:
    """Return a function that splits PLATFORM:CHANNEL into the fields `platform` and `field` of the API."""

    def convert(text: str) -> dict[str, str]:
        platform, colon, channel = text.partition(":")
        if not (platform and colon and channel):
            raise click.BadParameter("must have the form PLATFORM:CHANNEL, such as telegram:-1001234")
        return {"platform": platform, field: channel}

    return convert


def to_option(*, required: bool = False) -> Callable[[_Function], _Function]:
    """Add `--to`, the channel for answers. The parameter `place` gets the channel as fields of the API."""
    return click.option(
        "--to",
        "place",
        type=channel_as("channelId"),
        required=required,
        metavar="PLATFORM:CHANNEL",
        help="The channel for the answers.",
    )


def workflow_option(words: str) -> Callable[[_Function], _Function]:
    """Add `--workflow`, which `with_graph` converts. A command can also have `--graph`."""
    return click.option("--workflow", metavar="NAME", help=words)


def with_graph(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options, with the workflow moved to the field `graph`. An empty workflow name removes the stored
    graph."""
    rest = {name: value for name, value in options.items() if name != "workflow"}
    if options["workflow"] is None:
        return rest
    if rest.get("graph") is not None:
        raise click.UsageError("Give either --graph or --workflow.")
    named = options["workflow"].removeprefix(PREFIX)
    return {**rest, "graph": PREFIX + named if named else CLEARED}


# Secrets come from a variable, a file or standard input. They never come from an argument, which every user of the
# machine can read while the command runs, and which the shell stores in its history.

#: The maximum number of characters of a secret; the rest of a longer text is not read.
_MOST = 65_536

#: The type of an option whose value is the path of an existing file.
existing_file = click.Path(exists=True, dir_okay=False, path_type=Path)


def secret_options(word: str) -> Callable[[_Function], _Function]:
    """Add `--key-env` and `--key-file`, with `word` in place of "key"."""
    return all_options(
        click.option(
            f"--{word}-env", "variable", metavar="NAME", help=f"Read the {word} from this environment variable."
        ),
        click.option(
            f"--{word}-file", "file", type=existing_file, metavar="PATH", help=f"Read the {word} from this file."
        ),
    )


def read_secret(word: str, variable: str | None, file: Path | None, *, hidden: bool = True) -> str:
    """Return the secret from the variable, the file or standard input, without the line end. The secret may be empty.
    On a terminal, ask for the secret. If `hidden` is True, the terminal does not show the typed text."""
    if variable is not None and file is not None:
        raise click.UsageError(f"Give either --{word}-env or --{word}-file.")
    if variable is not None:
        found = os.environ.get(variable, "")
        if not found:
            raise click.BadParameter(f"{variable} is not set", param_hint=f"--{word}-env")
        return found
    if file is not None:
        return read_text(file, f"--{word}-file", _MOST).rstrip("\r\n")
    if sys.stdin.isatty():
        return str(click.prompt(word.capitalize(), default="", show_default=False, hide_input=hidden, err=True))
    return sys.stdin.read(_MOST).rstrip("\r\n")


def given_secret(word: str, variable: str | None, file: Path | None) -> str | None:
    """Return the secret from the variable or the file; None if neither is given."""
    return None if variable is None and file is None else read_secret(word, variable, file)


def read_text(file: Path, option: str, most: int) -> str:
    """Return at most `most` characters of the file that an option names."""
    try:
        with file.open(encoding="utf-8") as text:
            return text.read(most)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise click.BadParameter(f"{file} cannot be read: {reason}", param_hint=option) from error


# -- settings and secrets of bots and servers ---------------------------------------------------------------------------


Pairs = Sequence[tuple[str, str]]

#: The maximum number of digits of a value that counts as a number. A longer value is an id of the platform and stays
#: text.
_LONGEST_NUMBER = 9


def pair(text: str) -> tuple[str, str]:
    """Split the value of an option at its first equals sign."""
    key, equals, value = text.partition("=")
    if not key or not equals:
        raise click.BadParameter("must be KEY=VALUE")
    return key, value


def settings_and_secrets(word: str, key: str, *, example: str = "") -> Callable[[_Function], _Function]:
    """Add `--set`, and options for secrets, such as `--secret`, `--secret-env` and `--secret-file` for the `word` "secret".
    The help names a secret by `key`, and the help of `--set` ends with `example`."""
    return all_options(
        click.option(
            "--set",
            "settings",
            type=pair,
            multiple=True,
            metavar="KEY=VALUE",
            help=f"Set a setting{example}; VALUE is text or JSON.",
        ),
        click.option(
            f"--{word}", "asked", multiple=True, metavar=key, help=f"Ask for this {word}, without showing it."
        ),
        click.option(
            f"--{word}-env",
            "variables",
            type=pair,
            multiple=True,
            metavar=f"{key}=VARIABLE",
            help=f"Read this {word} from the environment variable VARIABLE.",
        ),
        click.option(
            f"--{word}-file",
            "files",
            type=pair,
            multiple=True,
            metavar=f"{key}=PATH",
            help=f"Read this {word} from the file PATH.",
        ),
    )


def values_of(settings: Pairs) -> dict[str, Any]:
    """Return the settings that options name. A value is text or JSON."""
    return {key: _value(text) for key, text in settings}


def _value(text: str) -> Any:
    """Parse a value as JSON. Return a text that is not JSON unchanged. Also return a long number as text, because it is
    an id."""
    if text.isdecimal() and len(text) > _LONGEST_NUMBER:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def secrets_of(asked: Sequence[str], variables: Pairs, files: Pairs) -> dict[str, str]:
    """Return the secrets that the options name. Read them from variables and files, and ask for those in `asked`."""
    found = {key: read_secret(key, variable, None) for key, variable in variables}
    found |= {key: read_secret(key, None, Path(path)) for key, path in files}
    if not asked:
        return found
    if sys.stdin.isatty():
        answers = [read_secret(key, None, None) for key in asked]
    else:
        answers = read_secret("secrets", None, None).splitlines()
    return found | {key: answer for key, answer in zip(asked, answers, strict=False) if answer}

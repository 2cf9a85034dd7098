"""`arvis`: finds the command, runs it, turns errors into what / why / fix and an exit code.

A command's module is imported when the command is asked for: `arvis.app` alone takes half a second, which
`arvis version` must not pay. This table is the only place that does so.
"""

from __future__ import annotations

import importlib
import io
import sys
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

from arvis.cli.failures import exit_code, known_in, report
from arvis.cli.options import new_app
from arvis.domain.errors import ArvisError


class Command(NamedTuple):
    module: str
    help: str


COMMANDS = {
    "run": Command("run", "Start the daemon and answer messages until it is stopped."),
    "chat": Command("chat", "Talk to an agent: one message, or line by line."),
    "jobs": Command("jobs", "Look at the queue, and retry, cancel or delete what is in it."),
    "waits": Command("waits", "List the questions that wait for a person, and answer them."),
    "explain": Command("explain", "Tell why a message was answered as it was, or why not."),
    "login": Command("login", "Print a new one-time link to the page."),
    "doctor": Command("doctor", "Check that everything is in order, with or without a running daemon."),
    "migrate": Command("migrate", "Bring the database up to date without starting the daemon."),
    "version": Command("version", "Print the version."),
}


class LazyCommands(TyperGroup):
    """The commands of the table. Typer's own classes for these methods are private, hence `Any`."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - its signature
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - its signature
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"arvis.cli.{COMMANDS[cmd_name].module}")
        return typer.main.get_command(module.app)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - its signature
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in COMMANDS.items()])


def main() -> None:
    """The entry point of the package; leaves by `SystemExit`."""
    for stream in (sys.stdout, sys.stderr):
        # What a terminal's encoding lacks is shown as "?", and ends no command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    app = new_app(cls=LazyCommands)
    app.callback()(_arvis)
    try:
        typer.main.get_command(app)(prog_name="arvis")
    except ArvisError as error:
        _leave([error])
    except BaseExceptionGroup as group:
        errors = known_in(group)
        if errors is None:
            raise
        _leave(errors)


def _arvis() -> None:
    """AI agents on your chat platforms, on your own machine."""


def _leave(errors: list[ArvisError]) -> None:
    for error in errors:
        report(error)
    sys.exit(exit_code(errors[0]))

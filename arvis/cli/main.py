"""`arvis`: finds the command and runs it. Prints an error as what / why / fix, and ends with an exit code.

The module of a command is imported only when the command is used, because the import of `arvis.app` alone takes half a
second, and `arvis version` must be fast. Commands are imported only through the table `COMMANDS`.
"""

from __future__ import annotations

import importlib
import io
import keyword
import sys
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from arvis.cli.output import INTERRUPTED, error_text, exit_code, known_in, tell
from arvis.domain.errors import ArvisError
from arvis.process.memory import importing


class Command(NamedTuple):
    module: str
    help: str


COMMANDS = {
    "init": Command("init.command", "Ask a few questions and write config.yaml."),
    "run": Command("commands.run", "Start the daemon and answer messages until it is stopped."),
    "chat": Command("commands.chat", "Talk to an agent: one message, or line by line."),
    "status": Command("commands.reports", "Show the current work of each agent."),
    "agents": Command("commands.agents", "List, show, create, update, pause and delete agents; bind them to channels."),
    "bots": Command("commands.bots", "List, show, create, update, test and delete the bots of chat platforms."),
    "pairing": Command("commands.people", "List, approve and reject the requests of people who want to use a bot."),
    "people": Command("commands.people", "List, show, update, block, unblock, export and erase people."),
    "erasures": Command("commands.erasures", "Erase all content of a channel; list and show erasures."),
    "jobs": Command("commands.jobs", "List, show, retry, cancel and delete jobs of the queue."),
    "questions": Command("commands.questions", "List and show the questions that wait for a person, and answer them."),
    "notifications": Command(
        "commands.notifications", "List the problems and results that owners should know, and dismiss them."
    ),
    "accounts": Command("commands.accounts", "List, create, update, test and delete the accounts for models."),
    "credentials": Command(
        "commands.credentials", "List, show, create, update and delete secrets for requests of agents."
    ),
    "variables": Command("commands.variables", "List, show, create, update and delete values that tools may use."),
    "workflows": Command(
        "commands.workflows", "List, show, run, import and export workflows; list, cancel and rerun their runs."
    ),
    "schedules": Command("commands.schedules", "List, show, create, update and delete crons and heartbeats."),
    "webhooks": Command(
        "commands.webhooks", "List, show, create, update and delete addresses that other programs call."
    ),
    "projects": Command("commands.projects", "List, show, create, update and delete projects that agents work on."),
    "skills": Command("commands.skills", "List, show, create, trust and delete skills."),
    "knowledge": Command(
        "commands.knowledge", "List, show, create, update, fill and search knowledge bases, which agents search."
    ),
    "memory": Command("commands.memory", "List, show, create, confirm and delete facts that agents remember."),
    "evals": Command("commands.evals", "Record turns as cases, evaluate agents with them, and compare evaluations."),
    "audit": Command("commands.reports", "List failed logins, exports and the changes that agents requested."),
    "usage": Command("commands.reports", "Show calls, tokens and costs of models."),
    "clients": Command("commands.clients", "List, show and create customers; enter charges and payments."),
    "explain": Command("commands.explain", "Explain how a message was handled and why."),
    "login": Command("commands.login", "Print a new one-time link to the dashboard."),
    "password": Command("commands.password", "Set the password of a dashboard user."),
    "mcp": Command("commands.mcp", "List tool servers and accept their changes; serve MCP to a program."),
    "doctor": Command("commands.doctor", "Check the installation, with or without a running daemon."),
    "backup": Command("commands.database", "Back up all data, with or without a running daemon."),
    "export": Command("commands.interchange", "Export agents, memory, conversations and more into a file."),
    "import": Command(
        "commands.interchange", "Import the file of an export, or the home of OpenClaw, Hermes or nanobot."
    ),
    "restore": Command("commands.database", "Replace the data with a backup, or list the backups."),
    "move": Command("commands.move", "Move all data between SQLite and PostgreSQL."),
    "config": Command("commands.config", "Migrate a configuration file of an older version."),
    "upgrade": Command("commands.upgrade", "Upgrade data and configuration of an older version, or change nothing."),
    "service": Command("commands.service", "Install Arvis as a service of systemd or launchd, and manage it."),
    "completion": Command("commands.completion", "Print the script that completes commands in a shell."),
    "version": Command("commands.version", "Print the version."),
}


class LazyCommands(click.Group):
    """The group of the commands in `COMMANDS`. The function of a command has the same name as the command."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - its signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - its signature
        if cmd_name not in COMMANDS:
            return None
        with importing():
            module = importlib.import_module(f"arvis.cli.{COMMANDS[cmd_name].module}")
        # If the name of a command is a keyword of Python, the name of its function has an underscore at the end.
        command: click.Command = getattr(module, f"{cmd_name}_" if keyword.iskeyword(cmd_name) else cmd_name)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin with `incomplete`. The method of click would import the modules of all these
        commands."""
        if not incomplete or incomplete[0].isalpha():
            return [
                CompletionItem(name, help=command.help)
                for name, command in COMMANDS.items()
                if name.startswith(incomplete)
            ]
        return super().shell_complete(ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - its signature
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):
            # While click asks a question, it raises `Abort` after Ctrl-C and at the end of the input.
            ctx.exit(INTERRUPTED)


@click.group(cls=LazyCommands)
def arvis() -> None:
    """AI agents on your chat platforms, on your own machine."""


def main() -> None:
    """Run a command, and end with `SystemExit`. This function is the entry point of the package."""
    for stream in (sys.stdout, sys.stderr):
        # A character that is not in the terminal's encoding is printed as "?" and does not end the command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        arvis(prog_name="arvis")
    except ArvisError as error:
        _leave([error])
    except BaseExceptionGroup as group:
        errors = known_in(group)
        if errors is None:
            raise
        _leave(errors)


def _leave(errors: list[ArvisError]) -> None:
    for error in errors:
        tell(error_text(error))
    sys.exit(exit_code(errors[0]))

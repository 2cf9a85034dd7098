"""The registry of commands. A text that begins with a slash but is not a command, such as `/etc/passwd`, is an ordinary
message."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from arvis.commands.conversation import agents, how_to_address, is_start, new, reset, start, stop
from arvis.commands.invocation import CommandAnswer, Invocation, Spoken
from arvis.commands.memory import memory
from arvis.commands.reports import usage, why
from arvis.commands.run import run
from arvis.domain.dataclass import dataclass
from arvis.domain.text import split_command
from arvis.ports.connector import CommandHint
from arvis.ports.store import Transaction


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its script and a short description. An `unlisted` command appears in no list."""

    run: Callable[[Transaction, Invocation, int], str | CommandAnswer]
    about: str
    unlisted: bool = False


def parse(text: str) -> Spoken | None:
    """Return the command that a message contains; None if it contains none. Commands of plugins are not included,
    because they run in the agent's turn (`graphs/agent/plugins.py`)."""
    found = split_command(text)
    if found is None or found[0] not in COMMANDS or (found[0] == "start" and not is_start(found[1])):
        return None
    return Spoken(*found)


def perform(tx: Transaction, invocation: Invocation, now: int) -> CommandAnswer:
    """Carry out the command and return its answer; `invocation.name` comes from `parse`."""
    answer = COMMANDS[invocation.name].run(tx, invocation, now)
    return answer if isinstance(answer, CommandAnswer) else CommandAnswer(answer)


def command_hints() -> Sequence[CommandHint]:
    """Return the commands for platforms that show a list of commands."""
    return [CommandHint(name, command.about) for name, command in COMMANDS.items() if not command.unlisted]


def _help(tx: Transaction, invocation: Invocation, _now: int) -> str:
    """Return the list of commands. A plugin's command with the name of a built-in command is left out."""
    lines = [f"/{name}: {command.about}" for name, command in COMMANDS.items() if not command.unlisted]
    lines += [f"/{each.name}: {each.about}" for each in invocation.more if each.name not in COMMANDS]
    return "\n".join([*lines, how_to_address(tx, invocation)])


COMMANDS: Mapping[str, Command] = {
    "start": Command(start, "say hello", unlisted=True),
    "help": Command(_help, "show this list"),
    "new": Command(new, "start a new conversation and keep the memory"),
    "reset": Command(reset, "start a new conversation with an empty folder and keep the memory"),
    "stop": Command(stop, "cancel your running requests here"),
    "run": Command(run, "start a workflow: its name, then its input; without a name, list the workflows"),
    "agents": Command(agents, "list the agents here, and how to address them"),
    "memory": Command(memory, "show and correct the facts stored about you and this channel"),
    "usage": Command(usage, "show your requests today and this month, and their cost"),
    "why": Command(why, "explain the last answer, or why there was none"),
}

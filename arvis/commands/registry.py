"""The registry of commands. A text that begins with a slash but is not a command, such as `/etc/passwd`, is an ordinary
message."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from arvis.commands.conversation import again, agents, effort, how_to_address, is_start, new, reset, start, stop
from arvis.commands.hints import ABOUT
from arvis.commands.invocation import CommandAnswer, Invocation, Spoken
from arvis.commands.memory import memory
from arvis.commands.person import language, link, timezone, unlink
from arvis.commands.reports import usage, why
from arvis.commands.run import run
from arvis.domain.text import split_command
from arvis.ports.store import Transaction


def parse(text: str) -> Spoken | None:
    """Return the command that a message contains; None if the message is not a command. Commands of plugins are not
    included, because they run in the agent's turn (`graphs/agent/plugins.py`)."""
    found = split_command(text)
    if found is None or found[0] not in COMMANDS or (found[0] == "start" and not is_start(found[1])):
        return None
    return Spoken(*found)


def searched_text(text: str) -> str | None:
    """Return the search text of a message that searches facts (`/memory search TEXT`); None for all other messages."""
    spoken = parse(text) if text.startswith("/") else None
    words = spoken.argument.split(maxsplit=1) if spoken is not None and spoken.name == "memory" else []
    return words[1] if len(words) > 1 and words[0].casefold() == "search" else None


def perform(tx: Transaction, invocation: Invocation, now: int) -> CommandAnswer:
    """Carry out the command and return its answer; `invocation.name` comes from `parse`."""
    answer = COMMANDS[invocation.name](tx, invocation, now)
    return answer if isinstance(answer, CommandAnswer) else CommandAnswer(answer)


def _help(tx: Transaction, invocation: Invocation, _now: int) -> str:
    """Return the list of commands. A plugin's command with the name of a built-in command is left out."""
    lines = [f"/{name}: {about}" for name, about in ABOUT.items()]
    lines += [f"/{each.name}: {each.about}" for each in invocation.more if each.name not in COMMANDS]
    return "\n".join([*lines, how_to_address(tx, invocation)])


#: The scripts of the commands, by name.
COMMANDS: Mapping[str, Callable[[Transaction, Invocation, int], str | CommandAnswer]] = {
    "start": start,
    "help": _help,
    "new": new,
    "reset": reset,
    "stop": stop,
    "again": again,
    "run": run,
    "agents": agents,
    "effort": effort,
    "memory": memory,
    "usage": usage,
    "timezone": timezone,
    "language": language,
    "link": link,
    "unlink": unlink,
    "why": why,
}

"""Which commands there are. Anything else that begins with a slash is a message like others: `/etc/passwd` is a path."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from arvis.commands.here import agents, how_to_address
from arvis.commands.invocation import Invocation, Said, Spoken
from arvis.commands.memory import memory
from arvis.commands.stop import stop
from arvis.commands.usage import usage
from arvis.commands.why import why
from arvis.ports.connector import CommandHint
from arvis.ports.store import Transaction

_SPOKEN = re.compile(r"/(?P<name>[A-Za-z][A-Za-z0-9_]{0,31})(?:@[A-Za-z0-9_.-]{1,64})?(?:\s+(?P<rest>.*))?", re.DOTALL)

_FRESH = "We begin anew: your next message starts a new conversation. What I keep in memory stays (see /memory)."


@dataclass(frozen=True, slots=True)
class Command:
    """A script, and what it does in a few words."""

    run: Callable[[Transaction, Invocation, int], str | Said]
    about: str


def parse(text: str) -> Spoken | None:
    """The command that a message is, or None."""
    found = _SPOKEN.fullmatch(text)
    name = found["name"].lower() if found else ""
    if found is None or name not in COMMANDS:
        return None
    return Spoken(name, (found["rest"] or "").strip())


def perform(tx: Transaction, invocation: Invocation, now: int) -> Said:
    """Do it and say what came of it; `invocation.name` is one that `parse` gave."""
    said = COMMANDS[invocation.name].run(tx, invocation, now)
    return said if isinstance(said, Said) else Said(said)


def command_hints() -> Sequence[CommandHint]:
    """For platforms that show their users a list of commands."""
    return [CommandHint(name, command.about) for name, command in COMMANDS.items()]


def _help(tx: Transaction, invocation: Invocation, _now: int) -> str:
    lines = [f"/{name}: {command.about}" for name, command in COMMANDS.items()]
    return "\n".join([*lines, how_to_address(tx, invocation)])


def _new(tx: Transaction, invocation: Invocation, now: int) -> str:
    tx.conversations.close(invocation.conversation.id, now)
    return _FRESH


COMMANDS: Mapping[str, Command] = {
    "help": Command(_help, "show this list"),
    "new": Command(_new, "begin a new conversation; memory stays"),
    "stop": Command(stop, "end what is at work for you here"),
    "agents": Command(agents, "tell whom you can talk to here, and how"),
    "memory": Command(memory, "show and correct what is kept about you and this place"),
    "usage": Command(usage, "tell what you asked for today and this month, and what it cost"),
    "why": Command(why, "tell how the last answer came about, or why there was none"),
}

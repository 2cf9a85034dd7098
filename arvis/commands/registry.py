"""Which commands there are. Anything else that begins with a slash is a message like others: `/etc/passwd` is a path."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from arvis.commands.invocation import Invocation, Spoken
from arvis.commands.memory import memory
from arvis.commands.why import why
from arvis.ports.store import Transaction

_SPOKEN = re.compile(r"/(?P<name>[A-Za-z][A-Za-z0-9_]{0,31})(?:@[A-Za-z0-9_.-]{1,64})?(?:\s+(?P<rest>.*))?", re.DOTALL)

_FRESH = "We begin anew: your next message starts a new conversation. What I keep in memory stays (see /memory)."


@dataclass(frozen=True, slots=True)
class Command:
    """A script, and what it does in a few words."""

    run: Callable[[Transaction, Invocation, int], str]
    about: str


def parse(text: str) -> Spoken | None:
    """The command that a message is, or None."""
    found = _SPOKEN.fullmatch(text)
    name = found["name"].lower() if found else ""
    if found is None or name not in COMMANDS:
        return None
    return Spoken(name, (found["rest"] or "").strip())


def run(tx: Transaction, invocation: Invocation, now: int) -> str:
    """Do it and say what came of it; `invocation.name` is one that `parse` gave."""
    return COMMANDS[invocation.name].run(tx, invocation, now)


def _help(_tx: Transaction, _invocation: Invocation, _now: int) -> str:
    return "\n".join(f"/{name}: {command.about}" for name, command in COMMANDS.items())


def _new(tx: Transaction, invocation: Invocation, now: int) -> str:
    tx.conversations.close(invocation.conversation.id, now)
    return _FRESH


COMMANDS: Mapping[str, Command] = {
    "help": Command(_help, "show this list"),
    "new": Command(_new, "begin a new conversation; memory stays"),
    "memory": Command(memory, "show and correct what is kept about you and this place"),
    "why": Command(why, "tell how the last answer came about, or why there was none"),
}

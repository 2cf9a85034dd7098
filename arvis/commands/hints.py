"""The names and descriptions of the commands. Connectors need them without the code that runs commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arvis.ports.connector import CommandHint

#: The descriptions of the commands, by name. The command `start` is not listed anywhere.
ABOUT: Mapping[str, str] = {
    "help": "show this list",
    "new": "start a new conversation and keep the memory",
    "reset": "start a new conversation with an empty folder and keep the memory",
    "stop": "cancel your running requests here",
    "again": "answer your last message again; a text after the command replaces the message",
    "run": "start a workflow: its name, then its input; without a name, list the workflows",
    "agents": "list the agents here and the ways to address them",
    "effort": "show or choose how much the model thinks in this conversation, such as low, high or default",
    "memory": "show and correct the facts stored about you and this channel",
    "usage": "show your requests today and this month, and their cost",
    "timezone": "show or choose your time zone, such as Europe/Berlin",
    "language": "show or choose your language, such as de",
    "link": "link your account on another platform, to share memory and budget",
    "unlink": "end the link of this account",
    "why": "explain the last answer, or why there was none",
}


def command_hints() -> Sequence[CommandHint]:
    """Return the commands for platforms that show a list of commands."""
    return [CommandHint(name, about) for name, about in ABOUT.items()]

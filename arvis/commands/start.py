"""`/start`: Telegram sends it when a person opens a bot for the first time. It returns a greeting and does not ask
the agent."""

from __future__ import annotations

import re

from arvis.commands.here import how_to_address
from arvis.commands.invocation import Invocation
from arvis.memory.service import brief
from arvis.ports.store import Transaction

_LONGEST_NAME, _LONGEST_ABOUT = 120, 300
#: The payload that a link to a bot may add to `/start`; anything else is an ordinary message.
_CARRIED = re.compile(r"[A-Za-z0-9_-]{0,64}")


def is_start(argument: str) -> bool:
    return _CARRIED.fullmatch(argument) is not None


def start(tx: Transaction, invocation: Invocation, _now: int) -> str:
    agent = invocation.agent
    greeting = f"Hello, I am {brief(agent.name, _LONGEST_NAME)}."
    about = brief(agent.description, _LONGEST_ABOUT) if agent.description else ""
    return "\n".join(filter(None, (greeting, about, how_to_address(tx, invocation), "/help lists the commands.")))

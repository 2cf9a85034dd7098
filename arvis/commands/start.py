"""`/start`: what Telegram sends when somebody opens a bot for the first time. A greeting, and no question to the agent."""

from __future__ import annotations

import re

from arvis.commands.here import how_to_address
from arvis.commands.invocation import Invocation
from arvis.memory.render import brief
from arvis.ports.store import Transaction

_LONGEST_NAME, _LONGEST_ABOUT = 120, 300
#: What a link to a bot may carry behind `/start`; anything else is a sentence that begins with a slash.
_CARRIED = re.compile(r"[A-Za-z0-9_-]{0,64}")


def is_start(argument: str) -> bool:
    return _CARRIED.fullmatch(argument) is not None


def start(tx: Transaction, invocation: Invocation, _now: int) -> str:
    agent = invocation.agent
    greeting = f"Hello, I am {brief(agent.name, _LONGEST_NAME)}."
    about = brief(agent.description, _LONGEST_ABOUT) if agent.description else ""
    return "\n".join(filter(None, (greeting, about, how_to_address(tx, invocation), "/help lists the commands.")))

"""The instructions in a handover: who writes to the agent, and where its reply goes."""

from __future__ import annotations

from collections.abc import Sequence

from arvis.approvals.questions import visible
from arvis.domain.agents import Agent
from arvis.domain.markup import escape
from arvis.graphs.handover.rules import LONGEST_MESSAGE, SAID_NOTHING

#: The maximum of agents that are offered, and of characters in each description.
_MOST_OFFERED = 20
_DESCRIPTION = 100
_LONGEST_NAME = 60

_HOW = """\
# Other agents
You can ask one of these agents for help. It answers you, not the person:
{agents}
To ask, write only this, in this form:
<response-metadata><attributes><destinationAgent>{example}</destinationAgent></attributes></response-metadata>
MESSAGE TO SEND:
everything the agent needs to know"""
_TO_PERSON = "Any other reply goes to the person."
_TO_AGENT = "{how} goes to the agent {name}, which asked you; no person reads it."


def instructions(offered: Sequence[Agent], waiting: Agent | None) -> str:
    """Return the additional instructions; empty for an agent with no agent to ask and no agent that waits."""
    if not offered:
        how = "A reply that names no other agent"
        return _TO_AGENT.format(how=how, name=plain(waiting.name)) if waiting is not None else ""
    lines = [f"- {agent.slug}: {escape(_what(agent))}" for agent in offered[:_MOST_OFFERED]]
    how = _HOW.format(agents="\n".join(lines), example=offered[0].slug)
    then = _TO_PERSON
    if waiting is not None:
        then = _TO_AGENT.format(how="Any other reply", name=plain(waiting.name))
    return f"{how}\n{then}"


def message_from(agent: Agent | None, text: str) -> str:
    """Return the message of one agent in the form for the other (vector D3)."""
    return f"[Message from the agent {_name(agent)}]\n{cut(text) or SAID_NOTHING}"


def failure_of(agent: Agent | None) -> str:
    return f"[The agent {_name(agent)} could not answer.]"


def refusal(name: str, why: str) -> str:
    """Return the message to an agent whose handover was refused (vector D2)."""
    return (
        f"[Not handed over to “{plain(name)}”: {why}. Your text was not sent. Name another agent, or answer yourself.]"
    )


def moved(target: Agent) -> str:
    """Shown to the person."""
    return f"→ {plain(target.name)}"


def cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}\n[cut]"


def plain(name: str) -> str:
    """A name within a line of ours, which it can neither end nor look like."""
    return visible(name).replace("[", "(").replace("]", ")")[:_LONGEST_NAME]


def _name(agent: Agent | None) -> str:
    return plain(agent.name) if agent is not None else "(gone)"


def _what(agent: Agent) -> str:
    return " ".join((agent.description or agent.name).split())[:_DESCRIPTION]

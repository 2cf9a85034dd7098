"""What a proposal asks for, in words for people. What a model wrote is shown so that nothing in it can hide."""

from __future__ import annotations

from arvis.agents.asking import visible
from arvis.domain.effects import EffectKind, EffectResult, Outcome, Proposal
from arvis.domain.memory import Category

_LONGEST_NAME = 60

_WORDS = {
    EffectKind.REMEMBER: "remember something",
    EffectKind.STATE: "keep the value {}",
    EffectKind.DELEGATE: "give a task to {}",
    EffectKind.CREATE_AGENT: "create the agent {}",
    EffectKind.UPDATE_AGENT: "change the agent {}",
    EffectKind.PAUSE_AGENT: "pause the agent {}",
    EffectKind.DELETE_AGENT: "delete the agent {}",
    EffectKind.CREATE_CRON: "create the cron {}",
    EffectKind.UPDATE_CRON: "change the cron {}",
    EffectKind.DELETE_CRON: "delete the cron {}",
    EffectKind.CREATE_HEARTBEAT: "create the heartbeat {}",
    EffectKind.UPDATE_HEARTBEAT: "change the heartbeat {}",
    EffectKind.DELETE_HEARTBEAT: "delete the heartbeat {}",
    EffectKind.CREATE_CLIENT: "create the client {}",
    EffectKind.LIST_AGENTS: "list the agents",
    EffectKind.LIST_CRONS: "list the crons",
    EffectKind.LIST_HEARTBEATS: "list the heartbeats",
    EffectKind.LIST_CLIENTS: "list the clients",
}


def wish(proposal: Proposal) -> str:
    """As it stands behind “wants to …”."""
    if proposal.kind is EffectKind.REMEMBER and proposal.subject == Category.STICKY:
        return "remember something in every answer from now on"
    return _WORDS[proposal.kind].format(quoted(_name(proposal)))


def quoted(name: str) -> str:
    """A name that a model or a person wrote."""
    shown = visible(name)
    return f"“{shown if len(shown) <= _LONGEST_NAME else f'{shown[:_LONGEST_NAME]}…'}”"


def done(proposal: Proposal, report: str) -> EffectResult:
    return EffectResult(proposal, Outcome.DONE, report)


def not_done(proposal: Proposal, outcome: Outcome, reason: str | None, why: str) -> EffectResult:
    """`why` is the end of a sentence."""
    return EffectResult(proposal, outcome, f"{wish(proposal)} ({why.rstrip('.')})", reason)


def _name(proposal: Proposal) -> str:
    """By what people know it; a schedule without a name goes by its agent."""
    names = (proposal.subject, proposal.fields.get("slug"), proposal.fields.get("name"), proposal.fields.get("agent"))
    return next((str(name) for name in names if name), "without a name")

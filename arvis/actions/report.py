"""The generated line that reports to people which actions were carried out, wait for an approval, or were not carried
out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arvis.approvals import visible
from arvis.domain.effects import EffectKind, EffectResult, Outcome, Proposal
from arvis.domain.markup import escape
from arvis.domain.memory import Category

# Descriptions of proposals for people. Every character of a model's text is made visible.


_LONGEST_NAME = 60

_WORDS = {
    EffectKind.REMEMBER: "remember something",
    EffectKind.STATE: "store the value {}",
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
    EffectKind.CREATE_CLIENT: "create the customer {}",
    EffectKind.LIST_AGENTS: "list the agents",
    EffectKind.LIST_CRONS: "list the crons",
    EffectKind.LIST_HEARTBEATS: "list the heartbeats",
    EffectKind.LIST_CLIENTS: "list the customers",
}


def wish(proposal: Proposal) -> str:
    """Return the description of a proposal that follows “wants to …”."""
    if proposal.kind is EffectKind.REMEMBER and proposal.subject == Category.STICKY:
        return "store a fact that every prompt contains from now on"
    return _WORDS[proposal.kind].format(quoted(_name(proposal)))


def quoted(name: str) -> str:
    """Return a name that a model or a person wrote, shortened and in quotation marks, with invisible characters made
    visible."""
    shown = visible(name)
    return f"“{shown if len(shown) <= _LONGEST_NAME else f'{shown[:_LONGEST_NAME]}…'}”"


def done(proposal: Proposal, report: str) -> EffectResult:
    return EffectResult(proposal, Outcome.DONE, report)


def not_done(proposal: Proposal, outcome: Outcome, reason: str | None, why: str) -> EffectResult:
    """Return the result of a proposal that was not carried out. `why` is the end of a sentence."""
    return EffectResult(proposal, outcome, f"{wish(proposal)} ({why.rstrip('.')})", reason)


def _name(proposal: Proposal) -> str:
    """Return the name of the object of a proposal. A schedule without a name gets the name of its agent."""
    names = (proposal.subject, proposal.fields.get("slug"), proposal.fields.get("name"), proposal.fields.get("agent"))
    return next((str(name) for name in names if name), "without a name")


#: The maximum number of actions of one outcome that the line describes. The line only counts further actions, as in
#: `and 3 more`.
_SHOWN_REPORTS = 10

LISTS = frozenset({EffectKind.LIST_AGENTS, EffectKind.LIST_CRONS, EffectKind.LIST_HEARTBEATS, EffectKind.LIST_CLIENTS})


def report(results: Sequence[EffectResult]) -> str:
    """Return the line with the results, and below it the lists that the actions requested; "" if no result has a
    report.

    Tags in names that a model wrote are escaped. A stored fact has a report only if a person was asked to approve it.
    """
    reported = [result for result in results if result.report]
    lists = [result.report for result in reported if _is_list(result)]
    others = [result for result in reported if not _is_list(result)]
    parts = [
        _part("Done", others, Outcome.DONE),
        _part("Waiting for approval", others, Outcome.ASKED),
        _part("Not done", others, Outcome.REFUSED, Outcome.FAILED),
    ]
    return escape("\n\n".join(filter(None, [" ".join(filter(None, parts)), *lists])))


def _part(head: str, results: Iterable[EffectResult], *outcomes: Outcome) -> str:
    reports = [result.report.rstrip(".") for result in results if result.outcome in outcomes]
    more = [f"and {len(reports) - _SHOWN_REPORTS} more"] if len(reports) > _SHOWN_REPORTS else []
    return f"{head}: {'; '.join([*reports[:_SHOWN_REPORTS], *more])}." if reports else ""


def _is_list(result: EffectResult) -> bool:
    return result.proposal.kind in LISTS and result.outcome is Outcome.DONE

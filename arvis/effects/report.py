"""One generated line for people: what was done at a model's word, what waits for theirs, and what was not done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arvis.domain.effects import EffectKind, EffectResult, Outcome
from arvis.domain.markup import escape

#: So many things of one outcome are told one by one.
TOLD = 10

LISTS = frozenset({EffectKind.LIST_AGENTS, EffectKind.LIST_CRONS, EffectKind.LIST_HEARTBEATS, EffectKind.LIST_CLIENTS})


def report(results: Sequence[EffectResult]) -> str:
    """Empty where nothing is to be said: what was remembered is not told, unless a person was asked about it. Lists that
    were asked for stand below the line. Names that a model gave may hold tags, which nobody is to see as such."""
    told = [result for result in results if result.report]
    lists = [result.report for result in told if _is_list(result)]
    others = [result for result in told if not _is_list(result)]
    parts = [
        _part("Done", others, Outcome.DONE),
        _part("Waits for an answer", others, Outcome.ASKED),
        _part("Not done", others, Outcome.REFUSED, Outcome.FAILED),
    ]
    return escape("\n\n".join(filter(None, [" ".join(filter(None, parts)), *lists])))


def _part(head: str, results: Iterable[EffectResult], *outcomes: Outcome) -> str:
    reports = [result.report.rstrip(".") for result in results if result.outcome in outcomes]
    more = [f"and {len(reports) - TOLD} more"] if len(reports) > TOLD else []
    return f"{head}: {'; '.join([*reports[:TOLD], *more])}." if reports else ""


def _is_list(result: EffectResult) -> bool:
    return result.proposal.kind in LISTS and result.outcome is Outcome.DONE

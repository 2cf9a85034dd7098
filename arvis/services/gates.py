"""The gate in front of changed prompts: suites that must pass with a prompt before it is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.errors import Conflict
from arvis.domain.evaluations import Evaluation, EvaluationStatus, Suite, hash_of, hash_of_cases
from arvis.ports.store import Transaction

#: The number of the newest evaluations of a prompt that the gate examines, and of the failing cases that it names.
_EXAMINED, _NAMED = 20, 10


def check_gates(tx: Transaction, agent: Agent, proposed: Agent) -> None:
    """Raise `Conflict` if a suite must pass before this change of an agent is stored, and has not passed with the proposed
    prompt and the present cases of the suite."""
    if proposed.prompt == agent.prompt:
        return
    for suite in tx.evaluations.gates(agent.id):
        cases = hash_of_cases(tx.evaluations.cases(suite.id))
        known = tx.evaluations.of_prompt(suite.id, hash_of(proposed.prompt), cases, _EXAMINED)
        same = [each for each in known if _is_about(proposed, each.changes)]
        if suite.cases and not any(each.passes for each in same):
            raise _not_passed(tx, suite, same)


def _is_about(proposed: Agent, changes: Mapping[str, Any]) -> bool:
    """Return True if an evaluation with these changes has tested the agent as it is proposed."""
    fields = {name: getattr(proposed, name) for name in changes}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()} == dict(changes)


def _not_passed(tx: Transaction, suite: Suite, known: Sequence[Evaluation]) -> Conflict:
    newest = next(iter(known), None)
    if newest is None:
        why = "It has not been evaluated with this prompt and its present cases."
    elif newest.status is not EvaluationStatus.DONE:
        why = f"The evaluation {newest.id} with this prompt is {newest.status}."
    else:
        failed = [each.name for each in tx.evaluations.results(newest.id) if not each.passed]
        more = f" and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
        why = f"These cases failed in the evaluation {newest.id}: {', '.join(failed[:_NAMED])}{more}."
    return Conflict(
        f"The prompt was not changed, because the suite {suite.name} has not passed with the new one.",
        why=why,
        fix=(
            f"Correct the prompt and run `arvis evals run {suite.name} --prompt-file FILE`. An owner can store it anyway with "
            "`--no-gate` (`?gate=false`)."
        ),
        code="suite_not_passed",
    )

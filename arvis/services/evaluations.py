"""Suites of cases, and evaluations: how people change suites, begin evaluations and compare their results.

Transaction scripts. An evaluation is an execution of the graph `evaluation`. So it continues after a restart, can be
cancelled like other work, and its model calls count towards the budgets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from arvis.domain.agents import SLUG
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import Conflict, NotFound, Unprocessable
from arvis.domain.evaluations import (
    CHANGEABLE,
    MOST_CASES,
    Case,
    CaseResult,
    Evaluation,
    EvaluationStatus,
    Retrieval,
    StoredCase,
    Suite,
    hash_of,
    hash_of_agent,
    hash_of_cases,
    tested_fields,
)
from arvis.domain.jobs import NewJob, Priority
from arvis.domain.messages import Address
from arvis.domain.text import json_writer
from arvis.engine import lifecycle
from arvis.engine.state import changes as changes_of
from arvis.ports.store import Transaction
from arvis.services import agents
from arvis.tasks.access import Asker, CallerLimits, PlacedState, check_use

GRAPH = "evaluation"
MOST_SUITES = 1_000
_NOWHERE = Address("", "", "")
_document = json_writer(allow_nan=False)


def create_suite(tx: Transaction, name: str, agent: str, now: int) -> Suite:
    """Create a suite for an agent (its id or slug)."""
    if not SLUG.fullmatch(name):
        fix = "Write 1 to 64 lower-case letters, digits, - and _, for example `support`."
        raise Unprocessable(f"A suite cannot have the name {name[:64]!r}.", fix=fix)
    found = agents.find(tx, agent)
    if found is None:
        raise agents.no_agent()
    if tx.evaluations.suite_named(name) is not None:
        raise Conflict(f"There is a suite {name} already.", fix="Choose another name.", code="suite_exists")
    if len(tx.evaluations.suites()) >= MOST_SUITES:
        raise Conflict(f"There are {MOST_SUITES} suites already.", fix="Delete one that is not needed.")
    suite = Suite(tx.new_id(), name, found.id, gate=False, created_at=now)
    tx.evaluations.add_suite(suite)
    return suite


def suite_named(tx: Transaction, name: str) -> Suite:
    """Return the suite with this name or id. Raise `NotFound` if it does not exist."""
    found = tx.evaluations.suite_named(name) or tx.evaluations.suite(name)
    if found is None:
        raise NotFound(f"There is no suite {name}.", fix="`arvis evals list` lists the suites.")
    return found


def set_gate(tx: Transaction, name: str, *, on: bool) -> Suite:
    """Turn the gate of a suite on or off. If the gate is on, a changed prompt of the agent is stored only after the
    suite has passed with the new prompt."""
    suite = suite_named(tx, name)
    if on and not suite.cases:
        raise Conflict(
            f"The suite {name} has no cases.",
            why="A suite without cases lets every prompt pass.",
            fix=f"Record a case first: `arvis evals record {name} MESSAGE`.",
        )
    tx.evaluations.set_gate(suite.id, on=on)
    return suite_named(tx, suite.id)


def drop_suite(tx: Transaction, name: str) -> None:
    """Delete a suite with its cases and results."""
    suite = suite_named(tx, name)
    if suite.gate:
        fix = f"Run `arvis evals gate {suite.name} --off` first."
        raise Conflict(f"The suite {suite.name} cannot be deleted, because changed prompts must pass it.", fix=fix)
    if any(each.status is EvaluationStatus.RUNNING for each in tx.evaluations.newest(suite.id, 20)):
        fix = "Cancel the evaluation, or wait until it has ended."
        raise Conflict(f"The suite {name} cannot be deleted while an evaluation of it is running.", fix=fix)
    tx.evaluations.drop_suite(suite.id)


def put_case(tx: Transaction, suite: Suite, case: Case, now: int, *, overwrite: bool) -> StoredCase:
    """Add a case to a suite. With `overwrite`, replace a case with the same name."""
    known = tx.evaluations.case_named(suite.id, case.name)
    if known is not None and not overwrite:
        raise Conflict(
            f"The suite {suite.name} has a case {case.name} already.",
            fix="Choose another name, or replace the case with `--replace`.",
            code="case_exists",
        )
    if known is None and suite.cases >= MOST_CASES:
        raise Conflict(f"A suite can have at most {MOST_CASES} cases.", fix="Delete a case, or use another suite.")
    case = with_person(tx, case)
    stored = StoredCase(
        id=known.id if known is not None else tx.new_id(),
        suite_id=suite.id,
        case=case,
        hash=hash_of(_document(case.to_json())),
        created_at=known.created_at if known is not None else now,
        updated_at=now,
    )
    tx.evaluations.put_case(stored)
    return stored


def with_person(tx: Transaction, case: Case) -> Case:
    """Return the case with the id of its person. A document may name the person by a platform and the user id there."""
    asked = case.asked
    if not isinstance(asked, Retrieval) or asked.person is None:
        return case
    platform, colon, user_id = asked.person.partition(":")
    person = tx.principals.find(platform, user_id) if colon else tx.principals.get(asked.person)
    if person is None:
        fix = "Write an id that `arvis people list` shows, or PLATFORM:USER."
        raise Unprocessable(f"The case {case.name} names an unknown person.", fix=fix, code="bad_case")
    return replace(case, asked=replace(asked, person=person.id))


def case_named(tx: Transaction, suite: Suite, name: str) -> StoredCase:
    found = tx.evaluations.case_named(suite.id, name)
    if found is None:
        raise NotFound(
            f"The suite {suite.name} has no case {name}.", fix=f"`arvis evals show {suite.name}` lists its cases."
        )
    return found


@dataclass(frozen=True, slots=True)
class NewEvaluation:
    """An evaluation to begin."""

    suite: str
    #: The fields of the agent to change, by their names (`CHANGEABLE`).
    changes: Mapping[str, Any]
    #: The names of the cases to evaluate. Empty means all cases.
    cases: Sequence[str] = ()
    #: The cost in micros above which no further case begins. None means no limit.
    most_micros: int | None = None
    #: The model that judges the replies. None means the agent's stored model.
    judge: str | None = None


def begin(tx: Transaction, new: NewEvaluation, by: str | None, now: int) -> Evaluation:
    """Store an evaluation, its execution and its job. Raise `Unprocessable` if the person may not use the agent."""
    suite = suite_named(tx, new.suite)
    agent = agents.present(tx, suite.agent_id)
    if unknown := new.changes.keys() - set(CHANGEABLE):
        fix = f"An evaluation can change {', '.join(sorted(CHANGEABLE))}."
        raise Unprocessable(f"An evaluation cannot change `{min(unknown)}`.", fix=fix)
    check_use(tx, agent, Asker(tx.principals.get(by or ""), CallerLimits(paired=True), _NOWHERE, None, own_words=True))
    tested = agents.proposed(agent, new.changes)
    if "model" in new.changes and "fallbacks" not in new.changes:
        tested = replace(tested, fallbacks=())  # so that no fallback silently replaces the model
    cases = tx.evaluations.hashes(suite.id)
    chosen = sorted({case_named(tx, suite, name).case.name for name in new.cases})
    if not cases:
        fix = f"Record one first: `arvis evals record {suite.name} MESSAGE`."
        raise Conflict(f"The suite {suite.name} has no cases.", fix=fix)
    execution_id = tx.new_id()
    lane = f"evaluation:{execution_id}"
    state = changes_of(PlacedState, agent=agent.id) | {"only": chosen, "tested": tested_fields(tested)}
    lifecycle.begin(tx, execution_id, GRAPH, state, lane=lane, priority=Priority.BACKGROUND, principal_id=by, now=now)
    tx.jobs.add(NewJob.advance(execution_id, lane, Priority.BACKGROUND, principal_id=by), now)
    evaluation = Evaluation(
        id=execution_id,
        suite_id=suite.id,
        changes=new.changes,
        agent_hash=hash_of_agent(tested),
        cases_hash="" if chosen else hash_of_cases(cases),
        count=len(chosen or cases),
        most_micros=new.most_micros,
        judge=new.judge,
        by_id=by,
        created_at=now,
    )
    tx.evaluations.add(evaluation)
    return found(tx, execution_id)


def found(tx: Transaction, evaluation_id: str) -> Evaluation:
    evaluation = tx.evaluations.get(evaluation_id)
    if evaluation is None:
        raise NotFound("There is no such evaluation.", fix="`arvis evals list --runs` lists the evaluations.")
    return evaluation


# -- comparison --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pair:
    """The results of one case in two evaluations. A result is None if the evaluation did not run the case."""

    name: str
    before: CaseResult | None
    after: CaseResult | None

    @property
    def worse(self) -> bool:
        """True if the case passed in the first evaluation and failed in the second one."""
        return self.before is not None and self.before.passed and self.after is not None and not self.after.passed


@dataclass(frozen=True, slots=True)
class Comparison:
    before: Evaluation
    after: Evaluation
    pairs: Sequence[Pair]


def compare(tx: Transaction, before_id: str, after_id: str) -> Comparison:
    """Compare the results of two evaluations of one suite."""
    before, after = found(tx, before_id), found(tx, after_id)
    if before.suite_id != after.suite_id:
        fix = "Compare two evaluations of the same suite."
        raise Unprocessable("These evaluations belong to different suites.", fix=fix)
    old = {each.case_id: each for each in tx.evaluations.results(before.id)}
    new = {each.case_id: each for each in tx.evaluations.results(after.id)}
    named = {case_id: each.name for case_id, each in {**old, **new}.items()}
    ordered = sorted(named, key=lambda case_id: (named[case_id], case_id))
    return Comparison(before, after, [Pair(named[each], old.get(each), new.get(each)) for each in ordered])

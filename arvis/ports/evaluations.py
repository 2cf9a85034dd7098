"""The repository of evaluations: suites, cases and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from arvis.domain.evaluations import CaseResult, Evaluation, StoredCase, Suite


class Evaluations(Protocol):
    def suites(self) -> Sequence[Suite]:
        """Return the suites in the order of their names."""
        ...

    def suite(self, suite_id: str) -> Suite | None: ...

    def suite_named(self, name: str) -> Suite | None: ...

    def gates(self, agent_id: str) -> Sequence[Suite]:
        """Return the suites that must pass before a changed prompt of this agent is stored."""
        ...

    def add_suite(self, suite: Suite) -> None: ...

    def set_gate(self, suite_id: str, *, on: bool) -> None: ...

    def drop_suite(self, suite_id: str) -> None:
        """Delete a suite with its cases, evaluations and results."""
        ...

    def hashes(self, suite_id: str) -> Sequence[tuple[str, str]]:
        """Return the names and hashes of the cases of a suite, sorted by name."""
        ...

    def cases(self, suite_id: str) -> Sequence[StoredCase]:
        """Return the cases of a suite in the order of their names."""
        ...

    def next_case(self, suite_id: str, after: str) -> StoredCase | None:
        """Return the first case whose name follows `after`; with "", the first case of the suite."""
        ...

    def case(self, case_id: str) -> StoredCase | None: ...

    def case_named(self, suite_id: str, name: str) -> StoredCase | None: ...

    def put_case(self, case: StoredCase) -> None:
        """Add a case, or replace the case with this id."""
        ...

    def drop_case(self, case_id: str) -> None:
        """Delete a case with its results."""
        ...

    def add(self, evaluation: Evaluation) -> None: ...

    def get(self, evaluation_id: str) -> Evaluation | None:
        """Return an evaluation with its totals."""
        ...

    def newest(self, suite_id: str | None, limit: int, before: str | None = None) -> Sequence[Evaluation]:
        """Return the newest evaluations of a suite (None: of all suites) with their totals, newest first."""
        ...

    def of_agent(self, suite_id: str, agent_hash: str, cases_hash: str, limit: int) -> Sequence[Evaluation]:
        """Return the newest evaluations of an agent with this hash (`hash_of_agent`) and these cases, newest first."""
        ...

    def end(self, evaluation_id: str, now: int, problem: str = "") -> None:
        """Store the end of an evaluation; `problem` is the reason if it ended before its last case."""
        ...

    def put_result(self, evaluation_id: str, result: CaseResult) -> None: ...

    def results(self, evaluation_id: str) -> Sequence[CaseResult]:
        """Return the results of an evaluation in the order of the names of its cases."""
        ...

    def prune(self, before: int, limit: int) -> int:
        """Delete up to `limit` evaluations from before this time, but not the newest one of a suite. Return their
        number."""
        ...

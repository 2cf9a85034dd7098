"""Evaluations over SQL. Each change is announced to the dashboard after its commit."""

from __future__ import annotations

import json
from collections.abc import Sequence

from arvis.domain.changes import ChangeTopic
from arvis.domain.dataclass import replace
from arvis.domain.evaluations import MOST_CASES, Case, CaseResult, Evaluation, Retrieval, StoredCase, Suite, Totals
from arvis.domain.executions import ExecutionStatus
from arvis.store.sql.session import LAST, Row, Session, dump

_THOUSAND = 1000
_SUMS = ("cases", "passed", "cost_micros", "input_tokens", "output_tokens", "duration_ms")


class SqlEvaluations:
    """Implements the port `Evaluations` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    # -- suites and cases --------------------------------------------------------------------------------------

    def suites(self) -> Sequence[Suite]:
        return [suite_of(row) for row in self._session.rows("list_suites")]

    def suite(self, suite_id: str) -> Suite | None:
        row = self._session.one("get_suite", id=suite_id)
        return suite_of(row) if row else None

    def suite_named(self, name: str) -> Suite | None:
        row = self._session.one("suite_by_name", name=name)
        return suite_of(row) if row else None

    def gates(self, agent_id: str) -> Sequence[Suite]:
        return [suite_of(row) for row in self._session.rows("gates_of_agent", agent_id=agent_id)]

    def add_suite(self, suite: Suite) -> None:
        self._session.execute(
            "add_suite",
            id=suite.id,
            name=suite.name,
            agent_id=suite.agent_id,
            gate=int(suite.gate),
            created_at=suite.created_at,
        )
        self._announce()

    def set_gate(self, suite_id: str, *, on: bool) -> None:
        self._session.execute("set_gate", id=suite_id, gate=int(on))
        self._announce()

    def drop_suite(self, suite_id: str) -> None:
        for query in ("drop_results_of_suite", "drop_evaluations_of_suite", "drop_cases_of_suite", "drop_suite"):
            self._session.execute(query, suite_id=suite_id)
        self._announce()

    def hashes(self, suite_id: str) -> Sequence[tuple[str, str]]:
        rows = self._session.rows("hashes_of_cases", suite_id=suite_id, limit=MOST_CASES)
        return [(row["name"], row["hash"]) for row in rows]

    def cases(self, suite_id: str) -> Sequence[StoredCase]:
        return [case_of(row) for row in self._session.rows("cases_of_suite", suite_id=suite_id, limit=MOST_CASES)]

    def next_case(self, suite_id: str, after: str) -> StoredCase | None:
        row = self._session.one("next_case", suite_id=suite_id, after=after)
        return case_of(row) if row else None

    def case(self, case_id: str) -> StoredCase | None:
        row = self._session.one("get_case", id=case_id)
        return case_of(row) if row else None

    def case_named(self, suite_id: str, name: str) -> StoredCase | None:
        row = self._session.one("case_by_name", suite_id=suite_id, name=name)
        return case_of(row) if row else None

    def put_case(self, case: StoredCase) -> None:
        recorded = case.case.recorded
        self._session.execute(
            "put_case",
            id=case.id,
            suite_id=case.suite_id,
            name=case.case.name,
            document=dump(case.case.to_json()),
            hash=case.hash,
            conversation_id=(recorded.conversation or None) if recorded is not None else None,
            person_id=case.case.asked.person if isinstance(case.case.asked, Retrieval) else None,
            created_at=case.created_at,
            updated_at=case.updated_at,
        )
        self._announce()

    def drop_case(self, case_id: str) -> None:
        self._session.execute("drop_results_of_case", case_id=case_id)
        self._session.execute("drop_case", id=case_id)
        self._announce()

    # -- evaluations -------------------------------------------------------------------------------------------

    def add(self, evaluation: Evaluation) -> None:
        self._session.execute(
            "add_evaluation",
            id=evaluation.id,
            suite_id=evaluation.suite_id,
            changes=dump(dict(evaluation.changes)),
            agent_hash=evaluation.agent_hash,
            cases_hash=evaluation.cases_hash,
            count=evaluation.count,
            most_micros=evaluation.most_micros,
            judge=evaluation.judge,
            by_id=evaluation.by_id,
            created_at=evaluation.created_at,
        )
        self._announce()

    def get(self, evaluation_id: str) -> Evaluation | None:
        row = self._session.one("get_evaluation", id=evaluation_id)
        return self._with_totals(evaluation_of(row)) if row else None

    def newest(self, suite_id: str | None, limit: int, before: str | None = None) -> Sequence[Evaluation]:
        rows = self._session.rows("list_evaluations", suite_id=suite_id, before=before or LAST, limit=limit)
        return [self._with_totals(evaluation_of(row)) for row in rows]

    def of_agent(self, suite_id: str, agent_hash: str, cases_hash: str, limit: int) -> Sequence[Evaluation]:
        wanted = {"suite_id": suite_id, "agent_hash": agent_hash, "cases_hash": cases_hash, "limit": limit}
        return [self._with_totals(evaluation_of(row)) for row in self._session.rows("evaluations_of_agent", **wanted)]

    def end(self, evaluation_id: str, now: int, problem: str = "") -> None:
        self._session.execute("end_evaluation", id=evaluation_id, ended_at=now, problem=problem)
        self._announce()

    def put_result(self, evaluation_id: str, result: CaseResult) -> None:
        self._session.execute(
            "put_result",
            evaluation_id=evaluation_id,
            case_id=result.case_id,
            passed=int(result.passed),
            cost_micros=result.cost_micros,
            input_tokens=result.input_tokens,
            output_tokens=result.output_tokens,
            duration_ms=result.duration_ms,
            recall_5=_thousandths(result.recall, 0),
            recall_10=_thousandths(result.recall, 1),
            result=dump(result.to_json()),
        )
        self._announce()

    def results(self, evaluation_id: str) -> Sequence[CaseResult]:
        rows = self._session.rows("results_of_evaluation", evaluation_id=evaluation_id, limit=MOST_CASES)
        found = [CaseResult.from_json(json.loads(row["result"])) for row in rows]
        return sorted(found, key=lambda result: result.name)

    def prune(self, before: int, limit: int) -> int:
        self._session.execute("prune_results", before=before, limit=limit)
        return self._session.execute("prune_evaluations", before=before, limit=limit)

    def _with_totals(self, evaluation: Evaluation) -> Evaluation:
        row = self._session.one("totals_of_evaluation", evaluation_id=evaluation.id)
        return evaluation if row is None else replace(evaluation, totals=totals_of(row))

    def _announce(self) -> None:
        self._session.notices.topics.add(ChangeTopic.EVALUATIONS)


def totals_of(row: Row) -> Totals:
    # PostgreSQL returns sums and means as decimal numbers.
    sums = {name: int(row[name]) for name in _SUMS}
    found = [row["recall_5"], row["recall_10"]]
    recall = None if None in found else tuple(float(each) / _THOUSAND for each in found)
    return Totals(**sums, recall=recall)


def _thousandths(recall: Sequence[float], place: int) -> int | None:
    return round(recall[place] * _THOUSAND) if recall else None


def suite_of(row: Row) -> Suite:
    return Suite(row["id"], row["name"], row["agent_id"], bool(row["gate"]), row["created_at"], row["cases"])


def case_of(row: Row) -> StoredCase:
    return StoredCase(
        id=row["id"],
        suite_id=row["suite_id"],
        case=Case.from_json(json.loads(row["document"])),
        hash=row["hash"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def evaluation_of(row: Row) -> Evaluation:
    status = row["execution_status"]
    return Evaluation(
        id=row["id"],
        suite_id=row["suite_id"],
        changes=json.loads(row["changes"]),
        agent_hash=row["agent_hash"],
        cases_hash=row["cases_hash"],
        count=row["count"],
        most_micros=row["most_micros"],
        judge=row["judge"],
        by_id=row["by_id"],
        created_at=row["created_at"],
        ended_at=row["ended_at"],
        problem=row["problem"],
        execution=None if status is None else ExecutionStatus(status),
        error=row["execution_error"] or "",
    )

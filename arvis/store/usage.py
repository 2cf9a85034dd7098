"""The receipts of model calls, and what they add up to."""

from __future__ import annotations

from arvis.domain.ids import first_id_at
from arvis.domain.runs import ModelCall
from arvis.ports.insights import UsageSums
from arvis.store.session import Session


class SqlUsage:
    """`Usage` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(
        self,
        call: ModelCall,
        *,
        execution_id: str,
        job_id: str,
        agent_id: str | None,
        principal_id: str | None = None,
        client_id: str | None = None,
    ) -> bool:
        added = self._session.execute(
            "add_usage",
            id=call.id,
            execution_id=execution_id,
            job_id=job_id,
            agent_id=agent_id,
            account=call.account,
            provider=call.provider,
            model=call.model,
            input_tokens=call.input_tokens,
            output_tokens=call.output_tokens,
            cached_tokens=call.cached_tokens,
            cost_micros=call.cost_micros,
            started_at=call.started_at,
            duration_ms=call.duration_ms,
            error=call.error,
            detail=call.detail,
            principal_id=principal_id,
            client_id=client_id,
            written_tokens=call.written_tokens,
            priced=int(call.priced),
        )
        return added == 1

    def take_back(self, call_id: str, error: str) -> tuple[int, int] | None:
        row = self._session.one("take_back_usage", id=call_id, error=error)
        return (row["cost_micros"], row["started_at"]) if row else None

    def cost_of(self, execution_id: str) -> int:
        row = self._session.one("cost_of_execution", execution_id=execution_id)
        return int(row["micros"]) if row else 0

    def of_person(self, principal_id: str, since: int) -> UsageSums:
        row = self._session.one("usage_of_person", principal_id=principal_id, first=first_id_at(since))
        if row is None:
            return UsageSums()
        return UsageSums(
            calls=row["calls"],
            input_tokens=row["input_tokens"],
            output_tokens=row["output_tokens"],
            cost_micros=row["cost_micros"],
        )

"""Audit entries, delegations and versions over SQL."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from arvis.domain.effects import Access, AccessKind, AuditEntry, EffectKind, Outcome, Proposal
from arvis.domain.ids import first_id_at
from arvis.domain.versions import Version, Versioned
from arvis.ports.changes import Delegation
from arvis.store.sql.session import Row, Session, dump


class SqlVersions:
    """Implements the port `Versions` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def keep(
        self,
        kind: Versioned,
        row_id: str,
        data: Mapping[str, Any] | None,
        by_id: str | None,
        now: int,
        *,
        before: Mapping[str, Any] | None,
    ) -> None:
        if not self.newest(kind, row_id, 1):
            self._add(kind, row_id, before, None, now)
        self._add(kind, row_id, data, by_id, now)

    def newest(self, kind: Versioned, row_id: str, limit: int) -> list[Version]:
        rows = self._session.rows("newest_versions", kind=kind, row_id=row_id, limit=limit)
        return [version_of(row) for row in rows]

    def forget_old(self, kind: Versioned, row_id: str) -> None:
        self._session.execute("forget_old_versions", kind=kind, row_id=row_id)

    def _add(self, kind: Versioned, row_id: str, data: Mapping[str, Any] | None, by_id: str | None, now: int) -> None:
        self._session.execute("add_version", kind=kind, row_id=row_id, data=dump(data), by_id=by_id, at=now)


def version_of(row: Row) -> Version:
    return Version(row["version"], json.loads(row["data"]), by_id=row["by_id"], at=row["at"])


_ACCESS = frozenset(AccessKind)


def entry_of(row: Row) -> AuditEntry:
    proposal = json.loads(row["proposal"])
    return AuditEntry(
        id=row["id"],
        at=row["at"],
        execution_id=row["execution_id"],
        message_id=row["message_id"],
        agent_id=row["agent_id"],
        principal_id=row["principal_id"],
        proposal=Access.from_json(proposal) if row["kind"] in _ACCESS else Proposal.from_json(proposal),
        taint=row["taint"],
        outcome=Outcome(row["outcome"]),
        reason=row["reason"],
        report=row["report"],
    )


def delegation_of(row: Row) -> Delegation:
    return Delegation(
        execution_id=row["execution_id"],
        root_id=row["root_id"],
        parent_id=row["parent_id"],
        agent_id=row["agent_id"],
        depth=row["depth"],
        path=tuple(json.loads(row["path"])),
        kind=row["kind"],
        created_at=row["created_at"],
    )


class SqlAudit:
    """Implements the port `Audit` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_audit", oldest=first_id_at(before), limit=limit)

    def add(self, entry: AuditEntry) -> None:
        self._session.execute(
            "add_audit",
            id=entry.id,
            at=entry.at,
            execution_id=entry.execution_id,
            message_id=entry.message_id,
            agent_id=entry.agent_id,
            principal_id=entry.principal_id,
            ordinal=entry.proposal.ordinal,
            kind=entry.proposal.kind,
            subject=entry.proposal.subject,
            proposal=dump(entry.proposal.to_json()),
            taint=entry.taint,
            outcome=entry.outcome,
            reason=entry.reason,
            report=entry.report,
        )

    def of_execution(self, execution_id: str) -> list[AuditEntry]:
        return [entry_of(row) for row in self._session.rows("audit_of_execution", execution_id=execution_id)]

    def count(self, principal_id: str, kind: EffectKind, since: int) -> int:
        row = self._session.one("count_audit", principal_id=principal_id, kind=kind, since=since)
        return int(row["number"]) if row else 0


class SqlDelegations:
    """Implements the port `Delegations` with the session of a transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def add(self, delegation: Delegation) -> None:
        self._session.execute(
            "add_delegation",
            execution_id=delegation.execution_id,
            root_id=delegation.root_id,
            parent_id=delegation.parent_id,
            agent_id=delegation.agent_id,
            depth=delegation.depth,
            path=dump(list(delegation.path)),
            kind=delegation.kind,
            created_at=delegation.created_at,
        )

    def get(self, execution_id: str) -> Delegation | None:
        row = self._session.one("get_delegation", execution_id=execution_id)
        return delegation_of(row) if row else None

    def count_of_root(self, root_id: str) -> int:
        """Return the number of delegations of this root. On PostgreSQL, lock the root until the commit, so that two
        concurrent turns cannot exceed a limit together."""
        if self._session.locks_rows:
            self._session.one("hold_root", root_id=root_id)
        row = self._session.one("count_delegations", root_id=root_id)
        return int(row["number"]) if row else 0

    def runs_of_root(self, root_id: str) -> int:
        row = self._session.one("count_delegated_runs", root_id=root_id)
        return int(row["number"]) if row else 0

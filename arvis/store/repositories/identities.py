"""Links between the identities of one person, over SQL."""

from __future__ import annotations

import json
from collections.abc import Sequence

from arvis.domain.ids import first_id_at
from arvis.domain.memory import principal_scope
from arvis.domain.messages import Address, Principal, PrincipalRole
from arvis.domain.platforms import LinkRequest, LinkStatus
from arvis.store.repositories.memory import SqlFacts
from arvis.store.repositories.message_index import SqlMessageIndex
from arvis.store.repositories.people import principal_of
from arvis.store.sql.session import Row, Session, dump

#: The queries that assign the rows of a linked identity to its person, in this order.
_PASSED = (
    "pass_authored_facts",
    "pass_confirmed_facts",
    "drop_double_values",
    "pass_values",
    "pass_authored_values",
    "pass_spending",
    "erase_spending",
    "pass_reservations",
    "pass_allowances",
    "erase_allowances",
    "pass_usage",
    "pass_messages",
    "pass_vectors",
    "pass_executions",
    "pass_jobs",
    "pass_schedules",
    "pass_authored_schedules",
    "pass_webhooks",
    "pass_authored_webhooks",
    "pass_projects",
    "pass_authored_projects",
    "pass_authored_workflows",
    "pass_feedback",
    "pass_remaining_feedback",
)


class SqlIdentities:
    """Implements the port `Identities` in one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def of(self, person_id: str) -> Sequence[Principal]:
        return [principal_of(row) for row in self._session.rows("identities_of", person_id=person_id)]

    def link(self, identity_id: str, person_id: str, now: int) -> None:
        SqlFacts(self._session).move(principal_scope(identity_id), principal_scope(person_id))
        index = SqlMessageIndex(self._session)
        # The indexed words of a message include a key of its author, or of the person who asked.
        indexed = index.take_out([row["id"] for row in self._session.rows("messages_to_pass", id=identity_id)])
        for query in _PASSED:
            self._session.execute(query, id=identity_id, person_id=person_id)
        index.put_back(indexed)
        self._session.execute("link_identity", id=identity_id, person_id=person_id, now=now)

    def unlink(self, identity_id: str, role: PrincipalRole, paired_at: int | None, now: int) -> bool:
        given = {"id": identity_id, "role": role, "paired_at": paired_at, "now": now}
        return self._session.execute("unlink_identity", **given) == 1

    # -- requests ----------------------------------------------------------------------------------------------

    def add(self, request: LinkRequest, code_hash: str) -> None:
        self._session.execute(
            "add_link_request",
            id=request.id,
            code_hash=code_hash,
            identity_id=request.identity_id,
            address=dump(request.address.to_json()),
            now=request.created_at,
            expires_at=request.expires_at,
        )

    def by_code(self, code_hash: str) -> LinkRequest | None:
        return _found(self._session.one("link_request_by_code", code_hash=code_hash))

    def newest_of(self, identity_id: str) -> LinkRequest | None:
        return _found(self._session.one("newest_link_request", identity_id=identity_id))

    def claim(self, request_id: str, identity_id: str) -> bool:
        return self._session.execute("claim_link_request", id=request_id, claimed_by=identity_id) == 1

    def settle(self, request_id: str, status: LinkStatus) -> bool:
        return self._session.execute("settle_link_request", id=request_id, status=status) == 1

    def prune(self, before: int, limit: int) -> int:
        return self._session.execute("prune_link_requests", oldest=first_id_at(before), limit=limit)


def _found(row: Row | None) -> LinkRequest | None:
    if row is None:
        return None
    return LinkRequest(
        id=row["id"],
        identity_id=row["identity_id"],
        address=Address.from_json(json.loads(row["address"])),
        status=LinkStatus(row["status"]),
        claimed_by=row["claimed_by"],
        created_at=row["created_at"],
        expires_at=row["expires_at"],
    )

"""The audit log over HTTP, read-only: changes that models proposed, their outcomes, and failed logins."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.responses import Response

from arvis.domain.effects import AccessKind, AuditEntry, EffectKind, Outcome
from arvis.ports.insights import Insights
from arvis.web.http.endpoints import PAGING, Call, Endpoint, answer
from arvis.web.http.identity import OPERATE
from arvis.web.http.schema import INTEGER, LABEL, STRING, TIME, array, object_schema, one_of, optional, page_schema
from arvis.web.http.views import Json, page_view

_KINDS = (*EffectKind, *AccessKind)

ENTRY = object_schema(
    {
        "id": STRING,
        "at": TIME,
        "kind": one_of(_KINDS),
        "subject": STRING,
        "fields": {"type": "object", "description": "The fields of the request, as the model wrote them."},
        "ordinal": {**INTEGER, "description": "The position of the tag in the answer, from 1."},
        "agent": {**STRING, "description": "Empty if no agent requested it."},
        "principalId": optional(STRING),
        "messageId": optional(STRING),
        "executionId": optional(STRING),
        "taint": {**array(STRING), "description": "Sources of the answer other than the person's own words."},
        "outcome": one_of(Outcome),
        "reason": optional(STRING),
        "report": STRING,
    }
)


class AuditRoutes:
    def __init__(self, *, insights: Insights) -> None:
        self._insights = insights

    def endpoints(self) -> list[Endpoint]:
        filters = {"agent": LABEL, "kind": one_of(_KINDS), "outcome": one_of(Outcome)}
        return [
            Endpoint(
                "GET",
                "/api/audit",
                "List changes that models proposed and failed logins, newest first",
                OPERATE,
                self._list,
                {200: page_schema(ENTRY)},
                query={**PAGING, **filters},
            )
        ]

    async def _list(self, call: Call) -> Response:
        page = await self._insights.audit(
            agent=call.query("agent"),
            kind=call.choice("kind", EffectKind, AccessKind),
            outcome=call.choice("outcome", Outcome),
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        slugs = {agent.id: agent.slug for agent in await self._insights.agents()} if page.items else {}
        return answer(page_view([_view(entry, slugs) for entry in page.items], page.next_cursor))


def _view(entry: AuditEntry, slugs: Mapping[str, str]) -> Json:
    proposal = entry.proposal
    return {
        "id": entry.id,
        "at": entry.at,
        "kind": proposal.kind,
        "subject": proposal.subject,
        "fields": dict(proposal.fields),
        "ordinal": proposal.ordinal,
        "agent": slugs.get(entry.agent_id, entry.agent_id),
        "principalId": entry.principal_id,
        "messageId": entry.message_id,
        "executionId": entry.execution_id or None,
        "taint": entry.taint.split(),
        "outcome": entry.outcome,
        "reason": entry.reason,
        "report": entry.report,
    }

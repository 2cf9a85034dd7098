"""The audit log over HTTP, read-only: changes that models proposed, their outcomes, failed logins, exports, and
accepted descriptions of tools of tool servers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from starlette.responses import Response

from arvis.domain.effects import AccessKind, AuditEntry, EffectKind, Outcome
from arvis.ports.insights import Insights
from arvis.web.http.endpoints import PAGING, Call, Routes, answer_page, route
from arvis.web.http.identity import OPERATE
from arvis.web.http.models import About, AnyObject, Page, Time, View
from arvis.web.http.schema import LABEL, one_of

_KINDS = (*EffectKind, *AccessKind)


class AuditEntryView(View):
    id: str
    at: Time
    kind: Annotated[str, About(**one_of(_KINDS))]
    subject: str
    fields: Annotated[AnyObject, About("The fields of the request, as the model wrote them.")]
    ordinal: Annotated[int, About("The position of the tag in the answer, from 1.")]
    agent: Annotated[str, About("Empty if no agent requested it.")]
    principal_id: str | None
    message_id: str | None
    execution_id: str | None
    taint: Annotated[list[str], About("The sources of the answer, except the person's own messages.")]
    outcome: Outcome
    reason: str | None
    report: str

    @classmethod
    def of(cls, entry: AuditEntry, slugs: Mapping[str, str]) -> Self:
        proposal = entry.proposal
        return cls.showing(
            entry,
            kind=proposal.kind,
            subject=proposal.subject,
            fields=dict(proposal.fields),
            ordinal=proposal.ordinal,
            agent=slugs.get(entry.agent_id, entry.agent_id),
            execution_id=entry.execution_id or None,
            taint=entry.taint.split(),
        )


class AuditRoutes(Routes):
    def __init__(self, *, insights: Insights) -> None:
        self._insights = insights

    @route(
        "GET",
        "/api/audit",
        "List failed logins, exports and changes that models proposed, newest first",
        OPERATE,
        {200: Page[AuditEntryView]},
        query={**PAGING, "agent": LABEL, "kind": one_of(_KINDS), "outcome": one_of(Outcome)},
    )
    async def _list(self, call: Call) -> Response:
        page = await self._insights.audit(
            agent=call.query("agent"),
            kind=call.choice("kind", EffectKind, AccessKind),
            outcome=call.choice("outcome", Outcome),
            limit=call.limit,
            cursor=call.query("cursor"),
        )
        slugs = {agent.id: agent.slug for agent in await self._insights.agents()} if page.items else {}
        return answer_page([AuditEntryView.of(entry, slugs) for entry in page.items], page.next_cursor)

"""Open questions over HTTP: approvals, reviews and questions to people."""

from __future__ import annotations

from starlette.responses import Response

from arvis.domain.errors import NotFound
from arvis.domain.executions import Wait
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations, WaitAnswer
from arvis.web.bodies import Fields, unusable
from arvis.web.endpoints import FLAG, PAGING, Call, Endpoint, answer
from arvis.web.gate import Gate
from arvis.web.identity import OPERATE, READ
from arvis.web.schemas import DECISIONS, WAIT, WAIT_ANSWER, listing
from arvis.web.views import page_view, wait_view


class WaitRoutes:
    def __init__(self, *, insights: Insights, operations: Operations, gate: Gate) -> None:
        self._insights = insights
        self._operations = operations
        self._gate = gate

    def endpoints(self) -> list[Endpoint]:
        one = "/api/waits/{wait}"
        return [
            Endpoint(
                "GET",
                "/api/waits",
                "Questions to people, newest first",
                READ,
                self._list,
                {200: listing(WAIT)},
                query={**PAGING, "open": {**FLAG, "default": True, "description": "Only those without an answer."}},
            ),
            Endpoint("GET", one, "One question", READ, self._show, {200: WAIT}),
            Endpoint(
                "POST",
                f"{one}/answer",
                "Answer a question; the first answer wins",
                OPERATE,
                self._answer,
                {200: WAIT},
                body=WAIT_ANSWER,
            ),
        ]

    async def _list(self, call: Call) -> Response:
        page = await self._insights.waits(
            open_only=call.flag("open", True), limit=call.limit, cursor=call.query("cursor")
        )
        return answer(page_view([wait_view(wait) for wait in page.items], page.next_cursor))

    async def _show(self, call: Call) -> Response:
        return answer(wait_view(await self._wait(call)))

    async def _answer(self, call: Call) -> Response:
        given = _wait_answer(await call.fields())
        by = await self._gate.principal(self._gate.sender(call.identity))
        await self._operations.answer_wait(call.id("wait"), given, by)
        return await self._show(call)

    async def _wait(self, call: Call) -> Wait:
        wait = await self._insights.wait(call.id("wait"))
        if wait is None:
            raise NotFound(
                "There is no such question.",
                fix="Look it up in the list of open ones (`arvis waits list`, GET /api/waits).",
            )
        return wait


def _wait_answer(fields: Fields) -> WaitAnswer:
    decision = fields.required_text("decision")
    if decision not in DECISIONS:
        raise unusable("decision", "must be one of " + ", ".join(DECISIONS))
    given = WaitAnswer(
        decision="approve" if decision == "accept" else decision,
        note=fields.text("note"),
        arguments=fields.mapping("arguments"),
        text=fields.text("text"),
    )
    if decision == "edit" and given.arguments is None:
        raise unusable("arguments", "is missing, and `edit` needs it")
    if decision in {"feedback", "answer"} and not given.text:
        raise unusable("text", f"is missing, and `{decision}` needs it")
    return given

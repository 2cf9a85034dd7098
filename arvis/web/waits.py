"""Open questions over HTTP: approvals, reviews and questions to people. Credentials that only chat see those of their own
conversations, where their word counts."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.responses import Response

from arvis.domain.errors import Forbidden, NotFound
from arvis.domain.executions import PERSONAL_WAITS
from arvis.domain.messages import Address, Principal
from arvis.ports.browsing import WaitView
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations, WaitAnswer, WaitRights
from arvis.web.bodies import Fields, unusable
from arvis.web.endpoints import FLAG, PAGING, Call, Endpoint, answer
from arvis.web.gate import Gate
from arvis.web.identity import ANYONE, READ, SEND
from arvis.web.own import is_own_place
from arvis.web.schemas import DECISIONS, LABEL, WAIT_ANSWER, listing, one_of
from arvis.web.views import Json, page_view
from arvis.web.wait_shapes import WAIT, listed_view, question_view

#: So many pages are looked through for what passes a filter that the database does not know.
_MOST_PAGES = 10
_LOOK = 200

_View = Callable[[WaitView, WaitRights], Json]


class WaitRoutes:
    def __init__(self, *, insights: Insights, operations: Operations, gate: Gate) -> None:
        self._insights = insights
        self._operations = operations
        self._gate = gate

    def endpoints(self) -> list[Endpoint]:
        one = "/api/waits/{wait}"
        only = {**FLAG, "default": True, "description": "Only those without an answer."}
        return [
            Endpoint(
                "GET",
                "/api/waits",
                "Questions to people, newest first; with a chat key those that one may answer",
                ANYONE,
                self._list,
                {200: listing(WAIT)},
                query={**PAGING, "open": only, "kind": one_of(PERSONAL_WAITS), "agent": LABEL},
            ),
            Endpoint("GET", one, "One question", ANYONE, self._show, {200: WAIT}),
            Endpoint(
                "POST",
                f"{one}/answer",
                "Answer a question; the first answer wins",
                SEND,
                self._answer,
                {200: WAIT},
                body=WAIT_ANSWER,
            ),
        ]

    async def _list(self, call: Call) -> Response:
        """What the database does not filter is filtered here, a bounded number of pages at a time."""
        by, kind = await self._gate.asker(call.identity), call.query("kind")
        if kind is not None and kind not in PERSONAL_WAITS:
            raise unusable("kind", "must be one of " + ", ".join(sorted(PERSONAL_WAITS)))
        open_only, agent = call.flag("open", True), call.query("agent")
        narrow = agent is not None or call.identity.role not in READ
        found: list[Json] = []
        cursor = call.query("cursor")
        for _ in range(_MOST_PAGES if narrow else 1):
            size = min(_LOOK, call.limit - len(found))
            page = await self._insights.questions(open_only=open_only, kind=kind, limit=size, cursor=cursor)
            found += await self._shown(call, page.items, by, agent)
            cursor = page.next_cursor
            if cursor is None or len(found) >= call.limit:
                break
        return answer(page_view(found, cursor))

    async def _shown(self, call: Call, views: Sequence[WaitView], by: Principal, agent: str | None) -> list[Json]:
        seen = [view for view in views if agent is None or view.agent == agent]
        seen = [view for view in seen if call.identity.role in READ or _is_theirs(call, view, by)]
        shown = await self._views(seen, by, listed_view)
        return [each for each in shown if call.identity.role in READ or each["mayAnswer"]]

    async def _views(self, views: Sequence[WaitView], by: Principal, shown: _View = question_view) -> list[Json]:
        rights = await self._operations.wait_rights([view.wait for view in views], by) if views else []
        return [shown(view, right) for view, right in zip(views, rights, strict=True)]

    async def _show(self, call: Call) -> Response:
        by = await self._gate.asker(call.identity)
        view = await self._wait(call, by)
        (shown,) = await self._views([view], by)
        if call.identity.role not in READ and not shown["mayAnswer"] and view.wait.answered_at is None:
            raise _not_theirs()
        return answer(shown)

    async def _answer(self, call: Call) -> Response:
        given = _wait_answer(await call.fields())
        by = await self._gate.principal(self._gate.sender(call.identity))
        await self._wait(call, by)
        await self._operations.answer_wait(call.id("wait"), given, by)
        return await self._show(call)

    async def _wait(self, call: Call, by: Principal) -> WaitView:
        """The question, if the asker may know of it: a chat key knows those of its own conversations."""
        view = await self._insights.question(call.id("wait"))
        if view is None or view.wait.kind not in PERSONAL_WAITS:
            raise _no_wait()
        if call.identity.role not in READ and not _is_theirs(call, view, by):
            raise _no_wait()
        return view


def _is_theirs(call: Call, view: WaitView, by: Principal) -> bool:
    """Asked in a place of their own, in work for them."""
    state = view.execution.state
    address = state.get("from", state).get("address")
    return (
        address is not None
        and view.execution.principal_id == by.id
        and is_own_place(call.identity, Address.from_json(address))
    )


def _no_wait() -> NotFound:
    return NotFound(
        "There is no such question.", fix="Look it up in the list of open ones (`arvis waits list`, GET /api/waits)."
    )


def _not_theirs() -> Forbidden:
    return Forbidden("You may not answer this question.", fix="Ask whoever looks after this Arvis.")


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

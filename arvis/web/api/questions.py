"""Questions to people over HTTP: approvals, reviews and questions of agents.

A credential with the role `chat` sees only questions in its person's own conversations that the person may answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from arvis.approvals import beginning, question_of
from arvis.domain.errors import Forbidden, NotFound
from arvis.domain.executions import PERSONAL_WAITS
from arvis.domain.messages import Address, Principal
from arvis.domain.tools import Risk
from arvis.domain.workflows import PREFIX
from arvis.engine.state import State, stored
from arvis.ports.browsing import WaitView
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations, WaitAnswer, WaitRights
from arvis.tasks.rounds import Rounds
from arvis.web.auth.authorization import Authorizer, is_own_place
from arvis.web.http.endpoints import FLAG, PAGING, Call, Endpoint, answer
from arvis.web.http.identity import ANYONE, READ, SEND
from arvis.web.http.requests import Fields, unusable
from arvis.web.http.schema import (
    BOOLEAN,
    DECISIONS,
    LABEL,
    STRING,
    WAIT_ANSWER,
    Schema,
    array,
    object_schema,
    one_of,
    optional,
    page_schema,
)
from arvis.web.http.schema import WAIT as OPEN_WAIT
from arvis.web.http.views import Json, page_view, wait_view

# The views of questions for the page Questions: the agent, the reason, and the exact action that an approval allows.


_WHOLE = "Open the question to read all of it. An answer applies to the whole text."
_OBJECT: Schema = {"type": "object", "additionalProperties": True}

WAIT: Schema = object_schema(
    {
        **OPEN_WAIT["properties"],
        "answeredByName": optional(STRING),
        "agent": {**optional(STRING), "description": "The slug of the agent that asks."},
        "person": {**optional(STRING), "description": "The person for whom the agent works."},
        "messageId": optional(STRING),
        "conversationId": optional(STRING),
        "workflowId": {
            **optional(STRING),
            "description": "The workflow whose run asks. The run has the id of the execution.",
        },
        "platform": optional(STRING),
        "connector": optional(STRING),
        "channelId": optional(STRING),
        "approvers": {**array(STRING), "description": "The people and roles that may answer; roles in the plural."},
        "canAnswer": {**BOOLEAN, "description": "True: the caller may answer."},
        "tool": {**optional(STRING), "description": "The tool to be called, or the kind of change."},
        "arguments": optional(_OBJECT),
        "risk": optional(one_of(Risk)),
        "change": {
            **optional(object_schema({"text": STRING, "hash": STRING})),
            "description": "The exact change. An approval is bound to this hash.",
        },
    }
)


@dataclass(slots=True)
class AskingState(State):
    """The fields in the state of an execution that describe its question."""

    address: Address | None = stored(None, read=Address.from_json)  # noqa: RUF009 - it declares a field
    conversation: str | None = None
    #: The state of the turn that proposes a change. This field and the next three are set only for a proposed change.
    turn: Mapping[str, Any] | None = stored(None, key="from")
    #: The change, its text, and the hash of the text.
    proposal: Mapping[str, Any] | None = None
    question: str = ""
    digest: str = ""
    #: The tool call that waits for a decision.
    asking: Mapping[str, Any] | None = None

    @property
    def place(self) -> Address | None:
        """Return the address of the execution, or of the turn that proposes a change."""
        return self.address if self.turn is None else AskingState.from_json(self.turn).address


def listed_view(view: WaitView, rights: WaitRights) -> Json:
    """Return the question for a list. A long text is cut and marked as cut; `question_view` returns the whole text."""
    shown = question_view(view, rights)
    change = shown["change"]
    if change is not None:
        shown["change"] = {**change, "text": beginning(change["text"], _WHOLE)}
    return {**shown, "prompt": beginning(shown["prompt"], _WHOLE)}


def question_view(view: WaitView, rights: WaitRights) -> Json:
    graph = view.execution.graph
    address, message = AskingState.from_json(view.execution.state).place, view.message
    return {
        **wait_view(view.wait),
        "answeredByName": view.answerer,
        "agent": view.agent,
        "person": view.person,
        "messageId": message.id if message is not None else None,
        "conversationId": conversation_of(view),
        "workflowId": graph.removeprefix(PREFIX) if graph.startswith(PREFIX) else None,
        "platform": address.platform if address else None,
        "connector": address.connector if address else None,
        "channelId": address.channel if address else None,
        "approvers": list(rights.asked_of),
        "canAnswer": rights.may_answer and view.wait.answered_at is None,
        **_wanted(view),
    }


def conversation_of(view: WaitView) -> str | None:
    """Return the conversation of the execution that asks, or of the turn that proposes a change."""
    state = AskingState.from_json(view.execution.state)
    return AskingState.from_json(state.turn or {}).conversation or state.conversation


def _wanted(view: WaitView) -> Json:
    state = AskingState.from_json(view.execution.state)
    if state.proposal is not None:
        change = {"text": state.question, "hash": state.digest}
        return {"tool": state.proposal["kind"], "arguments": state.proposal["fields"], "risk": None, "change": change}
    question = question_of(view.execution, view.wait)
    if question is not None and "hash" in question and view.wait.answered_at is None:
        change = {"text": view.wait.prompt, "hash": question["hash"]}
        return {"tool": None, "arguments": None, "risk": None, "change": change}
    asking = state.asking
    # The state describes only the open question. If the question is answered, only its prompt is known.
    if asking is None or view.wait.subject is not None or view.wait.answered_at is not None:
        return {"tool": None, "arguments": None, "risk": None, "change": None}
    call = Rounds.from_json(view.execution.state).last.tool_calls()[asking["call"]]
    return {
        "tool": call.name,
        "arguments": dict(call.arguments or {}),
        "risk": asking.get("risk"),
        "change": {"text": view.wait.prompt, "hash": asking["hash"]},
    }


#: The database cannot apply every filter. If such a filter is used, one request reads at most this many pages to find
#: matching entries.
_MOST_PAGES = 10
_LOOK = 200

_View = Callable[[WaitView, WaitRights], Json]


class QuestionRoutes:
    def __init__(self, *, insights: Insights, operations: Operations, gate: Authorizer) -> None:
        self._insights = insights
        self._operations = operations
        self._gate = gate

    def endpoints(self) -> list[Endpoint]:
        one = "/api/questions/{question}"
        only = {**FLAG, "default": True, "description": "Only unanswered questions."}
        return [
            Endpoint(
                "GET",
                "/api/questions",
                "List questions, newest first; with a chat key only those that the caller may answer",
                ANYONE,
                self._list,
                {200: page_schema(WAIT)},
                query={**PAGING, "open": only, "kind": one_of(PERSONAL_WAITS), "agent": LABEL},
            ),
            Endpoint("GET", one, "Show a question", ANYONE, self._show, {200: WAIT}),
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
        """List questions. The database applies some filters; the other filters are applied here, to at most
        `_MOST_PAGES` pages in one request."""
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
        seen = [view for view in seen if call.identity.role in READ or _belongs_to(call, view, by)]
        shown = await self._views(seen, by, listed_view)
        return [each for each in shown if call.identity.role in READ or each["canAnswer"]]

    async def _views(self, views: Sequence[WaitView], by: Principal, shown: _View = question_view) -> list[Json]:
        rights = await self._operations.wait_rights([view.wait for view in views], by) if views else []
        return [shown(view, right) for view, right in zip(views, rights, strict=True)]

    async def _show(self, call: Call) -> Response:
        by = await self._gate.asker(call.identity)
        view = await self._wait(call, by)
        (shown,) = await self._views([view], by)
        if call.identity.role not in READ and not shown["canAnswer"] and view.wait.answered_at is None:
            raise Forbidden("You may not answer this question.", fix="Ask an owner or operator of this Arvis.")
        return answer(shown)

    async def _answer(self, call: Call) -> Response:
        given = _wait_answer(await call.fields())
        by = await self._gate.principal(self._gate.sender(call.identity))
        await self._wait(call, by)
        await self._operations.answer_wait(call.id("question"), given, by)
        return await self._show(call)

    async def _wait(self, call: Call, by: Principal) -> WaitView:
        """Return the question if the caller may see it. A chat key sees only questions of its own conversations."""
        view = await self._insights.question(call.id("question"))
        if view is None or view.wait.kind not in PERSONAL_WAITS:
            raise _unknown_question()
        if call.identity.role not in READ and not _belongs_to(call, view, by):
            raise _unknown_question()
        return view


def _belongs_to(call: Call, view: WaitView, by: Principal) -> bool:
    """Return whether the question was asked in the caller's own channel, during work for the caller."""
    place = AskingState.from_json(view.execution.state).place
    return place is not None and view.execution.principal_id == by.id and is_own_place(call.identity, place)


def _unknown_question() -> NotFound:
    return NotFound(
        "There is no such question.",
        fix="Look it up in the list of open questions (`arvis questions list`, GET /api/questions).",
    )


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
        raise unusable("arguments", "is missing; `edit` requires it")
    if decision in {"feedback", "answer"} and not given.text:
        raise unusable("text", f"is missing; `{decision}` requires it")
    return given

"""Questions to people over HTTP: approvals, reviews and questions of agents.

With the role `chat`, a credential can read only questions that its person may answer, in conversations of this person.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Self

from starlette.responses import Response

from arvis.approvals import beginning, form_of, question_of
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Forbidden, NotFound
from arvis.domain.executions import PERSONAL_WAITS
from arvis.domain.forms import FieldKind, QuestionKind, ServerQuestion
from arvis.domain.messages import Address, Principal
from arvis.domain.tools import Risk
from arvis.domain.workflows import PREFIX
from arvis.engine.state import State, stored
from arvis.ports.browsing import WaitView
from arvis.ports.insights import Insights
from arvis.ports.operations import Operations, WaitAnswer, WaitRights
from arvis.tasks.rounds import Rounds
from arvis.web.auth.authorization import Authorizer, is_own_place
from arvis.web.http.endpoints import FLAG, PAGING, Call, Routes, answer, answer_page, route
from arvis.web.http.identity import ANYONE, READ, SEND
from arvis.web.http.models import MEMBER, About, AnyObject, Body, Page, View
from arvis.web.http.requests import unusable
from arvis.web.http.schema import LABEL, one_of
from arvis.web.http.views import OpenQuestionView

# The views of questions for the page Questions: the agent, the reason, and the exact action that an approval allows.


_WHOLE = "Open the question to read all of it. An answer applies to the whole text."


@dataclass(frozen=True, slots=True)
class AskingState(State):
    """The fields in the state of an execution that describe its question."""

    address: Address | None = stored(None, read=Address.from_json)
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


class ChangeView(View):
    text: str
    hash: str


class FormOptionView(View):
    value: str
    title: str


class FormFieldView(View):
    """A field of a form. `least` and `most` limit a number, the length of a text, or the number of chosen options."""

    name: str
    kind: FieldKind
    title: str
    description: str
    required: bool
    options: list[FormOptionView]
    least: float | None
    most: float | None
    format: Annotated[str, About("`email`, `uri`, `date`, `date-time`, or empty.")]


class ServerQuestionView(View):
    """The question of a tool server. The server wrote all texts."""

    server: str
    kind: QuestionKind
    message: str
    url: Annotated[str, About("The page to open; empty for other kinds.")]
    fields: list[FormFieldView]
    values: Annotated[AnyObject, About("The initial values by field, or the values that a person has still to accept.")]

    @classmethod
    def of(cls, asked: ServerQuestion) -> Self:
        fields = [
            FormFieldView.showing(
                each, options=[FormOptionView(value=value, title=title or value) for value, title in each.options]
            )
            for each in asked.fields
        ]
        return cls.showing(asked, fields=fields, values=asked.start)


class QuestionView(OpenQuestionView):
    answered_by_name: str | None
    agent: Annotated[str | None, About("The slug of the agent that asks.")]
    person: Annotated[str | None, About("The person for whom the agent works.")]
    message_id: str | None
    conversation_id: str | None
    workflow_id: Annotated[str | None, About("The workflow whose run asks. The run has the id of the execution.")]
    platform: str | None
    connector: str | None
    channel_id: str | None
    approvers: Annotated[list[str], About("The people and roles that may answer; roles in the plural.")]
    can_answer: Annotated[bool, About("True: the caller may answer.")]
    tool: Annotated[str | None, About("The tool to be called, or the kind of change.")]
    arguments: Annotated[AnyObject, About(additionalProperties=True)] | None
    risk: Risk | None
    change: Annotated[ChangeView | None, About("The exact change. An approval is bound to this hash.")]
    form: Annotated[
        ServerQuestionView | None,
        About(
            "The open question of a tool server. Send `accept` with the values as `arguments`, `reject`, or `cancel`."
        ),
    ]

    @classmethod
    def of_view(cls, view: WaitView, rights: WaitRights, *, whole: bool = True) -> Self:
        """Return the question. For a list (not `whole`), a long text is cut and marked as cut."""
        wait, message, graph = view.wait, view.message, view.execution.graph
        address, wanted = AskingState.from_json(view.execution.state).place, _wanted(view)
        form = form_of(view.execution, wait)
        cut: Callable[[str], str] = str if whole else _listed
        return cls.of(
            wait,
            prompt=cut(wait.prompt),
            answered_by_name=view.answerer,
            agent=view.agent,
            person=view.person,
            message_id=message.id if message is not None else None,
            conversation_id=conversation_of(view),
            workflow_id=graph.removeprefix(PREFIX) if graph.startswith(PREFIX) else None,
            platform=address.platform if address else None,
            connector=address.connector if address else None,
            channel_id=address.channel if address else None,
            approvers=list(rights.asked_of),
            can_answer=rights.may_answer and wait.answered_at is None,
            tool=wanted.tool,
            arguments=wanted.arguments,
            risk=wanted.risk,
            change=None if wanted.hash is None else ChangeView(text=cut(wanted.text), hash=wanted.hash),
            form=ServerQuestionView.of(form) if form is not None and wait.answered_at is None else None,
        )


def _listed(text: str) -> str:
    return beginning(text, _WHOLE)


def conversation_of(view: WaitView) -> str | None:
    """Return the conversation of the execution that asks, or of the turn that proposes a change."""
    state = AskingState.from_json(view.execution.state)
    return AskingState.from_json(state.turn or {}).conversation or state.conversation


@dataclass(frozen=True, slots=True)
class Wanted:
    """The action that an approval allows. `text` is its exact description, and `hash` the hash of that text. The fields
    are empty if the question asks for no approval."""

    tool: str | None = None
    arguments: Mapping[str, Any] | None = None
    risk: str | None = None
    text: str = ""
    hash: str | None = None


def _wanted(view: WaitView) -> Wanted:
    wait, state = view.wait, AskingState.from_json(view.execution.state)
    if state.proposal is not None:
        kind, arguments = state.proposal["kind"], state.proposal["fields"]
        return Wanted(kind, arguments, text=state.question, hash=state.digest)
    question = question_of(view.execution, wait)
    if question is not None and "hash" in question and wait.answered_at is None:
        return Wanted(text=wait.prompt, hash=question["hash"])
    asking = state.asking
    # The state describes only the open question. If the question is answered, only its prompt is known.
    if asking is None or wait.subject is not None or wait.answered_at is not None:
        return Wanted()
    call = Rounds.from_json(view.execution.state).last.tool_calls()[asking["call"]]
    return Wanted(call.name, dict(call.arguments or {}), asking.get("risk"), wait.prompt, asking["hash"])


class WaitDecision(StrEnum):
    APPROVE = "approve"
    ACCEPT = "accept"
    REJECT = "reject"
    EDIT = "edit"
    FEEDBACK = "feedback"
    ANSWER = "answer"
    CANCEL = "cancel"


class GivenAnswer(Body):
    decision: Annotated[WaitDecision, MEMBER]
    note: str | None = None
    arguments: Annotated[AnyObject | None, About("Required for `edit`. With `accept`, the values of a form.")] = None
    text: Annotated[str | None, About("Required for `feedback` and `answer`.")] = None

    def checked(self) -> WaitAnswer:
        """Return the answer. Raise `Unprocessable` if a field that the decision requires is missing."""
        decision = WaitDecision.APPROVE if self.decision is WaitDecision.ACCEPT else self.decision
        if decision is WaitDecision.EDIT and self.arguments is None:
            raise unusable("arguments", "is missing; `edit` requires it")
        if decision in {WaitDecision.FEEDBACK, WaitDecision.ANSWER} and not self.text:
            raise unusable("text", f"is missing; `{decision}` requires it")
        return WaitAnswer(decision.value, self.note, self.arguments, self.text)


#: The database cannot apply every filter. If such a filter is used, one request reads at most this many pages to find
#: matching entries.
_MOST_PAGES = 10
_LOOK = 200

_ALL, _ONE = "/api/questions", "/api/questions/{question}"


class QuestionRoutes(Routes):
    def __init__(self, *, insights: Insights, operations: Operations, gate: Authorizer) -> None:
        self._insights = insights
        self._operations = operations
        self._gate = gate

    @route(
        "GET",
        _ALL,
        "List questions, newest first; with a chat key only those that the caller may answer",
        ANYONE,
        {200: Page[QuestionView]},
        query={
            **PAGING,
            "open": {**FLAG, "default": True, "description": "Only unanswered questions."},
            "kind": one_of(PERSONAL_WAITS),
            "agent": LABEL,
        },
    )
    async def _list(self, call: Call) -> Response:
        """List questions. The database applies some of the filters. This function applies the other filters, to at most
        `_MOST_PAGES` pages in one request."""
        by, kind = await self._gate.asker(call.identity), call.query("kind")
        if kind is not None and kind not in PERSONAL_WAITS:
            raise unusable("kind", "must be one of " + ", ".join(sorted(PERSONAL_WAITS)))
        open_only, agent = call.flag("open", True), call.query("agent")
        narrow = agent is not None or call.identity.role not in READ
        found: list[QuestionView] = []
        cursor = call.query("cursor")
        for _ in range(_MOST_PAGES if narrow else 1):
            size = min(_LOOK, call.limit - len(found))
            page = await self._insights.questions(open_only=open_only, kind=kind, limit=size, cursor=cursor)
            found += await self._shown(call, page.items, by, agent)
            cursor = page.next_cursor
            if cursor is None or len(found) >= call.limit:
                break
        return answer_page(found, cursor)

    async def _shown(
        self, call: Call, views: Sequence[WaitView], by: Principal, agent: str | None
    ) -> list[QuestionView]:
        seen = [view for view in views if agent is None or view.agent == agent]
        seen = [view for view in seen if call.identity.role in READ or _belongs_to(call, view, by)]
        shown = await self._views(seen, by, whole=False)
        return [each for each in shown if call.identity.role in READ or each.can_answer]

    async def _views(self, views: Sequence[WaitView], by: Principal, *, whole: bool = True) -> list[QuestionView]:
        rights = await self._operations.wait_rights([view.wait for view in views], by) if views else []
        return [QuestionView.of_view(view, right, whole=whole) for view, right in zip(views, rights, strict=True)]

    @route("GET", _ONE, "Show a question", ANYONE, {200: QuestionView})
    async def _show(self, call: Call) -> Response:
        by = await self._gate.asker(call.identity)
        view = await self._wait(call, by)
        (shown,) = await self._views([view], by)
        if call.identity.role not in READ and not shown.can_answer and view.wait.answered_at is None:
            raise Forbidden("You may not answer this question.", fix="Ask an owner or operator of this Arvis.")
        return answer(shown)

    @route(
        "POST",
        f"{_ONE}/answer",
        "Answer a question; the first answer wins",
        SEND,
        {200: QuestionView},
        body=GivenAnswer,
    )
    async def _answer(self, call: Call) -> Response:
        given = (await call.read(GivenAnswer)).checked()
        by = await self._gate.principal(self._gate.sender(call.identity))
        await self._wait(call, by)
        await self._operations.answer_wait(call.id("question"), given, by)
        return await self._show(call)

    async def _wait(self, call: Call, by: Principal) -> WaitView:
        """Return the question if the caller may see it. A chat key can read only questions of its own conversations."""
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
        fix="`arvis questions list` and GET /api/questions list the open questions.",
    )

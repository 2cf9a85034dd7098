"""Evaluations over HTTP: suites of recorded turns, their evaluation with a changed agent, and the comparison of two
evaluations.

Viewers may read. Operators may record cases and start evaluations, whose model calls cost money. Only owners may
require that changed prompts pass a suite.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Self

from pydantic import Field
from starlette.responses import Response

from arvis.domain.agents import SLUG
from arvis.domain.effort import EFFORTS
from arvis.domain.errors import NotFound, Unprocessable
from arvis.domain.evaluations import (
    Case,
    CaseKind,
    CaseResult,
    Evaluation,
    EvaluationStatus,
    StoredCase,
    Suite,
    TurnInput,
    read_case,
)
from arvis.domain.expectations import Expectation
from arvis.domain.money import MICROS
from arvis.domain.text import storable_json
from arvis.graphs.evaluation.recording import masked, record_case
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.services import agents, evaluations
from arvis.services.evaluations import Comparison, NewEvaluation, Pair
from arvis.web.auth.authorization import Authorizer
from arvis.web.http.endpoints import PAGING, Call, Routes, answer, answer_page, done, route
from arvis.web.http.identity import OPERATE, OWN, READ
from arvis.web.http.models import CLEARING, About, AnyObject, Body, Label, OkView, Page, Says, Texts, Time, View, Whole
from arvis.web.http.schema import LABEL, one_of

_Usd = Annotated[float, Field(ge=0, le=1_000_000), Says("must be a number from 0 to 1000000")]
_Name = Annotated[str, About(pattern=f"^{SLUG.pattern}$")]
_Recall = Annotated[list[float] | None, About("The mean recall among the first 5 and 10 results; null: no retrieval.")]


class TotalsView(View):
    cases: Annotated[int, About("The number of results so far.")]
    passed: int
    cost_usd: float
    input_tokens: int
    output_tokens: int
    duration_ms: int
    recall: _Recall


class EvaluationView(View):
    id: str
    suite: str
    status: EvaluationStatus
    problem: Annotated[str | None, About("The reason why it ended before its last case.")]
    changes: Annotated[AnyObject, About("The fields of the agent that differ from its stored version.")]
    count: Annotated[int, About("The number of its cases.")]
    passes: Annotated[bool, About("Every case has passed.")]
    max_cost_usd: float | None
    judge: str | None
    totals: TotalsView
    created_at: Time
    ended_at: Time | None

    @classmethod
    def of(cls, each: Evaluation, suites: Mapping[str, str], /, **others: Any) -> Self:
        totals = each.totals
        shown = TotalsView.showing(
            totals,
            cost_usd=totals.cost_micros / MICROS,
            recall=None if totals.recall is None else list(totals.recall),
        )
        return cls.showing(
            each,
            suite=suites.get(each.suite_id, ""),
            problem=each.problem or each.error or None,
            changes=dict(each.changes),
            max_cost_usd=None if each.most_micros is None else each.most_micros / MICROS,
            totals=shown,
            **others,
        )


class CheckView(View):
    expectation: str
    passed: bool
    reason: str


class ResultView(View):
    case: Annotated[str, About("The name of the case.")]
    passed: bool
    reply: str
    problem: Annotated[str | None, About("The reason why there is no reply.")]
    checks: list[CheckView]
    calls: Annotated[list[str], About("The tool calls with their arguments.")]
    unrecorded: Annotated[list[str], About("The calls and pictures that the case does not contain.")]
    actions: Annotated[list[str], About("The actions that the reply asks for; none of them was carried out.")]
    model: str
    cost_usd: float
    input_tokens: int
    output_tokens: int
    duration_ms: int
    recall: Annotated[list[float], About("The recall among the first 5 and 10 results of a search; empty for a turn.")]

    @classmethod
    def of(cls, each: CaseResult) -> Self:
        return cls.showing(
            each,
            case=each.name,
            problem=each.problem or None,
            checks=[CheckView.showing(check) for check in each.checks],
            calls=list(each.calls),
            unrecorded=list(each.unrecorded),
            actions=list(each.actions),
            cost_usd=each.cost_micros / MICROS,
            recall=list(each.recall),
        )


class EvaluationDetailView(EvaluationView):
    results: list[ResultView]


class PairView(View):
    case: str
    worse: Annotated[bool, About("It passed before and fails now.")]
    before: ResultView | None
    after: ResultView | None

    @classmethod
    def of(cls, pair: Pair) -> Self:
        before, after = (None if each is None else ResultView.of(each) for each in (pair.before, pair.after))
        return cls(case=pair.name, worse=pair.worse, before=before, after=after)


class ComparisonView(View):
    before: EvaluationView
    after: EvaluationView
    cases: list[PairView]
    worse: Annotated[int, About("The number of cases that passed before and fail now.")]


class SuiteView(View):
    name: str
    agent: Annotated[str, About("The slug of the agent.")]
    gate: Annotated[bool, About("A changed prompt of the agent is stored only after the suite has passed with it.")]
    cases: int
    created_at: Time
    last: Annotated[EvaluationView | None, About("Its newest evaluation.")]


class CaseView(View):
    name: str
    kind: CaseKind
    question: Annotated[str, About("The messages or the question, shortened.")]
    expectations: list[str]
    calls: Annotated[int, About("The number of recorded tool calls.")]
    updated_at: Time

    @classmethod
    def of(cls, stored: StoredCase, /, **others: Any) -> Self:
        case = stored.case
        return cls.showing(
            stored,
            name=case.name,
            kind=case.kind,
            question=_question(case),
            expectations=[str(each) for each in case.expectations],
            calls=len(case.calls),
            **others,
        )


class CaseDetailView(CaseView):
    document: Annotated[AnyObject, About("The case as a document, which can be stored in a file and added again.")]


class SuiteDetailView(SuiteView):
    items: Annotated[list[CaseView], About("The cases in the order of their names.")]


class NewSuite(Body):
    name: _Name
    agent: Annotated[Label, About("Its id or slug. All cases of the suite are about this agent.")]


class ChangedSuite(Body):
    gate: bool


class RecordedTurn(Body):
    message: Annotated[Label, About("The id of a message of the turn, or of its answer.")]
    name: Annotated[_Name | None, About("The name of the case. Default: the id of the message in lower case.")] = None
    expect: Annotated[list[AnyObject] | None, About('Such as {"contains": "30 days"} or {"tool": "get_time"}.')] = None
    replace: Annotated[bool | None, About("Replace a case with the same name.")] = None


class NewCase(Body):
    document: Annotated[AnyObject, About("A case, as GET returns it.")]
    replace: Annotated[bool | None, About("Replace a case with the same name.")] = None


class TestedFields(Body):
    """Fields of the agent to change in the evaluation. The stored agent stays unchanged."""

    prompt: str | None = None
    model: Annotated[str | None, CLEARING] = None
    fallbacks: Texts | None = None
    effort: Annotated[Annotated[str, About(**one_of(EFFORTS))] | None, CLEARING] = None
    tools: Texts | None = None
    skills: Texts | None = None
    context_tokens: Annotated[Whole | None, CLEARING] = None


class StartedEvaluation(Body):
    suite: Label
    changes: TestedFields | None = None
    cases: Annotated[Texts | None, About("The names of the cases to evaluate. Default: all.")] = None
    max_cost_usd: Annotated[_Usd | None, About("No case begins after the evaluation has cost this amount.")] = None
    judge: Annotated[Label | None, About("The model that judges, as provider/model; default: the agent's model.")] = (
        None
    )


_SUITES, _SUITE = "/api/suites", "/api/suites/{suite}"
_CASES, _CASE = f"{_SUITE}/cases", f"{_SUITE}/cases/{{case}}"
_ALL, _ONE = "/api/evaluations", "/api/evaluations/{evaluation}"
_LONGEST_QUESTION = 200
#: The maximum number of evaluations on a page.
_MOST = 50


class SuiteRoutes(Routes):
    """Routes of suites and their cases. `mask` replaces secrets in recorded texts."""

    def __init__(self, *, store: Store, gate: Authorizer, clock: Clock, mask: Callable[[str], str]) -> None:
        self._store = store
        self._gate = gate
        self._clock = clock
        self._mask = mask

    @route("GET", _SUITES, "List suites of cases by name", READ, {200: Page[SuiteView]})
    async def _list(self, _call: Call) -> Response:
        return answer_page(await self._store.read(_suites), None)

    @route("POST", _SUITES, "Create a suite for an agent", OPERATE, {201: SuiteDetailView}, body=NewSuite)
    async def _create(self, call: Call) -> Response:
        body = await call.read(NewSuite)
        made = await self._store.write(evaluations.create_suite, body.name, body.agent, self._clock.now())
        return await self._shown(made.name, 201)

    @route("GET", _SUITE, "Show a suite with its cases", READ, {200: SuiteDetailView})
    async def _show(self, call: Call) -> Response:
        return await self._shown(call.id("suite"))

    @route(
        "PATCH",
        _SUITE,
        "Require that changed prompts pass the suite, or stop requiring it",
        OWN,
        {200: SuiteDetailView},
        body=ChangedSuite,
    )
    async def _change(self, call: Call) -> Response:
        body = await call.read(ChangedSuite)
        await self._store.write(evaluations.set_gate, call.id("suite"), on=body.gate)
        return await self._shown(call.id("suite"))

    @route("DELETE", _SUITE, "Delete a suite with its cases and results", OPERATE, {200: OkView})
    async def _remove(self, call: Call) -> Response:
        await self._store.write(evaluations.drop_suite, call.id("suite"))
        return done()

    @route(
        "POST",
        f"{_SUITE}/record",
        "Record an answered turn as a case",
        OPERATE,
        {201: CaseDetailView},
        body=RecordedTurn,
        large=True,
    )
    async def _record(self, call: Call) -> Response:
        body = await call.read(RecordedTurn)
        expected = [Expectation.from_json(each) for each in body.expect or ()]
        suite = await self._store.read(evaluations.suite_named, call.id("suite"))
        name = (body.name or body.message).lower()
        case = await self._store.read(record_case, body.message, suite.agent_id, _case_name(name), expected)
        # The search for secrets in a long history takes too long for the event loop.
        kept = await asyncio.to_thread(masked, case, self._mask)
        return await self._put(call, kept, replace=body.replace or False, recorded=True)

    @route("POST", _CASES, "Add a case from its document", OPERATE, {201: CaseDetailView}, body=NewCase, large=True)
    async def _add(self, call: Call) -> Response:
        body = await call.read(NewCase)
        return await self._put(call, read_case(storable_json(body.document)), replace=body.replace or False)

    @route("GET", _CASE, "Show a case with its document", READ, {200: CaseDetailView})
    async def _case(self, call: Call) -> Response:
        stored = await self._store.read(_stored_case, call.id("suite"), call.id("case"))
        return answer(CaseDetailView.of(stored, document=stored.case.to_json()))

    @route("DELETE", _CASE, "Delete a case with its results", OPERATE, {200: OkView})
    async def _remove_case(self, call: Call) -> Response:
        await self._store.write(_drop_case, call.id("suite"), call.id("case"))
        return done()

    async def _put(self, call: Call, case: Case, *, replace: bool, recorded: bool = False) -> Response:
        stored = await self._store.write(
            _put_case, call.id("suite"), case, self._clock.now(), replace=replace, recorded=recorded
        )
        return answer(CaseDetailView.of(stored, document=stored.case.to_json()), 201)

    async def _shown(self, name: str, status: int = 200) -> Response:
        return answer(await self._store.read(_suite_detail, name), status)


class EvaluationRoutes(Routes):
    def __init__(self, *, store: Store, gate: Authorizer, clock: Clock) -> None:
        self._store = store
        self._gate = gate
        self._clock = clock

    @route(
        "GET",
        _ALL,
        "List evaluations, newest first",
        READ,
        {200: Page[EvaluationView]},
        query={**PAGING, "limit": {**PAGING["limit"], "description": f"{_MOST} at most."}, "suite": LABEL},
    )
    async def _list(self, call: Call) -> Response:
        found = await self._store.read(_page, call.query("suite"), min(call.limit, _MOST), call.query("cursor"))
        return answer(found)

    @route(
        "POST",
        _ALL,
        "Start the evaluation of a suite; `POST /api/executions/ID/cancel` cancels it",
        OPERATE,
        {201: EvaluationView},
        body=StartedEvaluation,
        large=True,
    )
    async def _start(self, call: Call) -> Response:
        body = await call.read(StartedEvaluation)
        changes = {} if body.changes is None else body.changes.sent()
        limit = body.max_cost_usd
        new = NewEvaluation(
            suite=body.suite,
            changes=storable_json(changes),
            cases=body.cases or (),
            most_micros=None if limit is None else round(limit * MICROS),
            judge=body.judge,
        )
        by = await self._gate.principal_id(call.identity)
        begun = await self._store.write(evaluations.begin, new, by, self._clock.now())
        return answer(await self._store.read(_evaluation_view, begun.id), 201)

    @route("GET", _ONE, "Show an evaluation with its results", READ, {200: EvaluationDetailView})
    async def _show(self, call: Call) -> Response:
        return answer(await self._store.read(_evaluation_detail, call.id("evaluation")))

    @route(
        "GET",
        f"{_ONE}/compare/{{after}}",
        "Compare an evaluation with a later one of the same suite",
        READ,
        {200: ComparisonView},
    )
    async def _compare(self, call: Call) -> Response:
        return answer(await self._store.read(_comparison_view, call.id("evaluation"), call.id("after")))


def _question(case: Case) -> str:
    asked = case.asked
    text = "\n".join(each.text for each in asked.messages) if isinstance(asked, TurnInput) else asked.question
    return " ".join(text.split())[:_LONGEST_QUESTION]


def _case_name(name: str) -> str:
    if not SLUG.fullmatch(name):
        fix = "Write 1 to 64 lower-case letters, digits, - and _, for example `refund`."
        raise Unprocessable(f"A case cannot have the name {name[:64]!r}.", fix=fix)
    return name


# -- scripts -------------------------------------------------------------------------------------------------------------


def _suites(tx: Transaction) -> list[SuiteView]:
    return [SuiteView(**_suite_fields(tx, suite)) for suite in tx.evaluations.suites()]


def _suite_fields(tx: Transaction, suite: Suite) -> dict[str, Any]:
    agent = agents.find(tx, suite.agent_id)
    newest = tx.evaluations.newest(suite.id, 1)
    return {
        "name": suite.name,
        "agent": agent.slug if agent is not None else "",
        "gate": suite.gate,
        "cases": suite.cases,
        "created_at": suite.created_at,
        "last": EvaluationView.of(newest[0], {suite.id: suite.name}) if newest else None,
    }


def _suite_detail(tx: Transaction, name: str) -> SuiteDetailView:
    suite = evaluations.suite_named(tx, name)
    items = [CaseView.of(each) for each in tx.evaluations.cases(suite.id)]
    return SuiteDetailView(**_suite_fields(tx, suite), items=items)


def _stored_case(tx: Transaction, suite: str, name: str) -> StoredCase:
    return evaluations.case_named(tx, evaluations.suite_named(tx, suite), name)


def _put_case(
    tx: Transaction, suite: str, case: Case, now: int, *, replace: bool, recorded: bool = False
) -> StoredCase:
    if recorded and case.recorded is not None and tx.messages.get(case.recorded.message) is None:
        raise NotFound("The message was erased meanwhile.", fix="Choose another message.")
    return evaluations.put_case(tx, evaluations.suite_named(tx, suite), case, now, overwrite=replace)


def _drop_case(tx: Transaction, suite: str, name: str) -> None:
    tx.evaluations.drop_case(_stored_case(tx, suite, name).id)


def _page(tx: Transaction, suite: str | None, limit: int, cursor: str | None) -> Page[EvaluationView]:
    suite_id = None if suite is None else evaluations.suite_named(tx, suite).id
    rows = tx.evaluations.newest(suite_id, limit + 1, cursor)
    names = _names(tx)
    items = [EvaluationView.of(each, names) for each in rows[:limit]]
    return Page(items=items, next_cursor=rows[limit - 1].id if len(rows) > limit else None)


def _names(tx: Transaction) -> Mapping[str, str]:
    return {suite.id: suite.name for suite in tx.evaluations.suites()}


def _evaluation_view(tx: Transaction, evaluation_id: str) -> EvaluationView:
    return EvaluationView.of(evaluations.found(tx, evaluation_id), _names(tx))


def _evaluation_detail(tx: Transaction, evaluation_id: str) -> EvaluationDetailView:
    results = [ResultView.of(each) for each in tx.evaluations.results(evaluation_id)]
    return EvaluationDetailView.of(evaluations.found(tx, evaluation_id), _names(tx), results=results)


def _comparison_view(tx: Transaction, before_id: str, after_id: str) -> ComparisonView:
    found: Comparison = evaluations.compare(tx, before_id, after_id)
    names, pairs = _names(tx), [PairView.of(pair) for pair in found.pairs]
    return ComparisonView(
        before=EvaluationView.of(found.before, names),
        after=EvaluationView.of(found.after, names),
        cases=pairs,
        worse=sum(pair.worse for pair in found.pairs),
    )

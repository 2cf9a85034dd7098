"""Graph `evaluation`: answer the cases of a suite one after the other, and store the result of each.

The prompt of a case is composed as in a turn, and the model is called through the same accounts and budgets. Tools are
not called: a call gets the output that was recorded for it. The actions that a reply asks for are only listed. So an
evaluation changes nothing but its own results.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Any

from arvis.domain.agents import Agent
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effort import thinking_tokens
from arvis.domain.embeddings import Meaning
from arvis.domain.errors import BudgetReached, ProviderErrorKind, sentences
from arvis.domain.evaluations import FIRST, CaseResult, Evaluation, Retrieval, Searched, StoredCase, TurnInput
from arvis.domain.executions import Execution
from arvis.domain.expectations import Answer, Check, ExpectationKind, check
from arvis.domain.knowledge import READ_KNOWLEDGE, SEARCH_KNOWLEDGE
from arvis.domain.memory import EVERYWHERE, asked_words, principal_scope
from arvis.domain.messages import FileKind, StoredMessage
from arvis.domain.money import Budget, Spender
from arvis.domain.runs import RunRequest, RunResult, Turn
from arvis.domain.tools import READ_AGAIN, READ_SKILL
from arvis.engine.graph import Decision, End, Goto, Graph, NodeContext
from arvis.engine.state import changes, stored
from arvis.graphs.agent.completion import EXPLICIT, RULES
from arvis.graphs.agent.graph import names_of, with_used
from arvis.graphs.agent.knowledge import knowledge_rules
from arvis.graphs.agent.prompt import PromptBuilder, PromptInputs
from arvis.graphs.agent.tool_protocols import ToolCalling, ToolProtocol
from arvis.graphs.context import TurnContext
from arvis.graphs.evaluation.inputs import turn_context
from arvis.graphs.evaluation.judging import judge_request, judged_in, verdict_of
from arvis.graphs.evaluation.progress import Progress, frozen_output
from arvis.graphs.model import ModelCaller
from arvis.llm.attempts import RunFailed, Unserved
from arvis.llm.tokens import estimator_of
from arvis.ports.embeddings import MeaningOf, no_meaning
from arvis.ports.insights import Insights
from arvis.ports.store import Store, Transaction
from arvis.prompt import Prompt, behind, fit_rounds, turns_of
from arvis.prompt.past import is_rich
from arvis.services.agents import changed_agent
from arvis.services.evaluations import GRAPH
from arvis.skills import Skill
from arvis.tags import Reply, read
from arvis.tasks.access import PlacedState, spender_of
from arvis.tasks.state import MOST_PICTURES, load_pictures, pictures_of, with_pictures
from arvis.tools.registry import Registry

#: Errors that concern only the request of one case. The other cases are still evaluated.
_OF_THE_CASE = frozenset(
    {
        ProviderErrorKind.BAD_REQUEST,
        ProviderErrorKind.EMPTY,
        ProviderErrorKind.REFUSED,
        ProviderErrorKind.TOO_LONG,
    }
)
#: Errors that affect all later cases too, until a person acts.
_OF_THE_ACCOUNTS = frozenset({ProviderErrorKind.AUTH, ProviderErrorKind.QUOTA})
_LIMIT = "The evaluation has reached its cost limit, so no further case began."
_MOST_STEPS = 100_000


@dataclass(frozen=True, slots=True)
class EvaluationState(PlacedState):
    """The state of the graph `evaluation`. The id of an execution of this graph is the id of its evaluation."""

    #: The sorted names of the cases to evaluate (empty: all cases of the suite), and the name of the case that began
    #: last.
    only: Sequence[str] = ()
    after: str = ""
    #: The fields of the agent at the beginning of the evaluation, with the changes that the evaluation tests.
    tested: Mapping[str, Any] = stored({})
    #: The progress of the present case.
    case: Mapping[str, Any] = stored({})


@dataclass(frozen=True, slots=True)
class EvaluationParts:
    """The services and limits that the graph uses."""

    store: Store
    caller: ModelCaller
    prompt_builder: PromptBuilder
    skills: Callable[[], Awaitable[Collection[Skill]]]
    registry: Registry
    #: The maximum number of rounds with tool calls, and the maximum size of a reply in bytes.
    rounds: int
    reply_bytes: int
    #: The search for messages; None: a retrieval finds no messages.
    insights: Insights | None = None
    meaning: MeaningOf = no_meaning


def evaluation_graph(parts: EvaluationParts) -> Graph:
    nodes = _Nodes(parts, ToolCalling(registry=parts.registry))
    return Graph(
        name=GRAPH,
        start="choose",
        nodes={
            "choose": nodes.choose,
            "answer": nodes.answer,
            "judge": nodes.judge,
            "search": nodes.search,
            "record": nodes.record,
        },
        edges={},
        max_steps=_MOST_STEPS,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """The rows of an evaluation and of its present case."""

    evaluation: Evaluation
    #: The agent at the beginning of the evaluation, with the changes that the evaluation tests.
    agent: Agent
    #: None if the case has been deleted, or if there is no further case.
    stored: StoredCase | None
    #: The model that judges the replies (None: each account uses its own model).
    judge: str | None
    #: The cost (micros) of the evaluation so far.
    cost: int


class _Nodes:
    def __init__(self, parts: EvaluationParts, manner: ToolProtocol) -> None:
        self._parts = parts
        self._store = parts.store
        self._manner = manner

    async def choose(self, context: NodeContext) -> Decision:
        """Begin the next case, or end the evaluation after the last one or at its limit of costs."""
        found = await self._store.read(_find, context.execution)
        if found is None:
            return End({})  # the suite has been deleted
        if found.stored is None:
            return self._end(context)
        most = found.evaluation.most_micros
        if most is not None and found.cost >= most and found.cost:
            return self._end(context, _LIMIT)
        case = found.stored.case
        node = "answer" if isinstance(case.asked, TurnInput) else "search"
        progress = Progress(found.stored.id, cost_before=found.cost)
        return self._goto(node, progress, **changes(EvaluationState, after=case.name))

    async def answer(self, context: NodeContext) -> Decision:
        """Call the model with the prompt of the case and the rounds so far."""
        progress = self._progress(context)
        found = await self._store.read(_find, context.execution, progress.case)
        if found is None or found.stored is None or not isinstance(found.stored.case.asked, TurnInput):
            return Goto("choose")
        case, asked = found.stored.case, found.stored.case.asked
        turn = await self._store.read(_turn, context.execution, found.agent, progress.case, asked)
        if not progress.rounds:
            progress = replace(progress, unrecorded=[f"picture {each}" for each in await self._lost(turn)])
        off = len(progress.rounds) >= self._parts.rounds
        request = await self._request(turn, asked, progress, off=off)
        try:
            answer = await context.once("model", partial(self._call, context, request, turn))
        except (RunFailed, BudgetReached) as failure:
            return self._failed(context, progress, failure)
        result = self._manner.read(RunResult.from_json(answer))
        progress = progress.with_answer(result, answer["ms"])
        if not result.calls or off:
            return self._goto("judge", replace(progress, reply=result.content))
        outputs = [frozen_output(call, case.calls) for call in result.calls]
        return self._goto("answer", progress.with_round(result, outputs))

    async def judge(self, context: NodeContext) -> Decision:
        """Ask a model about the next expectation that a model judges."""
        progress = self._progress(context)
        found = await self._store.read(_find, context.execution, progress.case)
        if found is None or found.stored is None:
            return Goto("choose")
        if progress.cost is None:
            progress = replace(progress, cost=found.cost - progress.cost_before)
        judged = judged_in(found.stored.case)
        if len(progress.verdicts) >= len(judged):
            return self._goto("record", progress)
        expectation = judged[len(progress.verdicts)]
        request = judge_request(found.stored.case, expectation, _shown(read(progress.reply)))
        model = expectation.model or found.judge
        spender = await self._store.read(_spender, context.execution, found.agent.id, progress.case)
        try:
            call = partial(self._parts.caller.call, context, request, spender=spender, model=model)
            answer = await context.once("model", call)
        except (RunFailed, BudgetReached) as failure:
            return self._failed(context, progress, failure)
        return self._goto("judge", progress.with_verdict(verdict_of(expectation, RunResult.from_json(answer))))

    async def search(self, context: NodeContext) -> Decision:
        """Run the search of a retrieval, and calculate the share of the evidence that its results contain."""
        progress = self._progress(context)
        found = await self._store.read(_find, context.execution, progress.case)
        if found is None or found.stored is None or not isinstance(found.stored.case.asked, Retrieval):
            return Goto("choose")
        asked, began = found.stored.case.asked, context.now()
        results = await self._search(asked, found.agent.id)
        recall = tuple(_recall(asked.evidence, results[:first]) for first in FIRST)
        ids = "\n".join(each for each, _ in results) or "(nothing)"
        done = replace(progress, reply=ids, recall=recall, ms=max(0, context.now() - began), cost=0)
        return self._goto("record", done)

    async def record(self, context: NodeContext) -> Decision:
        """Check the expectations and store the result of the case."""
        progress = self._progress(context)
        found = await self._store.read(_find, context.execution, progress.case)
        if found is None or found.stored is None:
            return Goto("choose")
        result = _result(found.stored, progress, found.cost - progress.cost_before)
        context.record_of_step(_put_result, found.evaluation.id, result)
        context.commit_first()  # so that people see the results of a running evaluation
        return Goto("choose", **changes(EvaluationState, case={}))

    # -- one call ----------------------------------------------------------------------------------------------

    async def _call(self, context: NodeContext, request: RunRequest, turn: TurnContext) -> dict[str, Any]:
        began, agent = context.now(), turn.agent
        answer = await self._parts.caller.call(
            context, request, spender=turn.spender, model=agent.model, fallbacks=agent.fallbacks
        )
        return {**answer, "ms": max(0, context.now() - began)}

    async def _request(self, turn: TurnContext, asked: TurnInput, progress: Progress, *, off: bool) -> RunRequest:
        agent, rounds = turn.agent, progress.made()
        names = _names(agent, turn)
        specs = await self._manner.specs(names)
        earlier = names_of(turn.history) if specs else frozenset()
        rules = (
            RULES if agent.completion == EXPLICIT else "",
            await self._manner.rules(names),
            await knowledge_rules(self._store, agent) if SEARCH_KNOWLEDGE in names else "",
        )
        inputs = PromptInputs(
            skills=await self._parts.skills(),
            tools=with_used(specs, self._manner.shown(turns_of(rounds)), earlier),
            rounds=rounds,
            shrunk=False,
            now=asked.at,
            reads=READ_AGAIN in names,
            rules="\n\n".join(filter(None, rules)),
        )
        limits = self._parts.prompt_builder.limits(turn)
        prompt = self._parts.prompt_builder.prompt(turn, inputs, limits)
        fitted = fit_rounds(rounds, prompt.rounds_room, estimator_of(limits.calibration), prompt.rounds_most)
        made = self._manner.shown(fitted, off=off)
        turns = behind(await self._with_pictures(prompt, turn.current), made)
        return RunRequest(
            system=prompt.system,
            changing=prompt.changing,
            now=prompt.now,
            turns=turns,
            model=None,
            agent_name=agent.name,
            max_tokens=limits.budget.reply + thinking_tokens(agent.effort),
            max_bytes=self._parts.reply_bytes,
            tools=() if off and not any(each.calls for each in turns) else with_used(specs, turns),
            tools_off=off,
            conversation=turn.conversation.id,
            allow_empty=bool(rounds),
            effort=agent.effort,
        )

    async def _with_pictures(self, prompt: Prompt, current: Sequence[StoredMessage]) -> Sequence[Turn]:
        *earlier, newest = await with_pictures(self._store, prompt.turns)
        pictures = await load_pictures(self._store, pictures_of(current)[-MOST_PICTURES:])
        return (*earlier, replace(newest, images=(*newest.images, *pictures)))

    async def _lost(self, turn: TurnContext) -> list[str]:
        """Return the names of pictures in the messages whose files are no longer stored."""
        files = [file for message in turn.current for file in message.attachments if file.kind is FileKind.IMAGE]
        return [file.filename for file in files if await self._store.get_blob(file.sha256) is None]

    async def _search(self, asked: Retrieval, agent_id: str) -> Sequence[tuple[str, str]]:
        """Run the search of a retrieval. Return the ids and texts of its first results."""
        if asked.person is not None:
            # If the identity is linked to a person, its messages and facts belong to this person.
            asked = replace(asked, person=await self._store.read(_person_of, asked.person))
        meaning = await self._parts.meaning(asked.question)
        if asked.searches is Searched.FACTS:
            return await self._store.read(_found_facts, agent_id, asked, meaning)
        if self._parts.insights is None:
            return []
        found = await self._parts.insights.search_messages(
            asked.question, principal_id=asked.person, limit=max(FIRST), meaning=meaning
        )
        return [(message.id, message.content) for message in found]

    # -- decisions ---------------------------------------------------------------------------------------------

    def _progress(self, context: NodeContext) -> Progress:
        return Progress.from_json(EvaluationState.from_json(context.state).case)

    def _goto(self, node: str, progress: Progress, **more: Any) -> Goto:
        return Goto(node, **changes(EvaluationState, case=progress.to_json()), **more)

    def _end(self, context: NodeContext, problem: str = "") -> End:
        context.record_of_step(_end_evaluation, context.execution.id, context.now(), problem)
        return End({})

    def _failed(self, context: NodeContext, progress: Progress, failure: RunFailed | BudgetReached) -> Decision:
        """Return the decision after a failed model call: to record the case without an answer, or to end the
        evaluation. Raise the failure if a later attempt may succeed, so that the queue retries the job."""
        if isinstance(failure, BudgetReached):
            problem = sentences(failure.what, failure.fix)
            if failure.budget == Budget.TURN:  # each case has the budget of a turn
                return self._goto("record", replace(progress, problem=problem))
            return self._end(context, problem)
        error = failure.error
        if isinstance(failure, Unserved) or error.kind in _OF_THE_ACCOUNTS:
            return self._end(context, error.what)
        if error.kind in _OF_THE_CASE:
            return self._goto("record", replace(progress, problem=error.what))
        raise failure


def _names(agent: Agent, turn: TurnContext) -> Sequence[str]:
    """Return the names of the tools to offer."""
    names = (*agent.tools, READ_SKILL) if agent.skills else agent.tools
    if agent.knowledge:
        names = (*names, SEARCH_KNOWLEDGE, READ_KNOWLEDGE)
    again = bool(agent.tools or agent.knowledge) and any(map(is_rich, turn.history))
    return (*names, READ_AGAIN) if again else names


def _recall(evidence: Sequence[str], results: Sequence[tuple[str, str]]) -> float:
    """Return the share of the evidence, from 0 to 1, that these results contain. Each piece of evidence is an id, or a
    part of a text."""
    found = [" ".join(text.casefold().split()) for _, text in results]
    ids = {each for each, _ in results}
    hits = sum(each in ids or any(" ".join(each.casefold().split()) in text for text in found) for each in evidence)
    return hits / len(evidence)


def _shown(reply: Reply) -> str:
    """Return the text of the reply that people would see in a turn."""
    return reply.visible if reply.wrapper is None else reply.wrapper.visible


def _result(stored_case: StoredCase, progress: Progress, cost: int) -> CaseResult:
    case = stored_case.case
    reply = read(progress.reply) if case.kind == "turn" else None
    shown = progress.reply if reply is None else _shown(reply)
    actions = [] if reply is None else [f"{each.kind} {each.subject}".strip() for each in reply.proposals]
    answer = Answer(
        reply=shown,
        calls=[(call.name, call.arguments or {}) for call in progress.calls],
        actions=[] if reply is None else [each.kind.value for each in reply.proposals],
        cost_micros=progress.cost or 0,
        duration_ms=progress.ms,
        recall=progress.recall[-1] if progress.recall else None,
    )
    verdicts = iter(progress.verdicts)
    checks = tuple(
        next(verdicts, Check(str(each), passed=False, reason="No model judged this expectation."))
        if each.kind is ExpectationKind.JUDGE
        else check(each, answer)
        for each in case.expectations
    )
    return CaseResult(
        case_id=stored_case.id,
        name=case.name,
        reply=shown,
        checks=() if progress.problem else checks,
        problem=progress.problem,
        calls=tuple(call.what for call in progress.calls),
        unrecorded=tuple(progress.unrecorded),
        actions=tuple(actions),
        model=progress.model,
        cost_micros=cost,
        input_tokens=progress.input_tokens,
        output_tokens=progress.output_tokens,
        duration_ms=progress.ms,
        recall=progress.recall,
    )


# -- transaction scripts -----------------------------------------------------------------------------------------------


def _find(tx: Transaction, execution: Execution, case_id: str | None = None) -> _Found | None:
    """Read an evaluation and the case `case_id`; if it is None, the next case."""
    evaluation = tx.evaluations.get(execution.id)
    suite = tx.evaluations.suite(evaluation.suite_id) if evaluation is not None else None
    agent = tx.agents.get(suite.agent_id) if suite is not None else None
    if evaluation is None or agent is None:
        return None
    state = EvaluationState.from_json(execution.state)
    case = tx.evaluations.case(case_id) if case_id is not None else _next_case(tx, evaluation.suite_id, state)
    return _Found(
        evaluation=evaluation,
        agent=changed_agent(agent, state.tested),
        stored=case,
        judge=evaluation.judge or agent.model,
        cost=tx.usage.cost_of(execution.id),
    )


def _next_case(tx: Transaction, suite_id: str, state: EvaluationState) -> StoredCase | None:
    if not state.only:
        return tx.evaluations.next_case(suite_id, state.after)
    following = (tx.evaluations.case_named(suite_id, name) for name in state.only if name > state.after)
    return next((case for case in following if case is not None), None)


def _turn(tx: Transaction, execution: Execution, agent: Agent, case_id: str, asked: TurnInput) -> TurnContext:
    return turn_context(tx, agent, case_id, asked, _spender(tx, execution, agent.id, case_id))


def _spender(tx: Transaction, execution: Execution, agent_id: str, case_id: str) -> Spender:
    """Return the spender of a call. Each case has the budget of a turn."""
    spender = spender_of(tx, execution, agent_id=agent_id)
    return replace(spender, turn=f"{execution.id}-{case_id}")


def _found_facts(
    tx: Transaction, agent_id: str, asked: Retrieval, meaning: Meaning | None
) -> Sequence[tuple[str, str]]:
    scopes = [*([principal_scope(asked.person)] if asked.person else []), EVERYWHERE]
    words, most = asked_words(asked.question), max(FIRST)
    if meaning is None:
        facts = tx.facts.search(agent_id, scopes, words, most, corrects=True)
    else:
        facts = [hit.fact for hit in tx.facts.search_meaning(agent_id, scopes, words, meaning, most)]
    return [(fact.id, fact.content) for fact in facts]


def _person_of(tx: Transaction, identity_id: str) -> str:
    person = tx.principals.get(identity_id)
    return identity_id if person is None else person.id


def _put_result(tx: Transaction, evaluation_id: str, result: CaseResult) -> None:
    if tx.evaluations.get(evaluation_id) is not None and tx.evaluations.case(result.case_id) is not None:
        tx.evaluations.put_result(evaluation_id, result)


def _end_evaluation(tx: Transaction, evaluation_id: str, now: int, problem: str) -> None:
    tx.evaluations.end(evaluation_id, now, problem)

"""The node `reasoning`: one brief, which moves exactly one check box of the plan."""

from __future__ import annotations

from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Goto, Next, Repeat
from arvis.engine.state import changes
from arvis.graphs.planning import lanes, prompts
from arvis.graphs.planning.documents import harmless, read_brief, without_documents
from arvis.graphs.planning.evidence import readiness
from arvis.graphs.planning.lanes import Lane
from arvis.graphs.planning.limits import TIME, TRIES, Bounds
from arvis.graphs.planning.model import Adviser, Question
from arvis.graphs.planning.state import OUTPUT, REASONING, PlanningState, evidence_of
from arvis.ports.store import Store

#: Tokens of a brief (seed 001).
_TOKENS = 4_096


class ReasoningNode:
    def __init__(self, *, store: Store, adviser: Adviser, bounds: Bounds) -> None:
        self._store = store
        self._adviser = adviser
        self._bounds = bounds

    async def reasoning(self, context: NodeContext) -> Decision:
        state, evidence = PlanningState.from_json(context.state), await evidence_of(self._store, context)
        if self._bounds.over(state.began, context.now(), evidence.waited_ms):
            return Goto(OUTPUT, None, **changes(PlanningState, stopped=TIME))
        shared = state.shared
        own = state.lane_reasoning or shared.of_assistant()
        told = own.without_echoes(state.goal).joined(each for each in shared.of_assistant() if each.kind)
        question = Question(
            task=prompts.REASONING,
            goal=harmless(state.goal),
            known=prompts.joined(
                *(prompts.section(each.kind or "Earlier", each.text) for each in told),
                prompts.section("The request in the person's own words", state.request),
                prompts.section("The plan", state.prd),
                prompts.section("What is known (execution readiness)", readiness(evidence.runs)),
            ),
            now=prompts.BRIEF_NOW,
            most=_TOKENS,
        )
        reply = await self._adviser.ask(context, await self._adviser.turn(context), question)
        if not (brief := read_brief(reply)):
            number = state.tries.get(REASONING, 0) + 1
            own = own.adding("The last reply contained no brief in its tags.").adding(harmless(reply), lanes.REFUSED)
            more = state.with_tries(REASONING, number) | changes(PlanningState, lane_reasoning=own)
            if number < self._bounds.briefs:
                return Repeat(**more)
            return Goto(OUTPUT, None, **changes(PlanningState, stopped=TRIES), **more)
        return Next(
            None,
            **changes(
                PlanningState,
                brief=brief,
                brief_number=state.brief_number + 1,
                lane=shared.adding(brief, lanes.BRIEF),
                lane_reasoning=own.without(lanes.REFUSED).adding(without_documents(reply)).adding(brief, lanes.BRIEF),
                lane_action=Lane().adding(brief, role=lanes.USER),
            ),
            **state.with_tries(REASONING, 0),
            **state.with_taint(evidence),
        )

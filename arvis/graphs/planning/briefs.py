"""The node `reasoning`: one brief, which moves exactly one check box of the plan."""

from __future__ import annotations

from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Goto, Next, Repeat
from arvis.graphs.planning import lanes, prompts
from arvis.graphs.planning.documents import harmless, read_brief, without_documents
from arvis.graphs.planning.evidence import readiness
from arvis.graphs.planning.lanes import Lane, lane_of
from arvis.graphs.planning.limits import TIME, TRIES, Bounds, tried, tries
from arvis.graphs.planning.model import Adviser, Question
from arvis.graphs.planning.state import OUTPUT, REASONING, brief_number, evidence_of, goal_of, own_lane, tainted
from arvis.ports.store import Store

#: Tokens of a brief (seed 001).
_TOKENS = 4_096


class ReasoningNode:
    def __init__(self, *, store: Store, adviser: Adviser, bounds: Bounds) -> None:
        self._store = store
        self._adviser = adviser
        self._bounds = bounds

    async def reasoning(self, context: NodeContext) -> Decision:
        state, evidence = context.state, await evidence_of(self._store, context)
        if self._bounds.over(state, context.now(), evidence.waited_ms):
            return Goto(OUTPUT, None, stopped=TIME)
        shared = lane_of(state, lanes.SHARED) or Lane()
        own = own_lane(state, lanes.REASONING, shared.of_assistant())
        told = own.without_echoes(goal_of(state)).joined(each for each in shared.of_assistant() if each.kind)
        question = Question(
            task=prompts.REASONING,
            goal=harmless(goal_of(state)),
            known=prompts.joined(
                *(prompts.section(each.kind or "Earlier", each.text) for each in told),
                prompts.section("The request in the person's own words", state.get("request", "")),
                prompts.section("The plan", state.get("prd", "")),
                prompts.section("What is known (execution readiness)", readiness(evidence.runs)),
            ),
            now=prompts.BRIEF_NOW,
            most=_TOKENS,
        )
        reply = await self._adviser.ask(context, await self._adviser.standing(context), question)
        if not (brief := read_brief(reply)):
            number = tried(state, REASONING) + 1
            own = own.adding("The last answer held no brief in its tags.").adding(harmless(reply), lanes.REFUSED)
            changes = {**tries(state, REASONING, number), "lane_reasoning": own.to_json()}
            return Repeat(**changes) if number < self._bounds.briefs else Goto(OUTPUT, None, stopped=TRIES, **changes)
        return Next(
            None,
            brief=brief,
            brief_number=brief_number(state) + 1,
            lane=shared.adding(brief, lanes.BRIEF).to_json(),
            lane_reasoning=own.without(lanes.REFUSED)
            .adding(without_documents(reply))
            .adding(brief, lanes.BRIEF)
            .to_json(),
            lane_action=Lane().adding(brief, role=lanes.USER).to_json(),
            **tries(state, REASONING, 0),
            **tainted(state, evidence),
        )

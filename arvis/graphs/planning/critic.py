"""The node `skill_critic`: whether the brief is fulfilled and the goal reached, by the evidence of tools alone."""

from __future__ import annotations

from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Next
from arvis.engine.state import changes
from arvis.graphs.planning import lanes, prompts
from arvis.graphs.planning.documents import harmless, tick
from arvis.graphs.planning.evidence import Evidence
from arvis.graphs.planning.lanes import Lane
from arvis.graphs.planning.limits import FEEDBACK, ROUNDS, TIME, Bounds
from arvis.graphs.planning.model import Adviser, Question
from arvis.graphs.planning.state import PlanningState, evidence_of
from arvis.graphs.planning.verdict import Verdict, read_verdict, said_before
from arvis.ports.store import Store

#: Values of this node, on which the edge behind it goes.
COMPLETE, TECHNICAL, PROJECT, STOPPED = "complete", "technical", "project", "stopped"

_TOKENS = 2_048
_ASK = "Give your verdict now. Answer with the JSON object only."


class CriticNode:
    def __init__(self, *, store: Store, adviser: Adviser, bounds: Bounds) -> None:
        self._store = store
        self._adviser = adviser
        self._bounds = bounds

    async def skill_critic(self, context: NodeContext) -> Decision:
        state, evidence = PlanningState.from_json(context.state), await evidence_of(self._store, context)
        question = Question(
            task=prompts.CRITIC,
            goal=harmless(state.goal),
            known=self._known(state, evidence),
            now=_ASK,
            most=_TOKENS,
        )
        verdict = read_verdict(await self._adviser.ask(context, await self._adviser.turn(context), question))
        prd = tick(state.prd, verdict.completed)
        more = changes(PlanningState, prd=prd, checks=state.checks + 1, actions=0) | state.with_taint(evidence)
        if verdict.complete:
            return Next(COMPLETE, **more)
        stopped = self._stopped(state, verdict, evidence, context.now())
        more |= changes(
            PlanningState,
            feedbacks=[*state.feedbacks, verdict.feedback],
            lane=state.shared.adding(verdict.feedback, lanes.FEEDBACK),
        )
        if stopped is not None:
            return Next(STOPPED, **changes(PlanningState, stopped=stopped), **more)
        return Next(PROJECT if verdict.technical else TECHNICAL, **more)

    def _stopped(self, state: PlanningState, verdict: Verdict, evidence: Evidence, now: int) -> str | None:
        """Return why the work stops although it is incomplete; None: it continues with the feedback."""
        if said_before(verdict.feedback, state.feedbacks):
            return FEEDBACK
        if state.checks + 1 >= self._bounds.rounds:
            return ROUNDS
        return TIME if self._bounds.over(state.began, now, evidence.waited_ms) else None

    def _known(self, state: PlanningState, evidence: Evidence) -> str:
        """The messages of the graph, and the whole transcript of the action."""
        shared = state.shared
        said = "\n\n".join(each.text for each in state.lane_action or Lane() if each.role == lanes.ASSISTANT)
        return prompts.joined(
            *(prompts.section(each.kind, each.text) for each in shared if each.kind and each.kind != lanes.BRIEF),
            prompts.section("The plan", state.prd),
            prompts.section("The brief", state.brief),
            prompts.section("Action Conversation Transcript", evidence.transcript(state.brief_number)),
            prompts.section("Final statement of the executor (a claim)", said),
        )

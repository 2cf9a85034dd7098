"""The node `skill_critic`: whether the brief is fulfilled and the goal reached, by the evidence of tools alone."""

from __future__ import annotations

from typing import Any

from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Next
from arvis.graphs.planning import lanes, prompts
from arvis.graphs.planning.documents import harmless, tick
from arvis.graphs.planning.evidence import Evidence
from arvis.graphs.planning.lanes import Lane, lane_of
from arvis.graphs.planning.limits import FEEDBACK, ROUNDS, TIME, Bounds
from arvis.graphs.planning.model import Adviser, Question
from arvis.graphs.planning.state import brief_number, evidence_of, goal_of, tainted
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
        state, evidence = context.state, await evidence_of(self._store, context)
        question = Question(
            task=prompts.CRITIC,
            goal=harmless(goal_of(state)),
            known=self._known(context, evidence),
            now=_ASK,
            most=_TOKENS,
        )
        verdict = read_verdict(await self._adviser.ask(context, await self._adviser.standing(context), question))
        changes = {
            "prd": tick(state.get("prd", ""), verdict.completed),
            "rounds": int(state.get("rounds", 0)) + 1,
            "actions": 0,
            **tainted(state, evidence),
        }
        if verdict.complete:
            return Next(COMPLETE, **changes)
        return self._incomplete(context, verdict, evidence, changes)

    def _incomplete(
        self, context: NodeContext, verdict: Verdict, evidence: Evidence, changes: dict[str, Any]
    ) -> Decision:
        """Its feedback goes into the shared lane, and the work goes on, where that may help."""
        state = context.state
        earlier: list[str] = state.get("feedbacks", [])
        shared = lane_of(state, lanes.SHARED) or Lane()
        changes |= {
            "feedbacks": [*earlier, verdict.feedback],
            "lane": shared.adding(verdict.feedback, lanes.FEEDBACK).to_json(),
        }
        if said_before(verdict.feedback, earlier):
            return Next(STOPPED, stopped=FEEDBACK, **changes)
        if changes["rounds"] >= self._bounds.rounds:
            return Next(STOPPED, stopped=ROUNDS, **changes)
        if self._bounds.over(state, context.now(), evidence.waited_ms):
            return Next(STOPPED, stopped=TIME, **changes)
        return Next(PROJECT if verdict.technical else TECHNICAL, **changes)

    def _known(self, context: NodeContext, evidence: Evidence) -> str:
        """The messages of the graph, and the whole transcript of the action."""
        state = context.state
        shared = lane_of(state, lanes.SHARED) or Lane()
        said = "\n\n".join(each.text for each in lane_of(state, lanes.ACTION) or Lane() if each.role == lanes.ASSISTANT)
        return prompts.joined(
            *(prompts.section(each.kind, each.text) for each in shared if each.kind and each.kind != lanes.BRIEF),
            prompts.section("The plan", state.get("prd", "")),
            prompts.section("The brief", state.get("brief", "")),
            prompts.section("Action Conversation Transcript", evidence.transcript(brief_number(state))),
            prompts.section("What the executor said at the end (a claim)", said),
        )

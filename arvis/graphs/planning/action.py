"""The node `action`: a child carries out the brief with tools, in a lane of its own, until it is done or blocked."""

from __future__ import annotations

from arvis.domain.executions import Answer
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Goto, Next, Repeat
from arvis.engine.state import changes
from arvis.graphs.planning import lanes, prompts
from arvis.graphs.planning.documents import harmless
from arvis.graphs.planning.evidence import Evidence, readiness
from arvis.graphs.planning.lanes import LONGEST_MESSAGE, Lane, clipped
from arvis.graphs.planning.limits import TIME, Bounds
from arvis.graphs.planning.model import Adviser
from arvis.graphs.planning.state import ACTION, OUTPUT, PlanningState, call_agent, evidence_of
from arvis.graphs.planning.verdict import plain
from arvis.ports.store import Store
from arvis.tasks.outcome import WorkOutcome, WorkStatus, child_end
from arvis.tasks.task import TaskSpec

#: Values of this node, on which the edge behind it goes.
ANSWERED, BLOCKED = "answered", "blocked"


class ActionNode:
    def __init__(self, *, store: Store, adviser: Adviser, bounds: Bounds) -> None:
        self._store = store
        self._adviser = adviser
        self._bounds = bounds

    async def action(self, context: NodeContext) -> Decision:
        evidence = await evidence_of(self._store, context)
        if context.answer is not None:
            return self._read(context, context.answer, evidence)
        state = PlanningState.from_json(context.state)
        if self._bounds.over(state.began, context.now(), evidence.waited_ms):
            return Goto(OUTPUT, None, **changes(PlanningState, stopped=TIME))
        own = state.lane_action or Lane().adding(state.goal, role=lanes.USER)
        done = evidence.transcript(state.brief_number)
        begun = bool(done) or len(own.messages) > 1
        work = _task(state)
        so_far = clipped(_so_far(own, done), await self._adviser.room(context)) if begun else ""
        task = TaskSpec(
            prompt=f"{work}\n\n{prompts.GO_ON}" if begun else work,
            instructions=prompts.ACTION,
            completion="explicit",
            history=(("user", prompts.WHAT_IS_DONE), ("assistant", so_far)) if begun else (),
            taint=evidence.taint,
        )
        more = changes(PlanningState, actions=state.actions + 1, lane_action=own)
        return call_agent(context, ACTION, task, more)

    def _read(self, context: NodeContext, answer: Answer, evidence: Evidence) -> Decision:
        """Read the result of one run of the executor."""
        state, end = PlanningState.from_json(context.state), child_end(answer)
        outcome = _short(end.outcome or WorkOutcome(WorkStatus.DONE, visible=f"The executor failed: {end.error}"))
        said = outcome.result or outcome.visible or outcome.reason or outcome.report
        shared, own = state.shared, state.lane_action or Lane()
        snapshot = prompts.joined(said, outcome.requirements, readiness(evidence.runs))
        lane = shared.adding(snapshot, lanes.EVIDENCE)
        more = changes(PlanningState, lane=lane, lane_action=own.adding(said), last=outcome)
        more |= state.with_taint(evidence)
        if outcome.status is WorkStatus.BLOCKED and plain(outcome.reason) != state.blocker:
            if not self._capped(state):
                return Next(BLOCKED, **changes(PlanningState, blocker=plain(outcome.reason)), **more)
        elif _is_unfinished(outcome) and not self._capped(state):
            return Repeat(**more)
        return Next(ANSWERED, **more)

    def _capped(self, state: PlanningState) -> bool:
        return state.actions >= self._bounds.actions


def _task(state: PlanningState) -> str:
    """The brief; without one, the goal and what it was made from."""
    if state.brief_number:
        return prompts.section("Brief", state.brief)
    words = "" if state.request == state.goal else state.request
    return prompts.joined(prompts.section("Task", state.goal), prompts.section("In the person's own words", words))


def _is_unfinished(outcome: WorkOutcome) -> bool:
    """Return True if the work continues, or the reply had no text."""
    return outcome.status is WorkStatus.CONTINUE or (outcome.status is WorkStatus.OPEN and not outcome.visible)


def _short(outcome: WorkOutcome) -> WorkOutcome:
    """As much of it as the state may hold."""
    return WorkOutcome(
        status=outcome.status,
        visible=clipped(outcome.visible, LONGEST_MESSAGE),
        report=clipped(outcome.report, LONGEST_MESSAGE),
        reason=clipped(outcome.reason, LONGEST_MESSAGE),
        requirements=clipped(outcome.requirements, LONGEST_MESSAGE),
        result=clipped(outcome.result, LONGEST_MESSAGE),
    )


def _so_far(own: Lane, done: str) -> str:
    said = "\n\n".join(each.text for each in own.of_assistant())
    return prompts.joined(prompts.section("Done so far", done), harmless(said)) or "(nothing yet)"

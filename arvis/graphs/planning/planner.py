"""The node `planner`: a child finds out what is needed and writes the PRD; only what it says besides is for people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection

from arvis.domain.executions import Answer
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Goto, Next, Repeat
from arvis.graphs.planning import lanes, prompts
from arvis.graphs.planning.documents import carry_ticks, harmless, read_draft, without_documents
from arvis.graphs.planning.evidence import Evidence, known_runs
from arvis.graphs.planning.lanes import Lane, lane_of
from arvis.graphs.planning.limits import FAILED, TIME, TRIES, Bounds, tried, tries
from arvis.graphs.planning.model import Adviser
from arvis.graphs.planning.state import OUTPUT, PLANNER, call_agent, evidence_of, goal_of, own_lane, tainted
from arvis.messaging import messages
from arvis.ports.store import Store
from arvis.skills import Skill
from arvis.tasks.outcome import child_end
from arvis.tasks.task import TaskSpec

#: A planner that fails as a whole is not asked a third time.
_FAILURES = "planner_failed"
_MOST_FAILURES = 2
_LONGEST_CHATTER = 1_000

Skills = Callable[[], Awaitable[Collection[Skill]]]


class PlannerNode:
    def __init__(self, *, store: Store, adviser: Adviser, skills: Skills, bounds: Bounds) -> None:
        self._store = store
        self._adviser = adviser
        self._skills = skills
        self._bounds = bounds

    async def planner(self, context: NodeContext) -> Decision:
        if context.answer is not None:
            return await self._read(context, context.answer)
        evidence = await evidence_of(self._store, context)
        state = context.state
        if self._bounds.over(state, context.now(), evidence.waited_ms):
            return Goto(OUTPUT, None, stopped=TIME)
        shared = (lane_of(state, lanes.SHARED) or Lane()).adding(await self._skill(context), lanes.SKILL)
        own, goal = own_lane(state, lanes.PLANNER, shared.of_assistant()), goal_of(state)
        known = prompts.joined(
            *(prompts.section(each.kind or "Earlier", each.text) for each in _told(own, shared, goal)),
            prompts.section("The request in the person's own words", state.get("request", "")),
            prompts.section("The plan so far", state.get("prd", "")),
            prompts.section("Already done (do not repeat)", known_runs(evidence.runs)),
        )
        errand = TaskSpec(
            prompt=f"{harmless(goal)}\n\n{prompts.PLAN_NOW}",
            instructions=prompts.PLANNER,
            completion="implicit",
            history=(
                ("user", prompts.WHAT_IS_KNOWN),
                ("assistant", lanes.clipped(known, await self._adviser.room(context))),
            ),
            taint=evidence.taint,
        )
        return call_agent(context, PLANNER, errand, lane=shared.to_json(), lane_planner=own.to_json())

    async def _skill(self, context: NodeContext) -> str:
        """The skill that was chosen, as everybody is told of it."""
        slug = context.state["plan"]["skill"]
        chosen = [skill for skill in await self._skills() if skill.slug == slug]
        return "\n\n".join(f"Skill {skill.name}\n\n{skill.body}" for skill in chosen)

    async def _read(self, context: NodeContext, answer: Answer) -> Decision:
        """What the child wrote; a plan that cannot be taken is asked for again."""
        state, end = context.state, child_end(answer)
        evidence = await evidence_of(self._store, context)
        if end.outcome is None:
            return self._failed(context, end.error)
        draft = read_draft(end.outcome.visible)
        own = own_lane(state, lanes.PLANNER, Lane())
        if draft.flaw:
            number = tried(state, PLANNER) + 1
            own = own.adding(f"The last plan was refused: {draft.flaw}")
            own = own.adding(harmless(end.outcome.visible), lanes.REFUSED)
            changes = {"lane_planner": own.to_json(), **tries(state, PLANNER, number), **tainted(state, evidence)}
            return Repeat(**changes) if number < self._bounds.plans else Goto(OUTPUT, None, stopped=TRIES, **changes)
        for words in dict.fromkeys(filter(None, (*_beside_calls(evidence), draft.chatter))):
            text = lanes.clipped(words, _LONGEST_CHATTER)
            context.record(messages.progress, context.execution, text, context.now())
            context.commit_first()  # people read it while the work goes on
        return Next(
            None,
            prd=carry_ticks(state.get("prd", ""), draft.prd),
            lane_planner=own.without(lanes.REFUSED).adding(draft.chatter).to_json(),
            **tries(state, PLANNER, 0),
            **tainted(state, evidence),
        )

    def _failed(self, context: NodeContext, error: str) -> Decision:
        number = tried(context.state, _FAILURES) + 1
        own = own_lane(context.state, lanes.PLANNER, Lane()).adding(f"Planning failed: {error}")
        changes = {"lane_planner": own.to_json(), **tries(context.state, _FAILURES, number)}
        return Repeat(**changes) if number < _MOST_FAILURES else Goto(OUTPUT, None, stopped=FAILED, **changes)


def _beside_calls(evidence: Evidence) -> list[str]:
    """Return what the last planner said beside its calls of tools, without documents."""
    works = [work for work in evidence.works if work.part == PLANNER]
    entries = works[-1].entries if works else ()
    return [without_documents(entry) for entry in entries if isinstance(entry, str)]


def _told(own: Lane, shared: Lane, goal: str) -> Lane:
    """Its own history without copies of shared context or the goal's echo, then what the others have said since."""
    return own.without_echoes(goal).joined(each for each in shared.of_assistant() if each.kind)

"""The nodes `planner` and `reasoning`: a child execution writes the plan (PRD), and a model call writes the brief for
one step of the plan."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection

from arvis.domain.executions import Answer
from arvis.engine.graph import Decision, Goto, Next, NodeContext, Repeat
from arvis.engine.state import changes
from arvis.graphs.planning import prompts
from arvis.graphs.planning.documents import carry_ticks, harmless, read_brief, read_draft, without_documents
from arvis.graphs.planning.model import Adviser, Question
from arvis.graphs.planning.state import (
    BRIEF,
    FAILED,
    OUTPUT,
    PLANNER,
    REASONING,
    REFUSED,
    SKILL,
    TIME,
    TRIES,
    USER,
    Bounds,
    Evidence,
    Lane,
    PlanningState,
    call_agent,
    clipped,
    evidence_of,
    known_runs,
    readiness,
)
from arvis.messaging import messages
from arvis.ports.store import Store
from arvis.skills import Skill
from arvis.tasks.state import TaskSpec, child_end

# -- the node `reasoning` ----------------------------------------------------------------------------------------------


#: The maximum number of tokens in the reply with a brief.
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
        earlier = _earlier(own, shared, state.goal)
        question = Question(
            task=prompts.REASONING,
            goal=harmless(state.goal),
            known=prompts.joined(
                *(prompts.section(each.kind or "Earlier", each.text) for each in earlier),
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
            own = own.adding("The last reply contained no brief in its tags.").adding(harmless(reply), REFUSED)
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
                lane=shared.adding(brief, BRIEF),
                lane_reasoning=own.without(REFUSED).adding(without_documents(reply)).adding(brief, BRIEF),
                lane_action=Lane().adding(brief, role=USER),
            ),
            **state.with_tries(REASONING, 0),
            **state.with_taint(evidence),
        )


#: The planning ends after `_MOST_FAILURES` failed child executions of the planner (counted under the key `_FAILURES`).
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
        state = PlanningState.from_json(context.state)
        if self._bounds.over(state.began, context.now(), evidence.waited_ms):
            return Goto(OUTPUT, None, **changes(PlanningState, stopped=TIME))
        shared = state.shared.adding(await self._skill(state), SKILL)
        own, goal = state.lane_planner or shared.of_assistant(), state.goal
        known = prompts.joined(
            *(prompts.section(each.kind or "Earlier", each.text) for each in _earlier(own, shared, goal)),
            prompts.section("The request in the person's own words", state.request),
            prompts.section("The plan so far", state.prd),
            prompts.section("Already done (do not repeat)", known_runs(evidence.runs)),
        )
        task = TaskSpec(
            prompt=f"{harmless(goal)}\n\n{prompts.PLAN_NOW}",
            instructions=prompts.PLANNER,
            completion="implicit",
            history=(
                ("user", prompts.WHAT_IS_KNOWN),
                ("assistant", clipped(known, await self._adviser.room(context))),
            ),
            taint=evidence.taint,
        )
        return call_agent(context, PLANNER, task, changes(PlanningState, lane=shared, lane_planner=own))

    async def _skill(self, state: PlanningState) -> str:
        """Return the text of the chosen skill, or "" if no skill was chosen or it no longer exists."""
        slug = state.plan["skill"]
        chosen = [skill for skill in await self._skills() if skill.slug == slug]
        return "\n\n".join(f"Skill {skill.name}\n\n{skill.body}" for skill in chosen)

    async def _read(self, context: NodeContext, answer: Answer) -> Decision:
        """Read the plan in the child's reply. Ask again if the plan cannot be used."""
        state, end = PlanningState.from_json(context.state), child_end(answer)
        evidence = await evidence_of(self._store, context)
        if end.outcome is None:
            return self._failed(state, end.error)
        draft = read_draft(end.outcome.visible)
        own = state.lane_planner or Lane()
        if draft.flaw:
            number = state.tries.get(PLANNER, 0) + 1
            own = own.adding(f"The last plan was rejected: {draft.flaw}")
            own = own.adding(harmless(end.outcome.visible), REFUSED)
            more = changes(PlanningState, lane_planner=own) | state.with_tries(PLANNER, number)
            more |= state.with_taint(evidence)
            if number < self._bounds.plans:
                return Repeat(**more)
            return Goto(OUTPUT, None, **changes(PlanningState, stopped=TRIES), **more)
        links = await self._adviser.links(context, await self._adviser.turn(context), evidence)
        for words in dict.fromkeys(filter(None, (*_beside_calls(evidence), draft.chatter))):
            text = clipped(words if links is None else links.safe(words), _LONGEST_CHATTER)
            context.record(messages.post_progress, context.execution, text, context.now())
            context.commit_first()  # people read the text while the work continues
        return Next(
            None,
            **changes(
                PlanningState,
                prd=carry_ticks(state.prd, draft.prd),
                lane_planner=own.without(REFUSED).adding(draft.chatter),
            ),
            **state.with_tries(PLANNER, 0),
            **state.with_taint(evidence),
        )

    def _failed(self, state: PlanningState, error: str) -> Decision:
        number = state.tries.get(_FAILURES, 0) + 1
        own = (state.lane_planner or Lane()).adding(f"Planning failed: {error}")
        more = changes(PlanningState, lane_planner=own) | state.with_tries(_FAILURES, number)
        if number < _MOST_FAILURES:
            return Repeat(**more)
        return Goto(OUTPUT, None, **changes(PlanningState, stopped=FAILED), **more)


def _beside_calls(evidence: Evidence) -> list[str]:
    """Return the texts that the planner wrote together with tool calls in its last execution, without plans and
    briefs."""
    works = [work for work in evidence.works if work.part == PLANNER]
    entries = works[-1].entries if works else ()
    return [without_documents(entry) for entry in entries if isinstance(entry, str)]


def _earlier(own: Lane, shared: Lane, goal: str) -> Lane:
    """Return the messages of a node's own lane without repetitions, and then those messages of the shared lane whose
    `kind` is not empty."""
    return own.without_echoes(goal).joined(each for each in shared.of_assistant() if each.kind)

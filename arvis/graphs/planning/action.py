"""The nodes `action` and `skill_critic`: a child execution carries out the brief with tools, and a model judges the
work by the outputs of the tools."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.executions import Answer
from arvis.domain.regex import regex
from arvis.engine.graph import Decision, Goto, Next, NodeContext, Repeat
from arvis.engine.state import changes
from arvis.graphs.planning import prompts
from arvis.graphs.planning.documents import harmless, tick
from arvis.graphs.planning.model import Adviser, Question
from arvis.graphs.planning.state import (
    ACTION,
    ASSISTANT,
    BRIEF,
    EVIDENCE,
    FEEDBACK,
    LONGEST_MESSAGE,
    OUTPUT,
    ROUNDS,
    SAME_FEEDBACK,
    TIME,
    USER,
    Bounds,
    Evidence,
    Lane,
    PlanningState,
    call_agent,
    clipped,
    evidence_of,
    readiness,
)
from arvis.graphs.planning.triage import read_object
from arvis.ports.store import Store
from arvis.tasks.state import TaskSpec, WorkOutcome, WorkStatus, child_end

# -- the verdict and its consequences ----------------------------------------------------------------------------------


LONGEST_FEEDBACK = 2_000
#: The feedback if the verdict cannot be read.
UNREADABLE = "The check gave no readable verdict."
_UNSAID = "The check found the work incomplete and did not say why."
_NUMBER = regex(r"\s*(\d{1,3})\b")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a check."""

    #: True if the brief is fulfilled.
    technical: bool
    #: True if the goal is reached; only possible if `technical` is True.
    project: bool
    #: The description of the parts that are missing.
    feedback: str
    #: The numbers of the finished steps of the plan.
    completed: tuple[int, ...] = ()

    @property
    def complete(self) -> bool:
        return self.technical and self.project


def read_verdict(reply: str) -> Verdict:
    """Read the verdict of the critic. A reply without a JSON object counts as "not complete"."""
    found = read_object(reply)
    if found is None:
        return Verdict(technical=False, project=False, feedback=UNREADABLE)
    technical = found.get("technical_completed") is True
    project = technical and found.get("project_complete") is True
    said = found.get("project_feedback" if technical else "technical_feedback")
    feedback = said.strip()[:LONGEST_FEEDBACK] if isinstance(said, str) else ""
    return Verdict(
        technical=technical,
        project=project,
        feedback="" if project else feedback or _UNSAID,
        completed=_numbers(found.get("completed_steps")),
    )


def said_before(feedback: str, earlier: Collection[str]) -> bool:
    """Return True if an earlier check gave the same feedback; case, blanks and punctuation are ignored."""
    return plain(feedback) in {plain(each) for each in earlier}


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _numbers(given: Any) -> tuple[int, ...]:
    """Return the step numbers from a list. Each entry is a number, or a text that begins with a number; other entries
    are skipped."""
    if not isinstance(given, list):
        return ()
    found = [_NUMBER.match(str(each)) for each in given if not isinstance(each, bool)]
    return tuple(dict.fromkeys(int(match[1]) for match in found if match))


# -- the node `skill_critic` -------------------------------------------------------------------------------------------


#: The results of this node, by which `after_critic` chooses the next node.
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
            lane=state.shared.adding(verdict.feedback, FEEDBACK),
        )
        if stopped is not None:
            return Next(STOPPED, **changes(PlanningState, stopped=stopped), **more)
        return Next(PROJECT if verdict.technical else TECHNICAL, **more)

    def _stopped(self, state: PlanningState, verdict: Verdict, evidence: Evidence, now: int) -> str | None:
        """Return the reason to stop the incomplete work (a key of `REASONS`), or None if the work continues with the
        feedback."""
        if said_before(verdict.feedback, state.feedbacks):
            return SAME_FEEDBACK
        if state.checks + 1 >= self._bounds.rounds:
            return ROUNDS
        return TIME if self._bounds.over(state.began, now, evidence.waited_ms) else None

    def _known(self, state: PlanningState, evidence: Evidence) -> str:
        """Return the information for the critic: the shared lane, the plan, the brief, the executor's transcript and
        the executor's final statement."""
        shared = state.shared
        said = "\n\n".join(each.text for each in state.lane_action or Lane() if each.role == ASSISTANT)
        return prompts.joined(
            *(prompts.section(each.kind, each.text) for each in shared if each.kind and each.kind != BRIEF),
            prompts.section("The plan", state.prd),
            prompts.section("The brief", state.brief),
            prompts.section("Action Conversation Transcript", evidence.transcript(state.brief_number)),
            prompts.section("Final statement of the executor (a claim)", said),
        )


#: The results of this node, by which `after_action` chooses the next node.
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
        own = state.lane_action or Lane().adding(state.goal, role=USER)
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
        """Read the result of the executor and decide: a new brief, another call of the executor, or the check."""
        state, end = PlanningState.from_json(context.state), child_end(answer)
        outcome = _short(end.outcome or WorkOutcome(WorkStatus.DONE, visible=f"The executor failed: {end.error}"))
        said = outcome.result or outcome.visible or outcome.reason or outcome.report
        shared, own = state.shared, state.lane_action or Lane()
        snapshot = prompts.joined(said, outcome.requirements, readiness(evidence.runs))
        lane = shared.adding(snapshot, EVIDENCE)
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
    """Return the task of the executor: the brief. If there is no brief, return the goal and the person's own words."""
    if state.brief_number:
        return prompts.section("Brief", state.brief)
    words = "" if state.request == state.goal else state.request
    return prompts.joined(prompts.section("Task", state.goal), prompts.section("In the person's own words", words))


def _is_unfinished(outcome: WorkOutcome) -> bool:
    """Return True if the executor wants to continue, or replied without a status and without text."""
    return outcome.status is WorkStatus.CONTINUE or (outcome.status is WorkStatus.OPEN and not outcome.visible)


def _short(outcome: WorkOutcome) -> WorkOutcome:
    """Return the outcome with each text clipped to `LONGEST_MESSAGE`, because every step stores the whole state."""
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

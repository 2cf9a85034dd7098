"""The node `plan_retrieval`: how much work a request is, and what everybody who works on it is to know."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from typing import Any

from arvis.agents.agent import may_compact, outgrown
from arvis.agents.briefing import Briefing, Materials
from arvis.agents.input import sanitise
from arvis.agents.planning import lanes, prompts
from arvis.agents.planning.adviser import Adviser, Question
from arvis.agents.planning.bounds import Bounds, tried, tries
from arvis.agents.planning.desk import PLAN_RETRIEVAL
from arvis.agents.planning.documents import harmless
from arvis.agents.planning.lanes import Lane
from arvis.agents.planning.retrieval import Complexity, Retrieval, fast_path, read_retrieval
from arvis.agents.reading import unsettled
from arvis.agents.runs import is_run
from arvis.agents.standing import Standing, scopes_for
from arvis.context import Prompt
from arvis.context.cutting import fair_share
from arvis.context.files import file_text
from arvis.domain.events import StatusChanged
from arvis.domain.executions import Execution
from arvis.domain.messages import MessageStatus
from arvis.graph.context import NodeContext
from arvis.graph.decisions import Again, Decision, Goto, Next
from arvis.memory import Recall, recall, touch
from arvis.ports.store import Store, Transaction
from arvis.skills import Skill
from arvis.skills.choosing import usable

#: Tokens of the answer (seed 001).
_TOKENS = 500
_LONGEST_GOAL = 16_000
_ASK = "Judge this request now. Answer with the JSON object only."

Skills = Callable[[], Awaitable[Collection[Skill]]]


class RetrievalNode:
    """`files` is the node that reads what came with a message, `compact` the one that makes room."""

    def __init__(
        self,
        *,
        store: Store,
        adviser: Adviser,
        briefing: Briefing,
        skills: Skills,
        bounds: Bounds,
        files: str,
        compact: str,
    ) -> None:
        self._store = store
        self._adviser = adviser
        self._briefing = briefing
        self._skills = skills
        self._bounds = bounds
        self._files = files
        self._compact = compact

    async def plan_retrieval(self, context: NodeContext) -> Decision:
        standing = context.handed if isinstance(context.handed, Standing) else await self._adviser.standing(context)
        if unsettled(standing.current):
            return Goto(self._files)  # of a message that joined the turn on the way
        self._briefing.learn(standing)
        self._tell(context, standing)
        prompt = self._prompt(context, standing)
        if outgrown(standing, prompt) and may_compact(context.execution):
            return Goto(self._compact, room=prompt.room)
        skills = [skill for skill in await self._skills() if usable(skill, standing.agent.tools)]
        found = _without_model(standing, skills) or await self._judged(context, standing, skills)
        number = tried(context.state, PLAN_RETRIEVAL) + 1
        if found is None and number < self._bounds.retrievals:
            return Again(**tries(context.state, PLAN_RETRIEVAL, number), **self._begun(context))
        found = found or Retrieval("", _request_of(standing), Complexity.HIGH)
        prompt = await self._with_search(context, standing, found) or prompt
        context.record(touch, prompt.recalled, context.now())
        return Next(
            (found.complexity or Complexity.HIGH).value,
            plan=found.to_json(),
            request=_request_of(standing),
            lane=_shared(standing, prompt).to_json(),
            taint=sorted({*standing.taint, *prompt.taint}),
            prompt={"tokens": dict(prompt.layers), "left_out": prompt.left_out},
            ceiling=self._briefing.budget(standing).ceiling,
            incidents=standing.incidents[-1].id if standing.incidents else None,
            **self._begun(context),
        )

    def _tell(self, context: NodeContext, standing: Standing) -> None:
        if not is_run(context.execution) and not tried(context.state, PLAN_RETRIEVAL):
            for message in standing.current:
                context.emit(StatusChanged(message.address, message.id, MessageStatus.RUNNING))

    def _begun(self, context: NodeContext) -> dict[str, Any]:
        return {} if "began" in context.state else {"began": context.now()}

    def _prompt(self, context: NodeContext, standing: Standing) -> Prompt:
        brought = Materials(skills=(), tools=(), rounds=(), shrunk=False, now=context.now())
        return self._briefing.prompt(standing, brought)

    async def _judged(self, context: NodeContext, standing: Standing, skills: list[Skill]) -> Retrieval | None:
        """What a model says; None when that cannot be read."""
        said = lanes.seed(standing.history[-10:])
        request = _request_of(standing)
        question = Question(
            task=f"{prompts.RETRIEVAL}\n\n{prompts.manifest(skills)}",
            goal=harmless(request),
            known=prompts.section("The talk before", "\n".join(f"{each.role}: {each.text}" for each in said)),
            now=_ASK,
            most=_TOKENS,
        )
        reply = await self._adviser.ask(context, standing, question)
        return read_retrieval(reply, goal=request, skills={skill.slug for skill in skills})

    async def _with_search(self, context: NodeContext, standing: Standing, found: Retrieval) -> Prompt | None:
        """With what the model wanted to be reminded of; None when it wanted nothing."""
        if not found.memory_search:
            return None
        words = " ".join([*found.memory_search, found.goal])
        reminded = await self._store.read(_search, context.execution, standing, words, context.now())
        return self._prompt(context, replace(standing, recall=reminded))


def _without_model(standing: Standing, skills: list[Skill]) -> Retrieval | None:
    """What looks are enough for. A skill's pattern counts like its trigger words."""
    text = _request_of(standing)
    if any(message.attachments for message in standing.current):
        return None
    if any(skill.may_match(text) for skill in skills if skill.patterns):
        return None
    triggers = [word for skill in skills for word in skill.keywords]
    return fast_path(text, messages=len(standing.history) + len(standing.current), triggers=triggers)


def _request_of(standing: Standing) -> str:
    """What its messages say, and the files that came with them; what is too long together is clipped one by one."""
    words = [sanitise(message.content).text for message in standing.current]
    files = [text for message in standing.current for file in message.attachments if (text := file_text(file))]
    said = [text for text in (*words, *files) if text]
    longest = fair_share([len(text) for text in said], _LONGEST_GOAL)
    return "\n\n".join(lanes.clipped(text, longest) for text in said) or "(no text)"


def _shared(standing: Standing, prompt: Prompt) -> Lane:
    """The lane that all nodes share: the talk so far, where the work is done, what is remembered (seed 001, 4)."""
    agent, place = standing.agent, standing.conversation
    where = (
        f"{prompt.now}\nAgent: {agent.name}\nPlace: {place.address.platform} ({'direct' if place.direct else 'group'})"
    )
    tools = f"Tools: {', '.join(agent.tools) or 'none'}"
    lane = lanes.seed(standing.history).adding(f"{where}\n{tools}", lanes.ENVIRONMENT)
    return lane.adding(prompt.changing, lanes.MEMORY)


def _search(tx: Transaction, execution: Execution, standing: Standing, words: str, now: int) -> Recall:
    scopes = scopes_for(tx, execution, standing.conversation.address, standing.asker)
    others = not standing.conversation.direct
    return recall(tx, execution.state["agent"], scopes, words, now, among_others=others, asker=standing.asker)

"""The node `plan_retrieval`: it estimates the amount of work, chooses a skill, and collects the context that all nodes
share."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.events import StatusChanged
from arvis.domain.executions import Execution
from arvis.domain.messages import MessageStatus
from arvis.domain.quotations import with_quotations
from arvis.domain.regex import regex
from arvis.domain.text import storable_json
from arvis.engine.graph import Decision, Goto, Next, NodeContext, Repeat
from arvis.engine.state import changes
from arvis.graphs.agent.files import unsettled
from arvis.graphs.agent.graph import may_compact, outgrown
from arvis.graphs.agent.prompt import PromptBuilder, PromptInputs
from arvis.graphs.context import TurnContext, scopes_for
from arvis.graphs.planning import prompts
from arvis.graphs.planning.documents import harmless
from arvis.graphs.planning.model import Adviser, Question
from arvis.graphs.planning.state import ENVIRONMENT, MEMORY, PLAN_RETRIEVAL, Bounds, Lane, PlanningState, clipped, seed
from arvis.memory.recall import NOTHING_RECALLED, Recall, recall, touch, uncounted
from arvis.ports.store import Store, Transaction
from arvis.prompt import Prompt
from arvis.prompt.cleaning import sanitise
from arvis.prompt.files import file_text
from arvis.prompt.tool_rounds import fair_share
from arvis.skills import Skill, skills_of
from arvis.skills.skill import usable
from arvis.tasks.task import is_run

# The estimate for a message contains its intent, the amount of work and a skill. Small talk is recognised without a
# model.


#: Small talk is recognised without a model only in conversations of at most this many messages, and in texts of at most
#: this many characters.
FAST_MESSAGES = 10
FAST_LENGTH = 100
_SHORT_QUESTION = 50
_SHORT_YES = 30
#: Triggers of fewer than 5 letters are ignored; triggers of more than 15 letters must occur unchanged in the text. A
#: word of the text may be a part of a trigger only if it has at least 4 letters.
_LEAST_TRIGGER, _MOST_TRIGGER = 5, 15
_LEAST_WORD = 4
_LONGEST = 2_000
_MOST_SEARCHES = 8

_WORD = regex(r"\w+")
_COURTESY = regex(
    r"(?:hi|hello|hey|howdy|greetings|good (?:morning|afternoon|evening|day|night)|thanks|thank you|thx|cheers"
    r"|bye|goodbye|see you|see ya|farewell)\b",
    re.IGNORECASE,
)
_QUESTION = regex(r"(?:what|how|when|where|why)\b|(?:can|could|will|would) you\b", re.IGNORECASE)
_YES = regex(
    r"(?:ok|okay|yes|yeah|yep|no|nope|sure|got it|all ?right|fine|great|cool|perfect|understood)\b", re.IGNORECASE
)
#: Words that suggest work with tools: a model then estimates even a short text (docs/adr/0025).
_ACTION = regex(r"\b(?:check|test|status|verif|fetch|run)\w*", re.IGNORECASE)


class Complexity(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The estimate for a request."""

    intent: str
    goal: str
    #: The amount of work. None means that the model named no valid amount; Arvis then assumes `high`.
    complexity: Complexity | None
    #: The slug of the chosen skill.
    skill: str | None = None
    #: The search terms for facts.
    memory_search: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def fast_path(text: str, *, messages: int, triggers: Iterable[str]) -> Retrieval | None:
    """Return the estimate "low" for small talk, or None if a model must decide. `messages`: the number of messages in
    the conversation, including this one."""
    said = text.strip()
    if messages > FAST_MESSAGES or len(said) > FAST_LENGTH or _ACTION.search(said):
        return None
    if not _is_small_talk(said) or any(triggered(said, trigger) for trigger in triggers):
        return None
    return Retrieval("talk", said, Complexity.LOW)


def _is_small_talk(said: str) -> bool:
    if _COURTESY.match(said):
        return True
    if len(said) < _SHORT_QUESTION and (_QUESTION.match(said) or said.endswith("?")):
        return True
    return len(said) < _SHORT_YES and _YES.match(said) is not None


def triggered(text: str, trigger: str) -> bool:
    """Return True if the text may refer to a skill's trigger. A trigger of more than 15 letters must occur in the text.
    A trigger of 5 to 15 letters must be a part of a word of the text, or must contain a word of the text with at least
    4 letters. Shorter triggers never count."""
    word, lowered = trigger.casefold().strip(), text.casefold()
    if len(word) < _LEAST_TRIGGER:
        return False
    if len(word) > _MOST_TRIGGER:
        return word in lowered
    return any(word in each or (len(each) >= _LEAST_WORD and each in word) for each in _WORD.findall(lowered))


def read_retrieval(reply: str, *, goal: str, skills: Collection[str]) -> Retrieval | None:
    """Read a model's estimate. Return None if the reply contains no JSON object. `goal` replaces a missing goal; an
    unknown skill is ignored."""
    found = read_object(reply)
    if found is None:
        return None
    complexity = found.get("complexity")
    slug = found.get("selected_skill_slug")
    searches = found.get("memory_search")
    words = [str(each)[:200] for each in searches[:_MOST_SEARCHES]] if isinstance(searches, list) else []
    return Retrieval(
        intent=_text(found, "intent"),
        goal=_text(found, "goal") or goal[:_LONGEST],
        complexity=Complexity(complexity) if complexity in tuple(Complexity) else None,
        skill=slug if isinstance(slug, str) and slug in skills else None,
        memory_search=tuple(words),
    )


def read_object(reply: str) -> Mapping[str, Any] | None:
    """Return the JSON object from the first brace to the last brace of a reply, or None if that text is no JSON
    object."""
    start, end = reply.find("{"), reply.rfind("}")
    if start < 0 or end < start:
        return None
    try:
        found = storable_json(json.loads(reply[start : end + 1]))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return value.strip()[:_LONGEST] if isinstance(value, str) else ""


#: The maximum number of tokens in the model's estimate.
_TOKENS = 500
_LONGEST_GOAL = 16_000
_ASK = "Judge this request now. Answer with the JSON object only."

Skills = Callable[[], Awaitable[Collection[Skill]]]


class RetrievalNode:
    """The node `plan_retrieval`. `files`: the name of the node that reads files. `compact`: the name of the node that
    compacts the conversation."""

    def __init__(
        self,
        *,
        store: Store,
        adviser: Adviser,
        prompt_builder: PromptBuilder,
        skills: Skills,
        bounds: Bounds,
        files: str,
        compact: str,
    ) -> None:
        self._store = store
        self._adviser = adviser
        self._prompt_builder = prompt_builder
        self._skills = skills
        self._bounds = bounds
        self._files = files
        self._compact = compact

    async def plan_retrieval(self, context: NodeContext) -> Decision:
        turn = context.prefetched if isinstance(context.prefetched, TurnContext) else await self._adviser.turn(context)
        if unsettled(turn.current):
            return Goto(self._files)  # a message that joined the turn later has unread files
        state = PlanningState.from_json(context.state)
        if not is_run(context.execution) and not state.tries.get(PLAN_RETRIEVAL, 0):
            for message in turn.current:
                context.publish_now(StatusChanged(message.address, message.id, MessageStatus.RUNNING))
        limits = self._prompt_builder.limits(turn)
        brought = PromptInputs(skills=(), tools=(), rounds=(), shrunk=False, now=context.now())
        prompt = self._prompt_builder.prompt(turn, brought, limits)
        if outgrown(turn, prompt) and may_compact(context.execution):
            return Goto(self._compact, **changes(PlanningState, room=prompt.room))
        own = skills_of(turn.agent.skills, await self._skills())
        skills = [skill for skill in own if usable(skill, turn.agent.tools)]
        found = _without_model(turn, skills) or await self._judged(context, turn, skills)
        number = state.tries.get(PLAN_RETRIEVAL, 0) + 1
        if found is None and number < self._bounds.retrievals:
            return Repeat(**state.with_tries(PLAN_RETRIEVAL, number), **_begun(state, context.now()))
        found = found or Retrieval("", _request_of(turn), Complexity.HIGH)
        if found.memory_search:
            words = " ".join([*found.memory_search, found.goal])
            reminded = await self._store.read(_search, context.execution, turn, words, context.now())
            turn = replace(turn, recall=reminded)
            prompt = self._prompt_builder.prompt(turn, brought, limits)
        if used := uncounted(turn.recall, prompt.recalled, context.now()):
            context.record(touch, used, context.now())
        return Next(
            (found.complexity or Complexity.HIGH).value,
            **changes(
                PlanningState,
                plan=found.to_json(),
                request=_request_of(turn),
                lane=_shared(turn, prompt),
                taint=turn.taint | prompt.taint,
                prompt={"tokens": dict(prompt.layers), "left_out": prompt.left_out},
                ceiling=limits.budget.ceiling,
                last_incident=turn.incidents[-1].id if turn.incidents else None,
            ),
            **_begun(state, context.now()),
        )

    async def _judged(self, context: NodeContext, turn: TurnContext, skills: list[Skill]) -> Retrieval | None:
        """Ask a model for the estimate. Return None if its reply cannot be read."""
        said = seed(turn.history[-10:])
        request = _request_of(turn)
        question = Question(
            task=f"{prompts.RETRIEVAL}\n\n{prompts.manifest(skills)}",
            goal=harmless(request),
            known=prompts.section("Conversation so far", "\n".join(f"{each.role}: {each.text}" for each in said)),
            now=_ASK,
            most=_TOKENS,
        )
        reply = await self._adviser.ask(context, turn, question)
        return read_retrieval(reply, goal=request, skills={skill.slug for skill in skills})


def _begun(state: PlanningState, now: int) -> dict[str, Any]:
    return {} if state.began is not None else changes(PlanningState, began=now)


def _without_model(turn: TurnContext, skills: list[Skill]) -> Retrieval | None:
    """Return the estimate for small talk. Return None if a model must decide, for example about messages with files or
    messages that match a skill's pattern."""
    text = _request_of(turn)
    if any(message.attachments for message in turn.current):
        return None
    if any(skill.may_match(text) for skill in skills if skill.patterns):
        return None
    triggers = [word for skill in skills for word in skill.keywords]
    return fast_path(text, messages=len(turn.history) + len(turn.current), triggers=triggers)


def _request_of(turn: TurnContext) -> str:
    """Return the texts of the messages and of their files. If these texts together are too long, the longest parts are
    clipped."""
    words = [sanitise(with_quotations(message.content, message.quotations)).text for message in turn.current]
    files = [text for message in turn.current for file in message.attachments if (text := file_text(file))]
    said = [text for text in (*words, *files) if text]
    longest = fair_share([len(text) for text in said], _LONGEST_GOAL)
    return "\n\n".join(clipped(text, longest) for text in said) or "(no text)"


def _shared(turn: TurnContext, prompt: Prompt) -> Lane:
    """Return the lane that all nodes share: the conversation so far, the environment, the recalled facts."""
    agent, place = turn.agent, turn.conversation
    where = (
        f"{prompt.now}\nAgent: {agent.name}\nPlace: {place.address.platform} ({'direct' if place.direct else 'group'})"
    )
    tools = f"Tools: {', '.join(agent.tools) or 'none'}"
    lane = seed(turn.history).adding(f"{where}\n{tools}", ENVIRONMENT)
    return lane.adding(prompt.changing, MEMORY)


def _search(tx: Transaction, execution: Execution, turn: TurnContext, words: str, now: int) -> Recall:
    if not turn.conversation.remembers:
        return NOTHING_RECALLED
    scopes = scopes_for(tx, execution, turn.conversation.address, turn.asker)
    others = not turn.conversation.direct
    return recall(
        tx,
        PlanningState.from_json(execution.state).agent,
        scopes,
        words,
        now,
        among_others=others,
        asker=turn.asker,
    )

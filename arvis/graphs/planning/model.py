"""The model calls that the planning nodes make themselves, without tools. Each call is an effect: a repeated visit
reuses its result."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.effort import thinking_tokens
from arvis.domain.errors import ProviderErrorKind
from arvis.domain.outgoing import Known
from arvis.domain.outgoing_links import SafeLinks
from arvis.domain.runs import RunRequest, RunResult, Turn
from arvis.domain.taint import CLEAN
from arvis.engine.graph import NodeContext
from arvis.graphs.agent.outgoing import Guard, day_of, words_of
from arvis.graphs.agent.prompt import PromptBuilder
from arvis.graphs.agent.tools import ToolRules
from arvis.graphs.context import TurnContext, load_turn_context
from arvis.graphs.model import ModelCaller, unheard
from arvis.graphs.planning.prompts import persona
from arvis.graphs.planning.state import Evidence, PlanningState, clipped
from arvis.llm.attempts import RunFailed
from arvis.ports.store import Store
from arvis.prompt import Prompt

#: The assumed number of characters in a token. It limits the length of `Question.known` in a model call.
_CHARACTERS = 3


@dataclass(frozen=True, slots=True)
class Question:
    """The content of one model call."""

    #: The instructions of the system prompt.
    task: str
    #: The first message.
    goal: str
    #: The information for the model. The prompt presents it as an earlier reply of the model.
    known: str
    #: The final request.
    now: str
    #: The maximum number of tokens in the reply.
    most: int


class Adviser:
    def __init__(
        self, *, store: Store, caller: ModelCaller, prompt_builder: PromptBuilder, tools: ToolRules, reply_bytes: int
    ) -> None:
        self._store = store
        self._tools = tools
        self._caller = caller
        self._prompt_builder = prompt_builder
        self._reply_bytes = reply_bytes

    async def turn(self, context: NodeContext) -> TurnContext:
        return await self._store.read(load_turn_context, context.execution, context.now())

    async def room(self, context: NodeContext) -> int:
        """Return the maximum number of characters of information for a child execution. This information fills at most
        half of the child's prompt."""
        return self._prompt_builder.limits(await self.turn(context)).budget.usable * _CHARACTERS // 2

    async def links(
        self, context: NodeContext, turn: TurnContext, evidence: Evidence, prompt: Prompt | None = None, notes: str = ""
    ) -> SafeLinks | None:
        """Return the judge of the links in a text for people; None in a turn without taint. `notes` are texts of agents in
        the prompt. They quote calls that no judge has checked, so addresses in the notes do not count as written by
        others."""
        state = PlanningState.from_json(context.state)
        taint = state.taint | evidence.taint | (CLEAN if prompt is None else prompt.taint)
        if not taint:
            return None
        guard = Guard(
            rules=self._tools.outgoing,
            known=Known(words_of(turn.current), today=day_of(context.now())),
            taint=taint,
            tools=(await self._tools.registry.offer(turn.agent.tools)).tools,
            place=state.address,
            rounds=evidence.rounds,
        )
        if prompt is None:
            summaries = (each.summary for each in turn.summaries)
            said = (each.said for each in turn.history)
            return guard.links([*summaries, *said, *(each.content for each in turn.current)])
        texts = [prompt.system, prompt.changing]
        return guard.links([text.replace(notes, "") if notes else text for text in texts], prompt.turns)

    async def ask(self, context: NodeContext, turn: TurnContext, question: Question) -> str:
        """Return the model's reply, or "" if the model gave none. Other failures are raised; the queue then retries the
        node."""
        room = self._prompt_builder.limits(turn).budget.usable * _CHARACTERS - len(question.task) - len(question.goal)
        known = clipped(question.known, max(room, 1_000))
        turns = (Turn("user", question.goal), Turn("assistant", known)) if known else (Turn("user", question.goal),)
        request = self.request(
            context,
            turn,
            system=f"{persona(turn.agent)}\n\n{question.task}",
            turns=alternating(*turns, Turn("user", question.now)),
            most=question.most,
        )
        result = await self.call(context, turn, request)
        return "" if result is None else result.content

    def request(
        self,
        context: NodeContext,
        turn: TurnContext,
        *,
        system: str,
        turns: tuple[Turn, ...],
        most: int,
        changing: str = "",
        now: str = "",
    ) -> RunRequest:
        state = PlanningState.from_json(context.state)
        effort = state.wishes.get("effort") or turn.agent.effort
        return RunRequest(
            system=system,
            turns=turns,
            model=None,
            agent_name=turn.agent.name,
            max_tokens=min(most, self._prompt_builder.limits(turn).budget.reserve) + thinking_tokens(effort),
            max_bytes=self._reply_bytes,
            conversation=state.conversation,
            changing=changing,
            now=now,
            effort=effort,
        )

    async def call(
        self,
        context: NodeContext,
        turn: TurnContext,
        request: RunRequest,
        on_text: Callable[[int, str], None] = unheard,
    ) -> RunResult | None:
        """Call the agent's model. Return None if the vendor sent an empty reply."""
        agent = turn.agent
        call = partial(
            self._caller.call,
            context,
            request,
            spender=turn.spender,
            model=agent.model,
            fallbacks=agent.fallbacks,
            on_text=on_text,
        )
        try:
            answer: dict[str, Any] = await context.once("model", call)
        except RunFailed as failed:
            if failed.error.kind is ProviderErrorKind.EMPTY:
                return None
            raise
        return RunResult.from_json(answer)


def alternating(*turns: Turn) -> tuple[Turn, ...]:
    """Join neighbouring turns of the same role, because vendors require that user and assistant alternate."""
    joined: list[Turn] = []
    for turn in turns:
        if joined and joined[-1].role == turn.role:
            joined[-1] = Turn(turn.role, f"{joined[-1].content}\n\n{turn.content}")
        else:
            joined.append(turn)
    return tuple(joined)

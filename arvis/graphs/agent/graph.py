"""Graph `agent`: examine the input, read its files, prepare the prompt, call the model, make the tool calls, until
the work is done (seed 000).

The tool loop is the graph, so a crash after the fourth call of a tool repeats none of the first four. The prompt is
built again before every call, from rows that do not change while the turn holds its lane. A conversation that has
outgrown its prompt is compacted within the turn, so that no message leaves the prompt without a summary.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from arvis.domain.errors import ProviderErrorKind
from arvis.domain.events import Delta, StatusChanged
from arvis.domain.executions import Execution
from arvis.domain.messages import Address, MessageStatus, StoredMessage
from arvis.domain.runs import RunRequest, RunResult, Turn, read_in
from arvis.domain.tools import ToolSpec
from arvis.engine.graph import Decision, End, Goto, Graph, Next, NodeContext
from arvis.engine.state import changes
from arvis.graphs.agent import subagents
from arvis.graphs.agent.completion import CHECK_NEW_MESSAGES, EXPLICIT, RULES, Completion, listen
from arvis.graphs.agent.files import FileNode, FileRules, is_voice, unsettled
from arvis.graphs.agent.input import READ_FILES, InputNode, load_arrival
from arvis.graphs.agent.plugins import Brought, Extending
from arvis.graphs.agent.prompt import CallingAgent, CallLimits, PreparedCall, PromptBuilder, PromptInputs, written
from arvis.graphs.agent.steering import (
    arrived_during_turn,
    head_of_turn,
    join_newer_messages,
    note_messages,
    restart,
)
from arvis.graphs.agent.tool_protocols import ToolCalling, ToolProtocol
from arvis.graphs.agent.tools import ToolNode, ToolRules
from arvis.graphs.compaction.graph import Compactor
from arvis.graphs.compaction.scripts import COMPACTION
from arvis.graphs.context import TurnContext, load_turn_context
from arvis.graphs.model import ModelCaller, unheard
from arvis.llm import RunFailed
from arvis.llm.tokens import estimator_of
from arvis.memory import touch
from arvis.messaging import messages, notices
from arvis.messaging.notices import marked
from arvis.messaging.spoken_replies import SpokenReply
from arvis.messaging.streaming import Showing
from arvis.ports.store import Store
from arvis.ports.transcriber import Speaker
from arvis.prompt import Prompt, Round, behind, fit_rounds, taint_of_asked, turns_of
from arvis.skills import Skill
from arvis.tasks.rounds import Rounds, load_rounds
from arvis.tasks.state import AgentState, WorkState, load_pictures, pictures_of
from arvis.tasks.task import is_run

#: The node after a compaction within the turn.
PREPARE = "prepare"
#: More messages than this in a prompt start a compaction (behaviour §7).
MOST_MESSAGES = 80
#: Of a turn, besides its cycles: reading, compactions, what came meanwhile.
MOST_STEPS = 500
#: The time in the prompt is renewed after this (ms), for example after a wait for a person's answer.
_SAME_TIME_MS = 1_800_000


@dataclass(frozen=True, slots=True)
class AgentParts:
    """The parts of the graph. `compactor` leads back to `PREPARE`; `skills` returns the present skills; a reply has
    at most `reply_bytes`, and work that continues itself takes at most `loops` cycles."""

    store: Store
    caller: ModelCaller
    briefing: PromptBuilder
    skills: Callable[[], Awaitable[Collection[Skill]]]
    compactor: Compactor
    tools: ToolRules
    files: FileRules
    extending: Extending
    reply_bytes: int
    speaker: Speaker | None = None
    loops: int = 40


def agent_graph(parts: AgentParts, manner: ToolProtocol | None = None) -> Graph:
    """Return the graph that works on a turn or a run. `manner` offers the tools and reads the calls (None: the
    vendors' own protocol). The result is a `RunResult` as JSON with a `WorkOutcome` beside it, under `outcome`."""
    manner = manner or ToolCalling(registry=parts.tools.registry)
    nodes = _Nodes(parts, manner)
    return Graph(
        name=manner.graph,
        start="check_input",
        nodes={
            "check_input": InputNode(store=parts.store).examine,
            READ_FILES: FileNode(store=parts.store, rules=parts.files).read_files,
            PREPARE: nodes.prepare,
            "call_model": nodes.call_model,
            "use_tools": ToolNode(
                store=parts.store, rules=parts.tools, manner=manner, extending=parts.extending
            ).use_tools,
            CHECK_NEW_MESSAGES: listen,
            **parts.compactor.nodes,
        },
        edges={
            READ_FILES: "check_input",
            "check_input": PREPARE,
            PREPARE: "call_model",
            "call_model": "use_tools",
            "use_tools": PREPARE,
        },
        max_steps=MOST_STEPS + parts.loops * (parts.tools.rounds + 1) * 3,
        opening=load_arrival,
    )


class _Nodes:
    def __init__(self, parts: AgentParts, manner: ToolProtocol) -> None:
        self._manner = manner
        self._loops = parts.loops
        self._store = parts.store
        self._caller = parts.caller
        self._briefing = parts.briefing
        self._skills = parts.skills
        self._tools = parts.tools
        self._extending = parts.extending
        self._reply_bytes = parts.reply_bytes
        self._spoken = SpokenReply(store=parts.store, speaker=parts.speaker)

    async def prepare(self, context: NodeContext) -> Decision:
        """Build the prompt from the rows of this moment. The state keeps only the size of the prompt."""
        state, turn = AgentState.from_json(context.state), context.carried
        if not isinstance(turn, TurnContext):
            turn = await self._store.read(load_turn_context, context.execution, context.now())
        if unsettled(turn.current):
            return Goto(READ_FILES)  # a message that joined the turn has files that were not read yet
        if (joined := await join_newer_messages(self._store, context, turn.agent)) is not None:
            return joined
        arrived = arrived_during_turn(state, turn.current)
        head = head_of_turn(state, turn.current, arrived)
        if not (state.shrunk or state.rounds.count or is_run(context.execution)):
            for message in head:
                context.publish_now(StatusChanged(message.address, message.id, MessageStatus.RUNNING))

        extended = await self._extending.open(context, replace(turn, current=head))
        if isinstance(extended, End):
            return extended  # the message was a command of a plugin
        brought = await self._extending.bring(context, extended)
        inputs = await self._prompt_inputs(context, state, extended, arrived, brought)
        limits = self._briefing.limits(extended)
        prompt = self._briefing.prompt(extended, inputs, limits)
        if outgrown(extended, prompt) and may_compact(context.execution):
            return Goto("compact", **changes(AgentState, room=prompt.room))

        context.record(touch, prompt.recalled, context.now())
        call = _prepared(state, extended, prompt, limits, brought, messages=turn.current)
        return Next(
            call.to_json(),
            **changes(
                AgentState,
                prompt={"tokens": dict(prompt.layers), "left_out": prompt.left_out},
                taint=prompt.taint | taint_of_asked(turn.current),
                ceiling=limits.budget.ceiling,
                last_incident=extended.incidents[-1].id if extended.incidents else None,
                prompt_time=prompt_time(state, context.now()),
            ),
            **note_messages(state, head, arrived),
        )

    async def call_model(self, context: NodeContext) -> Decision:
        """Call the model once and stream its text. Every attempt leaves a receipt."""
        state, call = AgentState.from_json(context.state), PreparedCall.from_json(context.value)
        if call is None:
            return Goto(PREPARE)  # an earlier version of Arvis composed this prompt
        # No tools are offered when the rounds are used up, or when the model repeats the same calls.
        most_rounds = (state.run.rounds if state.run is not None else None) or self._tools.rounds
        tools_off = state.looping or state.rounds.tool_rounds >= most_rounds
        request = await self._request(context, state, call, off=tools_off)
        try:
            answer = await context.once("model", partial(self._call, context, state, call, request))
        except RunFailed as failed:
            if failed.error.kind is ProviderErrorKind.TOO_LONG and not state.shrunk:
                return Goto(PREPARE, **changes(AgentState, shrunk=True))
            raise
        answered = RunResult.from_json(answer)
        for what in answered.left_out:
            text = notices.left_out(what, model=answered.model, account=answered.account)
            context.record(messages.post_progress, context.execution, text, context.now())
        result = self._manner.read(answered if request.tools else replace(answered, calls=()))
        read = answer.get("read", read_in(request.turns))
        if result.calls and not tools_off:
            asked = state.rounds.add_tool_calls(result.content, result.calls, result.thoughts)
            return Next(None, **changes(AgentState, read=read), **asked)
        if (restarted := await restart(self._store, context, call.agent.on_new_message)) is not None:
            return restarted
        return await self._complete(
            context, call, marked(result), read, asked_for_tools=bool(result.calls or answered.calls)
        )

    async def _complete(
        self,
        context: NodeContext,
        call: PreparedCall,
        result: RunResult,
        read: Sequence[str],
        *,
        asked_for_tools: bool,
    ) -> Decision:
        """Decide what follows a reply without calls: the end of the turn, one more cycle, or a question."""
        if not result.content.strip():
            # The model called tools when it had to answer, or the tools did the work.
            notice = notices.no_answer(call.agent.name) if asked_for_tools else notices.COMPLETED
            result = replace(result, content=notice)
        files = await self._spoken.of(context, result.content) if call.voice else ()
        files = (*files, *await self._extending.read_reply(context, call.plugins, result.content))
        return Completion(context, call.agent.explicit, self._loops, read).decide(result, files)

    async def _prompt_inputs(
        self, context: NodeContext, state: AgentState, turn: TurnContext, arrived: Sequence[str], brought: Brought
    ) -> PromptInputs:
        specs = await self._specs(context, turn.agent.tools)
        used = await self._used(context, state.rounds.with_messages(arrived), group=turn.group)
        # Beside those of every agent: how replies end, how tools are called, and the run's instructions.
        rules = (
            RULES if turn.agent.completion == EXPLICIT else "",
            await self._manner.rules(turn.agent.tools),
            state.run.instructions if state.run is not None else "",
        )
        return PromptInputs(
            skills=await self._skills(),
            tools=_with_used(specs, self._manner.shown(turns_of(used))),
            rounds=used,
            rules="\n\n".join(filter(None, rules)),
            shrunk=state.shrunk,
            now=prompt_time(state, context.now()),
            extras=brought.extras,
        )

    async def _specs(self, context: NodeContext, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        return (*await self._manner.specs(names), *subagents.specs_of(context.state))

    async def _request(self, context: NodeContext, state: AgentState, call: PreparedCall, *, off: bool) -> RunRequest:
        used = await self._used(context, state.rounds, group=call.group)
        specs = await self._specs(context, call.agent.tools)
        fitted = fit_rounds(used, call.room, estimator_of(call.calibration), call.most)
        made = self._manner.shown(fitted, off=off)
        *earlier, newest = (Turn(role, text, messages=tuple(ids)) for role, text, ids in call.turns)
        newest = replace(newest, images=await load_pictures(self._store, call.pictures))
        return RunRequest(
            system=call.system,
            changing=call.changing,
            now=call.now,
            turns=behind((*earlier, newest), made),
            model=None,
            agent_name=call.agent.name,
            max_tokens=min(call.reply, state.wishes.get("max_tokens", call.reply)),
            sampling=state.wishes.get("sampling", {}),
            max_bytes=self._reply_bytes,
            tools=() if off and not made else _with_used(specs, made),
            tools_off=off,
            conversation=state.conversation,
            allow_empty=state.rounds.end_with_tools,
        )

    async def _used(self, context: NodeContext, rounds: Rounds, *, group: bool) -> list[Round]:
        """Return the finished rounds, whole."""
        if not rounds.count:
            return []
        as_written = partial(written, group=group)
        return await self._store.read(load_rounds, context.execution, rounds, self._tools.secrets.open, as_written)

    async def _call(
        self, context: NodeContext, state: AgentState, call: PreparedCall, request: RunRequest
    ) -> dict[str, Any]:
        address, audience = state.address, call.newest
        showing = Showing(send=lambda offset, text: context.publish_now(Delta(address, audience or "", offset, text)))
        try:
            answer = await self._caller.call(
                context,
                request,
                spender=call.payer,
                model=call.agent.model,
                fallbacks=call.agent.fallbacks,
                on_text=showing.add if audience is not None else unheard,
            )
            # Stored with the answer: a visit after a crash may compose another prompt.
            return {**answer, "read": read_in(request.turns)}
        finally:
            showing.close()


def _prepared(
    state: AgentState,
    turn: TurnContext,
    prompt: Prompt,
    limits: CallLimits,
    brought: Brought,
    *,
    messages: Sequence[StoredMessage],
) -> PreparedCall:
    """Return the call. `messages` are all that the turn answers, also those behind a round."""
    run, calibration = state.run, limits.calibration
    pictures = list(run.pictures) if run is not None else pictures_of(messages)
    return PreparedCall(
        agent=CallingAgent.of(turn.agent),
        system=prompt.system,
        changing=prompt.changing,
        now=prompt.now,
        turns=[[each.role, each.content, list(each.messages)] for each in prompt.turns],
        pictures=pictures[-1 if state.shrunk else 0 :],
        voice=any(is_voice(message) for message in messages),
        newest=run.audience if run is not None else prompt.read[-1],
        group=turn.group,
        reply=limits.budget.reply,
        room=prompt.rounds_room,
        most=prompt.rounds_most,
        counts=asdict(calibration) if calibration is not None else None,
        spender=asdict(turn.spender),
        plugins=brought.promise,
    )


def new_turn_state(agent_id: str, address: Address, conversation_id: str) -> dict[str, Any]:
    """The state with which a turn's execution begins: ids and the place, nothing that could grow stale."""
    return {"agent": agent_id, "address": address.to_json(), "conversation": conversation_id}


def prompt_time(state: AgentState, now: int) -> int:
    """Return the time in the prompt (ms). It stays the same for 30 minutes of a turn, because vendors cache only prompts with
    the same beginning."""
    known = state.prompt_time
    return known if known is not None and 0 <= now - known < _SAME_TIME_MS else now


def is_turn(execution: Execution) -> bool:
    """Return whether people wait for the result of this execution: children and runs answer no message of a chat."""
    in_conversation = bool(WorkState.from_json(execution.state).conversation)
    return in_conversation and execution.graph != COMPACTION and not is_run(execution)


def outgrown(turn: TurnContext, prompt: Prompt) -> bool:
    """Return whether the prompt has no room for messages that no summary replaces, or holds more than `MOST_MESSAGES`."""
    return prompt.left_out > 0 or len(turn.history) > MOST_MESSAGES


def may_compact(execution: Execution) -> bool:
    """Return whether the conversation may be compacted within this turn: at first, and again while it helps, because facts,
    skills and outputs of tools may have taken the room. The history of a run is never compacted."""
    state = WorkState.from_json(execution.state)
    if state.run is not None:
        return False
    last = state.compaction
    return last is None or (last["rounds"] > 0 and last["failed"] is None)


def _with_used(specs: Sequence[ToolSpec], turns: Sequence[Turn]) -> tuple[ToolSpec, ...]:
    """A tool that was used in this turn stays named although it is gone: vendors refuse a call of what they do not
    know."""
    used = {call.name for turn in turns for call in turn.calls} - {spec.name for spec in specs}
    gone = [ToolSpec(name, "This tool no longer exists.", {"type": "object"}) for name in sorted(used)]
    return (*specs, *gone)

"""Graph `agent`: check the input and read the files of the messages. Then prepare the prompt, call the model and make
the tool calls until the work is done.

Model calls and tool calls are separate nodes in a loop, so after a crash no finished round is repeated. The prompt is
built again before every model call from the rows of the conversation, which only this turn changes. If the conversation
does not fit into the prompt, it is compacted within the turn. So every message that leaves the prompt has a summary.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial
from typing import Any

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.effort import thinking_tokens
from arvis.domain.errors import ProviderErrorKind
from arvis.domain.events import Delta, StatusChanged
from arvis.domain.executions import Execution
from arvis.domain.knowledge import SEARCH_KNOWLEDGE
from arvis.domain.messages import Address, MessageStatus, PastMessage, StoredMessage
from arvis.domain.outgoing import Known
from arvis.domain.outgoing_links import LinkStream, SafeLinks, has_parts
from arvis.domain.runs import RunRequest, RunResult, Turn, read_in
from arvis.domain.taint import CLEAN
from arvis.domain.tools import READ_AGAIN, ToolSpec
from arvis.engine.graph import Decision, End, Goto, Graph, Next, NodeContext
from arvis.engine.state import changes
from arvis.graphs.agent import client_tools, subagents
from arvis.graphs.agent.completion import CHECK_NEW_MESSAGES, EXPLICIT, RULES, Completion, listen
from arvis.graphs.agent.files import FileNode, FileRules, is_voice, unsettled
from arvis.graphs.agent.input import READ_FILES, InputNode, load_arrival
from arvis.graphs.agent.knowledge import knowledge_rules, with_sources
from arvis.graphs.agent.outgoing import Guard, day_of, words_of
from arvis.graphs.agent.plugins import Brought, Extending
from arvis.graphs.agent.prompt import CallingAgent, CallLimits, PreparedCall, PromptBuilder, PromptInputs
from arvis.graphs.agent.reply_checks import ReplyChecks, format_of
from arvis.graphs.agent.server_models import ServerModels
from arvis.graphs.agent.steering import (
    arrived_during_turn,
    head_of_turn,
    join_newer_messages,
    note_messages,
    restart,
)
from arvis.graphs.agent.tool_protocols import ToolCalling, ToolProtocol
from arvis.graphs.agent.tools import ToolNode, ToolRules, names_for
from arvis.graphs.compaction.graph import Compactor
from arvis.graphs.compaction.scripts import COMPACTION
from arvis.graphs.context import TurnContext, asked_text, load_turn_context, load_turn_messages, recall_by_meaning
from arvis.graphs.model import ModelCaller, unheard
from arvis.llm.attempts import RunFailed
from arvis.llm.tokens import estimator_of
from arvis.memory.recall import touch, uncounted
from arvis.messaging import messages, notices
from arvis.messaging.notices import marked
from arvis.messaging.spoken_replies import SpokenReply
from arvis.messaging.streaming import Showing
from arvis.ports.embeddings import MeaningOf, no_meaning
from arvis.ports.store import Store
from arvis.ports.transcriber import Speaker
from arvis.prompt import Prompt, Round, behind, fit_rounds, taint_of_asked, turns_of
from arvis.prompt.history import line_of
from arvis.prompt.past import is_rich
from arvis.skills import Skill
from arvis.tasks.rounds import Rounds, load_rounds
from arvis.tasks.state import MOST_PICTURES, AgentState, WorkState, load_pictures, pictures_of, with_pictures
from arvis.tasks.task import is_run

#: The node that builds the prompt. The turn also continues at this node after a compaction.
PREPARE = "prepare"
#: If the history of a turn has more messages than this, the turn compacts the conversation first.
MOST_MESSAGES = 80
#: The maximum number of steps of a turn outside its cycles: reading files, compactions, messages that join the turn.
MOST_STEPS = 500
#: The age (ms) at which a turn updates the time in its prompt, for example after a wait for a person's answer.
_SAME_TIME_MS = 1_800_000


@dataclass(frozen=True, slots=True)
class AgentParts:
    """The services and limits that the graph uses."""

    store: Store
    caller: ModelCaller
    prompt_builder: PromptBuilder
    #: A function that returns the current skills.
    skills: Callable[[], Awaitable[Collection[Skill]]]
    #: The nodes for a compaction within a turn. `PREPARE` follows them.
    compactor: Compactor
    tools: ToolRules
    files: FileRules
    extending: Extending
    #: The maximum size of a reply in bytes.
    reply_bytes: int
    speaker: Speaker | None = None
    #: The maximum number of cycles in a turn.
    loops: int = 40
    #: The maximum number of times that the model continues one reply that has reached its token limit.
    continuations: int = 0
    meaning: MeaningOf = no_meaning


def agent_graph(parts: AgentParts, manner: ToolProtocol | None = None) -> Graph:
    """Return the graph for turns and runs. `manner` is the protocol that offers the tools and reads the calls (default:
    `ToolCalling`). The result of an execution is a `RunResult` as JSON, with the additional key `outcome` for a
    `WorkOutcome`."""
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
                store=parts.store,
                rules=parts.tools,
                manner=manner,
                extending=parts.extending,
                models=ServerModels(parts.store, parts.caller),
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
        self._meaning = parts.meaning
        self._store = parts.store
        self._caller = parts.caller
        self._prompt_builder = parts.prompt_builder
        self._skills = parts.skills
        self._tools = parts.tools
        self._extending = parts.extending
        self._reply_bytes = parts.reply_bytes
        self._continuations = parts.continuations
        self._spoken = SpokenReply(store=parts.store, speaker=parts.speaker)

    async def prepare(self, context: NodeContext) -> Decision:
        """Build the prompt from the current rows. The state stores the size of the prompt, not its text."""
        state, turn = AgentState.from_json(context.state), context.prefetched
        if not isinstance(turn, TurnContext):
            turn = await self._store.read(load_turn_context, context.execution, context.now())
        if unsettled(turn.current):
            return Goto(READ_FILES)  # a message that joined the turn has files that were not read yet
        if (joined := await join_newer_messages(self._store, context, turn.agent)) is not None:
            return joined
        turn = await self._with_meaning(context, turn)
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
        limits = self._prompt_builder.limits(extended)
        prompt = self._prompt_builder.prompt(extended, inputs, limits)
        if outgrown(extended, prompt) and may_compact(context.execution):
            return Goto("compact", **changes(AgentState, room=prompt.room))

        if used := uncounted(extended.recall, prompt.recalled, context.now()):
            context.record(touch, used, context.now())
        call = _prepared(
            state, extended, prompt, limits, brought, messages=turn.current, tools=_names(context, extended)
        )
        return Next(
            call,
            **changes(
                AgentState,
                prompt={"tokens": dict(prompt.layers), "left_out": prompt.left_out, **_found_facts(turn)},
                taint=prompt.taint | taint_of_asked(turn.current),
                ceiling=limits.budget.ceiling,
                last_incident=extended.incidents[-1].id if extended.incidents else None,
                prompt_time=prompt_time(state, context.now()),
            ),
            **note_messages(state, head, arrived),
        )

    async def _with_meaning(self, context: NodeContext, turn: TurnContext) -> TurnContext:
        """If a search chose the facts of the turn, repeat this search with the vector of the messages, and return the
        turn with the newly found facts. Return the turn unchanged if all known facts were recalled without a search,
        or if there is no vector."""
        meaning = await self._meaning(asked_text(turn.current)) if turn.recall.searched else None
        if meaning is None:
            return turn
        found = await self._store.read(recall_by_meaning, context.execution, turn, meaning, context.now())
        return replace(turn, recall=found)

    async def call_model(self, context: NodeContext) -> Decision:
        """Call the model and stream its text. A receipt is stored for every request to a vendor."""
        state, value = AgentState.from_json(context.state), context.value
        call = value if isinstance(value, PreparedCall) else PreparedCall.from_json(value)
        if call is None:
            return Goto(PREPARE)  # an earlier version of Arvis composed this prompt
        # The model may not call tools if the rounds are used up, or if it repeated the same calls.
        most_rounds = (state.run.rounds if state.run is not None else None) or self._tools.rounds
        tools_off = state.looping or state.rounds.tool_rounds >= most_rounds
        request = await self._request(context, state, call, off=tools_off)
        streamed = _streams(state, call, request)
        links = await self._links(context, state, call) if streamed else None
        try:
            answer = await context.once("model", partial(self._call, context, state, call, request, links))
        except RunFailed as failed:
            if failed.error.kind is ProviderErrorKind.TOO_LONG and not state.shrunk:
                return Goto(PREPARE, **changes(AgentState, shrunk=True))
            raise
        answered = RunResult.from_json(answer)
        for what in (each for each in answered.left_out if each in notices.LEFT_OUT):
            text = notices.left_out(what, model=answered.model, account=answered.account)
            context.record(messages.post_progress, context.execution, text, context.now())
        result = self._manner.read(answered if request.tools else replace(answered, calls=()))
        if links is None and has_parts(state.reply_so_far + result.content):
            links = await self._links(context, state, call)
        read = answer.get("read", read_in(request.turns))
        if result.calls and not tools_off:
            # People see this text in clients of the API, which make the calls of their own tools.
            text = result.content if links is None else links.replaced(result.content)
            asked = state.rounds.add_tool_calls(text, result.calls, result.thoughts)
            return Next(None, **changes(AgentState, read=read), **asked)
        if (restarted := await restart(self._store, context, call.agent.on_new_message)) is not None:
            return restarted
        checked = ReplyChecks(context, state, self._continuations).check(result, [*read])
        if not isinstance(checked, RunResult):
            return checked
        safe = checked if links is None else _with_safe_links(checked, links, request)
        decision = await self._complete(
            context, call, marked(safe), read, asked_for_tools=bool(result.calls or answered.calls)
        )
        if state.reply_so_far:
            # This reply contains the earlier parts, so a later reply of the turn must not begin with them.
            decision.changes = {**changes(AgentState, reply_so_far="", continued=0), **decision.changes}
        return decision

    async def _links(self, context: NodeContext, state: AgentState, call: PreparedCall) -> SafeLinks | None:
        """Return the judge of the links in the reply; None in a turn without taint."""
        if not state.taint:
            return None
        turn = await self._store.read(load_turn_messages, context.execution)
        offer = await self._manner.offer(call.agent.tools)
        rounds = await self._store.read(load_rounds, context.execution, state.rounds, self._tools.secrets.open)
        guard = Guard(
            rules=self._tools.outgoing,
            known=Known(words_of(turn.current), today=day_of(context.now())),
            taint=state.taint,
            tools=offer.tools,
            place=state.address,
            rounds=rounds,
        )
        return guard.links([call.system, call.changing], call.turns)

    async def _complete(
        self,
        context: NodeContext,
        call: PreparedCall,
        result: RunResult,
        read: Sequence[str],
        *,
        asked_for_tools: bool,
    ) -> Decision:
        """Decide after a reply without calls: end the turn, begin another cycle, or ask the person."""
        if not result.content.strip():
            # If `asked_for_tools` is True, the model called tools instead of answering. If it is False, tools did the
            # work and no text is needed.
            notice = notices.no_answer(call.agent.name) if asked_for_tools else notices.COMPLETED
            result = replace(result, content=notice)
        files = await self._spoken.of(context, result.content) if call.voice else ()
        files = (*files, *await self._extending.read_reply(context, call.plugins, result.content))
        state, taint = AgentState.from_json(context.state), CLEAN
        if not call.agent.explicit and format_of(state) is None and SEARCH_KNOWLEDGE in call.agent.tools:
            result, taint = await with_sources(self._store, context, result)
        decision = Completion(context, call.agent.explicit, self._loops, read).decide(result, files)
        if not taint <= state.taint:
            decision.changes = {**decision.changes, **changes(AgentState, taint=state.taint | taint)}
        return decision

    async def _prompt_inputs(
        self, context: NodeContext, state: AgentState, turn: TurnContext, arrived: Sequence[str], brought: Brought
    ) -> PromptInputs:
        names = _names(context, turn)
        specs = await self._specs(context, names)
        used = await self._used(context, state.rounds.with_messages(arrived), group=turn.group)
        earlier = names_of(turn.history) if specs else frozenset()
        # These rules follow the rules for all agents. They are about the end of replies and about tool calls. A run
        # adds its instructions.
        rules = (
            RULES if turn.agent.completion == EXPLICIT else "",
            await self._manner.rules(names),
            await knowledge_rules(self._store, turn.agent) if SEARCH_KNOWLEDGE in names else "",
            state.run.instructions if state.run is not None else "",
        )
        return PromptInputs(
            skills=await self._skills(),
            tools=with_used(specs, self._manner.shown(turns_of(used)), earlier),
            rounds=used,
            rules="\n\n".join(filter(None, rules)),
            shrunk=state.shrunk,
            now=prompt_time(state, context.now()),
            reads=READ_AGAIN in names,
            extras=brought.extras,
        )

    async def _specs(self, context: NodeContext, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        own = client_tools.specs_of(context.state)
        taken = {spec.name for spec in own}
        others = (*await self._manner.specs(names), *subagents.specs_of(context.state))
        return (*(spec for spec in others if spec.name not in taken), *own) if own else others

    async def _request(self, context: NodeContext, state: AgentState, call: PreparedCall, *, off: bool) -> RunRequest:
        used = await self._used(context, state.rounds, group=call.group)
        specs = await self._specs(context, call.agent.tools)
        fitted = fit_rounds(used, call.room, estimator_of(call.calibration), call.most)
        made = self._manner.shown(fitted, off=off)
        *earlier, newest = await with_pictures(self._store, call.turns)
        if call.pictures:
            # The person did not send the pictures of tools, so Arvis sends no notice to the person about these
            # pictures.
            shown = [each for each in call.pictures if each in state.again]
            given = [each for each in call.pictures if each not in state.again]
            pictures = await load_pictures(self._store, shown, past=True)
            pictures += await load_pictures(self._store, given)
            newest = replace(newest, images=(*newest.images, *pictures))
        turns = behind((*earlier, newest), made)
        effort = state.wishes.get("effort") or call.agent.effort
        most, wanted = call.reply + thinking_tokens(effort), format_of(state)
        return RunRequest(
            system=call.system,
            changing="\n\n".join(filter(None, [call.changing, wanted.instructions if wanted else ""])),
            now=call.now,
            turns=turns,
            model=None,
            agent_name=call.agent.name,
            max_tokens=min(most, state.wishes.get("max_tokens", most)),
            sampling=state.wishes.get("sampling", {}),
            max_bytes=self._reply_bytes,
            tools=() if off and not any(turn.calls for turn in turns) else with_used(specs, turns),
            tools_off=off,
            conversation=state.conversation,
            allow_empty=state.rounds.end_with_tools,
            effort=effort,
            format=wanted,
        )

    async def _used(self, context: NodeContext, rounds: Rounds, *, group: bool) -> list[Round]:
        """Return the finished rounds with their full outputs. If `group` is True, the name of a message's author
        precedes the message."""
        if not rounds.count:
            return []

        def as_written(message: StoredMessage) -> str:
            return line_of(message, group=group).text

        return await self._store.read(load_rounds, context.execution, rounds, self._tools.secrets.open, as_written)

    async def _call(
        self, context: NodeContext, state: AgentState, call: PreparedCall, request: RunRequest, links: SafeLinks | None
    ) -> dict[str, Any]:
        address, audience = state.address, call.newest if _streams(state, call, request) else None

        begun = len(state.reply_so_far)

        def send(offset: int, text: str) -> None:
            context.publish_now(Delta(address, audience or "", begun + offset, text))

        stream = LinkStream(links=links, send=send) if links is not None else None
        showing = Showing(send=send if stream is None else stream.add)
        try:
            answer = await self._caller.call(
                context,
                request,
                spender=call.spender,
                model=call.agent.model,
                fallbacks=call.agent.fallbacks,
                on_text=showing.add if audience is not None else unheard,
            )
            # `read` is stored with the answer, because a visit after a crash may compose another prompt.
            return {**answer, "read": read_in(request.turns)}
        finally:
            showing.close()
            if stream is not None:
                stream.close()


def _streams(state: AgentState, call: PreparedCall, request: RunRequest) -> bool:
    """Return True if people see the reply while the model writes it. They do not see a reply in a requested format
    early, because it is checked first and may be replaced. They do not see a continued reply of a tainted turn early
    either, because an address may be split between two parts."""
    return call.newest is not None and request.format is None and not (state.reply_so_far and state.taint)


def _with_safe_links(result: RunResult, links: SafeLinks, request: RunRequest) -> RunResult:
    """Return the reply with harmless links only. A reply in a requested format gets no note about removed links,
    because the note would make the format invalid."""
    harmless = links.safe if request.format is None else links.replaced_in_json
    return replace(result, content=harmless(result.content))


def _prepared(
    state: AgentState,
    turn: TurnContext,
    prompt: Prompt,
    limits: CallLimits,
    brought: Brought,
    *,
    messages: Sequence[StoredMessage],
    tools: Sequence[str],
) -> PreparedCall:
    """Return the call. `messages` are all messages that the turn answers, including those that follow a round in the
    prompt. `tools` are the names of the offered tools."""
    run = state.run
    given = list(run.pictures) if run is not None else pictures_of(messages)
    pictures = [*state.again, *given][-MOST_PICTURES:]
    return PreparedCall(
        agent=CallingAgent.of(replace(turn.agent, tools=tuple(tools))),
        system=prompt.system,
        changing=prompt.changing,
        now=prompt.now,
        turns=prompt.turns,
        pictures=pictures[-1 if state.shrunk else 0 :],
        voice=any(is_voice(message) for message in messages),
        newest=run.audience if run is not None else prompt.read[-1],
        group=turn.group,
        reply=limits.budget.reply,
        room=prompt.rounds_room,
        most=prompt.rounds_most,
        calibration=limits.calibration,
        spender=turn.spender,
        plugins=brought.promise,
    )


def new_turn_state(agent_id: str, address: Address, conversation_id: str) -> dict[str, Any]:
    """Return the first state of a turn's execution. It contains only ids and the address, which cannot become
    outdated."""
    return {"agent": agent_id, "address": address.to_json(), "conversation": conversation_id}


def prompt_time(state: AgentState, now: int) -> int:
    """Return the time (ms) that the prompt shows. A turn shows the same time for 30 minutes, because vendors cache a
    prompt only if it begins with the same text as an earlier prompt."""
    known = state.prompt_time
    return known if known is not None and 0 <= now - known < _SAME_TIME_MS else now


def is_turn(execution: Execution) -> bool:
    """Return True if the execution is a turn, so that people wait for its result. Runs, children and compactions are
    not turns."""
    in_conversation = bool(WorkState.from_json(execution.state).conversation)
    return in_conversation and execution.graph != COMPACTION and not is_run(execution)


def outgrown(turn: TurnContext, prompt: Prompt) -> bool:
    """Return True if messages without a summary did not fit into the prompt, or if the history has more than
    `MOST_MESSAGES` messages."""
    return prompt.left_out > 0 or len(turn.history) > MOST_MESSAGES


def may_compact(execution: Execution) -> bool:
    """Return True if this turn may compact the conversation. It may do so once, and again after each compaction that
    succeeded and replaced messages. A run never compacts, because its history is not the conversation."""
    state = WorkState.from_json(execution.state)
    if state.run is not None:
        return False
    last = state.compaction
    return last is None or (last["rounds"] > 0 and last["failed"] is None)


def _names(context: NodeContext, turn: TurnContext) -> Sequence[str]:
    """Return the names of the tools to offer. The tool `READ_AGAIN` is left out if the conversation has no earlier
    results or files."""
    if not turn.agent.tools and not turn.agent.skills and not turn.agent.knowledge:
        return ()
    names = names_for(turn.agent, context.execution)
    known = any(is_rich(message) for message in turn.history) or any(each.sources for each in turn.summaries)
    return names if known else [name for name in names if name != READ_AGAIN]


def names_of(history: Sequence[PastMessage]) -> frozenset[str]:
    """Return the names of the tools that were called in earlier turns."""
    return frozenset(call.name for message in history for each in message.rounds for call in each.calls)


def with_used(specs: Sequence[ToolSpec], turns: Sequence[Turn], names: Collection[str] = ()) -> tuple[ToolSpec, ...]:
    """Return the tools, and a placeholder for each tool that no longer exists but is one of `names` or was called in
    `turns`. Vendors reject a request that contains calls of unknown tools."""
    used = {call.name for turn in turns for call in turn.calls}.union(names) - {spec.name for spec in specs}
    gone = [ToolSpec(name, "This tool no longer exists.", {"type": "object"}) for name in sorted(used)]
    return (*specs, *gone)


def _found_facts(turn: TurnContext) -> dict[str, Any]:
    """Return the recalled facts that a search has found, best first, for the timeline of the message."""
    found = [
        {
            "fact": hit.fact.id,
            "number": hit.fact.number,
            "score": round(hit.score, 4),
            "place": hit.place,
            "similarity": None if hit.similarity is None else round(hit.similarity, 3),
        }
        for hit in turn.recall.found
    ]
    return {"recalled": found} if found else {}

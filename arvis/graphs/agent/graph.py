"""Graph `agent`: look at what came in, read its files, prepare the prompt, call the model, use the tools that it asks
for, until it is done (seed 000).

Because the tool loop is the graph, a crash after the fourth call of a tool pays for none of the first four again. The
prompt is built anew before every call, from rows that do not change while the turn holds its lane. A conversation that
has outgrown its prompt is compacted on the way, so that nothing leaves the prompt that no summary stands for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from arvis.conversations import estimator_of
from arvis.domain.agents import Agent
from arvis.domain.errors import ProviderErrorKind
from arvis.domain.events import Delta, StatusChanged
from arvis.domain.executions import Execution
from arvis.domain.messages import Address, MessageStatus
from arvis.domain.money import Spender
from arvis.domain.runs import RunRequest, RunResult, Turn, read_in
from arvis.domain.tools import ToolSpec
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, End, Goto, Graph, Next
from arvis.graphs.agent import subagents
from arvis.graphs.agent.completion import CHECK_NEW_MESSAGES, EXPLICIT, RULES, Completion, listen
from arvis.graphs.agent.files import FileNode, FileRules, is_voice, unsettled
from arvis.graphs.agent.input import READ_FILES, InputNode, load_arrival
from arvis.graphs.agent.plugins import Brought, Extending
from arvis.graphs.agent.prompt import PromptBuilder, PromptInputs, written
from arvis.graphs.agent.steering import came_meanwhile, heard_by, heard_with, newcomers, noted, restart, way_of
from arvis.graphs.agent.tool_protocols import ToolCalling, ToolProtocol
from arvis.graphs.agent.tools import ToolNode, ToolRules
from arvis.graphs.compaction.graph import Compactor
from arvis.graphs.compaction.scripts import COMPACTION
from arvis.graphs.context import TurnContext, load_turn_context
from arvis.graphs.model import ModelCaller, unheard
from arvis.llm import RunFailed
from arvis.memory import touch
from arvis.messaging import messages, notices
from arvis.messaging.notices import marked
from arvis.messaging.spoken_replies import SpokenReply
from arvis.messaging.streaming import Showing
from arvis.ports.compactions import Calibration
from arvis.ports.store import Store
from arvis.ports.transcriber import Speaker
from arvis.prompt import Prompt, Round, behind, fit_rounds, taint_of_asked, turns_of
from arvis.skills import Skill
from arvis.tasks import rounds
from arvis.tasks.attachments import load_pictures, pictures_of
from arvis.tasks.task import RUN, is_run

#: Where a turn goes on when its conversation was compacted.
PREPARE = "prepare"
#: More messages than this in a prompt start a compaction (behaviour §7).
MOST_MESSAGES = 80
#: Of a turn, besides its cycles: reading, compactions, what came meanwhile.
MOST_STEPS = 500
#: The model is told the time anew after so long (ms), as when a person's answer was waited for.
_TOLD_MS = 1_800_000


@dataclass(frozen=True, slots=True)
class AgentParts:
    """What the graph is made of. `compactor` leads back to `PREPARE`; `skills` gives those of this moment; a reply has
    `reply_bytes` at most, and work that says that it goes on takes `loops` cycles at most."""

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
    """The graph that works on a turn or a run, by the `manner` in which tools are asked for (None: the vendors' own). Its
    result is a `RunResult` as JSON with a `WorkOutcome` beside it, under `outcome`."""
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
        """Build the prompt from what is true now; only its measures are kept."""
        turn = context.handed
        if not isinstance(turn, TurnContext):
            turn = await self._store.read(load_turn_context, context.execution, context.now())
        if unsettled(turn.current):
            return Goto(READ_FILES)  # of a message that joined the turn on the way
        if (taken := await newcomers(self._store, context, turn.agent)) is not None:
            return taken
        self._briefing.learn(turn)
        state, came = context.state, came_meanwhile(context.state, turn.current)
        everything, heard = turn.current, heard_by(state, came)
        turn = replace(turn, current=[each for each in everything if each.id not in heard])
        if not state.get("shrunk") and not rounds.count(state) and not is_run(context.execution):
            for message in turn.current:
                context.emit(StatusChanged(message.address, message.id, MessageStatus.RUNNING))
        opened = await self._extending.open(context, turn)
        if isinstance(opened, End):
            return opened  # it was a command of a plugin
        turn, brought = opened, await self._extending.bring(context, opened)
        prompt = self._briefing.prompt(turn, await self._materials(context, turn, came, brought))
        if outgrown(turn, prompt) and may_compact(context.execution):
            return Goto("compact", room=prompt.room)
        context.record(touch, prompt.recalled, context.now())
        taint = sorted(prompt.taint | taint_of_asked(everything))
        ceiling = self._briefing.budget(turn).ceiling
        errand = state.get(RUN)
        asked = self._asked(
            turn,
            prompt,
            audience=errand["audience"] if errand else prompt.read[-1],
            pictures=errand.get("pictures", []) if errand else pictures_of(everything),
            voice=any(is_voice(message) for message in everything),
            shrunk=bool(state.get("shrunk")),
        )
        if brought.promise is not None:
            asked["plugins"] = brought.promise
        told = turn.incidents[-1].id if turn.incidents else None
        return Next(
            asked,
            prompt=_measures(prompt),
            taint=taint,
            ceiling=ceiling,
            incidents=told,
            told_at=told_at(context),
            **noted(state, turn.current, came),
        )

    async def call_model(self, context: NodeContext) -> Decision:
        """One model call, streamed to whoever listens; every try leaves its receipt."""
        asked: Mapping[str, Any] = context.value
        if "most" not in asked:
            return Goto(PREPARE)  # an earlier version of Arvis composed this prompt
        number = rounds.count(context.state)
        most = context.state.get(RUN, {}).get("rounds") or self._tools.rounds
        off = rounds.in_cycle(context.state) >= most or bool(context.state.get("looping"))
        request = await self._request(context, off=off)
        try:
            answer = await context.once("model", partial(self._call, context, request))
        except RunFailed as failed:
            if failed.error.kind is ProviderErrorKind.TOO_LONG and not context.state.get("shrunk"):
                return Goto(PREPARE, shrunk=True)
            raise
        result = RunResult.from_json(answer)
        self._remark(context, result)
        called = bool(result.calls)
        result = self._manner.read(result if request.tools else replace(result, calls=()))
        read = answer.get("read", read_in(request.turns))
        asks = bool(result.calls)
        if asks and not off:
            return Next(None, read=read, **rounds.asked(number + 1, result.content, result.calls, result.thoughts))
        if (taken := await restart(self._store, context, asked["agent"]["on_new_message"])) is not None:
            return taken
        result = marked(result)
        if not result.content.strip():
            result = replace(result, content=_without_words(asked["agent"]["name"], asked_for_tools=asks or called))
        files = await self._spoken.of(context, result.content) if asked.get("voice") else ()
        files = (*files, *await self._extending.heard(context, asked.get("plugins"), result.content))
        return Completion(context, asked["agent"]["explicit"], self._loops, read).decide(result, files)

    def _remark(self, context: NodeContext, result: RunResult) -> None:
        """People hear what the model was not given, each thing once."""
        for what in result.left_out:
            text = notices.left_out(what, model=result.model, account=result.account)
            context.record(messages.progress, context.execution, text, context.now())

    async def _materials(
        self, context: NodeContext, turn: TurnContext, came: Sequence[str], brought: Brought
    ) -> PromptInputs:
        specs = await self._specs(context, turn.agent.tools)
        used = await self._used(context, came, group=self._briefing.in_group(turn))
        return PromptInputs(
            skills=await self._skills(),
            tools=_with_used(specs, self._manner.shown(turns_of(used))),
            rounds=used,
            rules=await self._rules(context, turn.agent),
            shrunk=bool(context.state.get("shrunk")),
            now=told_at(context),
            extras=brought.extras,
        )

    async def _specs(self, context: NodeContext, names: Sequence[str]) -> tuple[ToolSpec, ...]:
        return (*await self._manner.specs(names), *subagents.specs_of(context.state))

    async def _rules(self, context: NodeContext, agent: Agent) -> str:
        """What it is told beside the rules of every agent: how to end, how to ask for tools, what its errand is."""
        ending = RULES if agent.completion == EXPLICIT else ""
        errand = context.state.get(RUN, {}).get("instructions", "")
        return "\n\n".join(filter(None, [ending, await self._manner.rules(agent.tools), errand]))

    async def _request(self, context: NodeContext, *, off: bool) -> RunRequest:
        asked: Mapping[str, Any] = context.value
        used = await self._used(context, group=asked["group"])
        specs = await self._specs(context, asked["agent"]["tools"])
        fitted = fit_rounds(used, asked["room"], estimator_of(_calibration(asked["counts"])), asked["most"])
        made = self._manner.shown(fitted, off=off)
        *earlier, newest = (Turn(role, text, messages=tuple(ids)) for role, text, ids in asked["turns"])
        wishes: Mapping[str, Any] = context.state.get("wishes", {})
        newest = replace(newest, images=await load_pictures(self._store, asked.get("pictures", ())))
        return RunRequest(
            system=asked["system"],
            changing=asked["changing"],
            now=asked["now"],
            turns=behind((*earlier, newest), made),
            model=None,
            agent_name=asked["agent"]["name"],
            max_tokens=min(asked["reply"], wishes.get("max_tokens", asked["reply"])),
            sampling=wishes.get("sampling", {}),
            max_bytes=self._reply_bytes,
            tools=() if off and not made else _with_used(specs, made),
            tools_off=off,
            conversation=context.state["conversation"],
            allow_empty=rounds.ends_with_tools(context.state),
        )

    async def _used(self, context: NodeContext, came: Sequence[str] = (), *, group: bool) -> list[Round]:
        """The rounds so far, whole; messages that `came` stand behind the last one."""
        if not (number := rounds.count(context.state)):
            return []
        execution = context.execution
        if came:
            execution = replace(execution, state={**context.state, **heard_with(context.state, number, came)})
        as_written = partial(written, group=group)
        return await self._store.read(rounds.load_rounds, execution, self._tools.secrets.open, as_written)

    async def _call(self, context: NodeContext, request: RunRequest) -> dict[str, Any]:
        asked: Mapping[str, Any] = context.value
        address = Address.from_json(context.state["address"])
        audience = asked["newest"]
        showing = Showing(send=lambda offset, text: context.emit(Delta(address, audience, offset, text)))
        agent = asked["agent"]
        try:
            answer = await self._caller.call(
                context,
                request,
                spender=Spender(**asked["spender"]),
                model=agent["model"],
                fallbacks=agent["fallbacks"],
                on_text=showing.add if audience is not None else unheard,
            )
            # Kept with the answer: what was really asked, whatever a visit after a crash would compose.
            return {**answer, "read": read_in(request.turns)}
        finally:
            showing.close()

    def _asked(
        self,
        turn: TurnContext,
        prompt: Prompt,
        *,
        audience: str | None,
        pictures: list[list[str]],
        voice: bool,
        shrunk: bool,
    ) -> dict[str, Any]:
        """What the call needs: it may be made again after a crash, and asks for the same then."""
        agent, budget, counts = turn.agent, self._briefing.budget(turn), self._briefing.calibration(turn)
        return {
            "agent": {
                "name": agent.name,
                "explicit": agent.completion == EXPLICIT,
                "on_new_message": way_of(agent),
                "model": agent.model,
                "fallbacks": list(agent.fallbacks),
                "tools": list(agent.tools),
            },
            "system": prompt.system,
            "changing": prompt.changing,
            "now": prompt.now,
            "turns": [[each.role, each.content, list(each.messages)] for each in prompt.turns],
            "pictures": pictures[-1 if shrunk else 0 :],
            "voice": voice,
            "newest": audience,
            "group": self._briefing.in_group(turn),
            "reply": budget.reply,
            "room": prompt.rounds_room,
            "most": prompt.rounds_most,
            "counts": asdict(counts) if counts is not None else None,
            "spender": asdict(turn.spender),
        }


def new_turn_state(agent_id: str, address: Address, conversation_id: str) -> dict[str, Any]:
    """The state with which a turn's execution begins: ids and the place, nothing that could grow stale."""
    return {"agent": agent_id, "address": address.to_json(), "conversation": conversation_id}


def told_at(context: NodeContext) -> int:
    """The time that the model is told, in ms: the same in all rounds of a turn, for vendors keep only a beginning that is
    the same; a new one when that has lasted."""
    now, told = context.now(), context.state.get("told_at")
    return told if told is not None and 0 <= now - told < _TOLD_MS else now


def is_turn(execution: Execution) -> bool:
    """Whether people wait for what this execution says; children and runs answer nobody in a chat."""
    return "conversation" in execution.state and execution.graph != COMPACTION and not is_run(execution)


def outgrown(turn: TurnContext, prompt: Prompt) -> bool:
    """Whether the prompt has no room for messages that no summary stands for, or holds too many."""
    return prompt.left_out > 0 or len(turn.history) > MOST_MESSAGES


def may_compact(execution: Execution) -> bool:
    """Once more where the last time helped: facts, skills and outputs of tools may have taken the room since. What a run was
    given of a talk is nobody's to sum up."""
    if is_run(execution):
        return False
    came = execution.state.get("compaction")
    return came is None or (came["rounds"] > 0 and came["failed"] is None)


def _without_words(agent: str, *, asked_for_tools: bool) -> str:
    """In the place of a reply that holds no words: it asked for tools when it had to answer, or tools have done the work."""
    return notices.no_answer(agent) if asked_for_tools else notices.COMPLETED


def _with_used(specs: Sequence[ToolSpec], turns: Sequence[Turn]) -> tuple[ToolSpec, ...]:
    """A tool that was used in this turn stays named although it is gone: vendors refuse a call of what they do not
    know."""
    used = {call.name for turn in turns for call in turn.calls} - {spec.name for spec in specs}
    gone = [ToolSpec(name, "This tool is not there any more.", {"type": "object"}) for name in sorted(used)]
    return (*specs, *gone)


def _calibration(kept: Mapping[str, Any] | None) -> Calibration | None:
    return None if kept is None else Calibration(**{**kept, "weights": tuple(kept["weights"])})


def _measures(prompt: Prompt) -> dict[str, Any]:
    return {"tokens": dict(prompt.layers), "left_out": prompt.left_out}

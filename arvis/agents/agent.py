"""Graph `agent`: look at what came in, read its files, prepare the prompt, call the model, use the tools that it asks
for, until it answers.

Because the tool loop is the graph, a crash after the fourth call of a tool pays for none of the first four again. The
prompt is built anew before every call, from rows that do not change while the turn holds its lane. A conversation that
has outgrown its prompt is compacted on the way, so that nothing leaves the prompt that no summary stands for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from arvis.agents import notices, rounds
from arvis.agents.briefing import Briefing, Materials
from arvis.agents.compacting_rows import COMPACTION
from arvis.agents.compaction import Compactor
from arvis.agents.examination import READ_FILES, InputNode, load_arrival
from arvis.agents.model_call import ModelCaller
from arvis.agents.outgoing import with_files
from arvis.agents.pictures import load_pictures, pictures_of
from arvis.agents.reading import FileNode, FileRules, is_voice, unsettled
from arvis.agents.spoken import SpokenReply
from arvis.agents.standing import Standing, load_standing
from arvis.agents.streaming import Showing
from arvis.agents.tool_node import ToolNode, ToolRules
from arvis.context import Prompt, fit_rounds
from arvis.conversations import estimator_of
from arvis.domain.errors import ProviderErrorKind
from arvis.domain.events import Delta, StatusChanged
from arvis.domain.executions import Execution
from arvis.domain.messages import Address, MessageStatus
from arvis.domain.money import Spender
from arvis.domain.runs import RunRequest, RunResult, Turn
from arvis.domain.tools import ToolSpec
from arvis.graph.context import NodeContext
from arvis.graph.decisions import Decision, End, Goto, Graph, Next
from arvis.memory import touch
from arvis.ports.compactions import Calibration
from arvis.ports.store import Store
from arvis.ports.transcriber import Speaker
from arvis.runner import RunFailed
from arvis.skills import Skill

#: Where a turn goes on when its conversation was compacted.
PREPARE = "prepare"
#: More messages than this in a prompt start a compaction (behaviour §7).
MOST_MESSAGES = 80


@dataclass(frozen=True, slots=True)
class AgentParts:
    """What the graph is made of. `compactor` leads back to `PREPARE`; `skills` gives those of this moment; a reply has
    `reply_bytes` at most."""

    store: Store
    caller: ModelCaller
    briefing: Briefing
    skills: Callable[[], Awaitable[Collection[Skill]]]
    compactor: Compactor
    tools: ToolRules
    files: FileRules
    reply_bytes: int
    speaker: Speaker | None = None


def agent_graph(parts: AgentParts) -> Graph:
    """The graph that answers a turn. Its result is a `RunResult` as JSON."""
    nodes = _Nodes(parts)
    return Graph(
        name="agent",
        start="examine",
        nodes={
            "examine": InputNode(store=parts.store).examine,
            READ_FILES: FileNode(store=parts.store, rules=parts.files).read_files,
            PREPARE: nodes.prepare,
            "call_model": nodes.call_model,
            "use_tools": ToolNode(store=parts.store, rules=parts.tools).use_tools,
            **parts.compactor.nodes,
        },
        edges={
            READ_FILES: "examine",
            "examine": PREPARE,
            PREPARE: "call_model",
            "call_model": "use_tools",
            "use_tools": PREPARE,
        },
        opening=load_arrival,
    )


class _Nodes:
    def __init__(self, parts: AgentParts) -> None:
        self._store = parts.store
        self._caller = parts.caller
        self._briefing = parts.briefing
        self._skills = parts.skills
        self._tools = parts.tools
        self._reply_bytes = parts.reply_bytes
        self._spoken = SpokenReply(store=parts.store, speaker=parts.speaker)

    async def prepare(self, context: NodeContext) -> Decision:
        """Build the prompt from what is true now; only its measures are kept."""
        turn = context.handed
        if not isinstance(turn, Standing):
            turn = await self._store.read(load_standing, context.execution, context.now())
        if unsettled(turn.current):
            return Goto(READ_FILES)  # of a message that joined the turn on the way
        self._briefing.learn(turn)
        state = context.state
        if not state.get("shrunk") and not rounds.count(state):
            for message in turn.current:
                context.emit(StatusChanged(message.address, message.id, MessageStatus.RUNNING))
        prompt = self._briefing.prompt(turn, await self._materials(context, turn))
        if _outgrown(turn, prompt) and _may_compact(state):
            return Goto("compact", room=prompt.room)
        context.record(touch, prompt.recalled, context.now())
        taint = sorted(prompt.taint)
        ceiling = self._briefing.budget(turn).ceiling
        asked = self._asked(turn, prompt, shrunk=bool(state.get("shrunk")))
        told = turn.incidents[-1].id if turn.incidents else None
        return Next(asked, prompt=_measures(prompt), taint=taint, ceiling=ceiling, incidents=told)

    async def call_model(self, context: NodeContext) -> Decision:
        """One model call, streamed to whoever listens; every try leaves its receipt."""
        asked: Mapping[str, Any] = context.value
        number = rounds.count(context.state)
        off = number >= self._tools.rounds or bool(context.state.get("looping"))
        request = await self._request(context, off=off)
        try:
            answer = await context.once("model", partial(self._call, context, request))
        except RunFailed as failed:
            if failed.error.kind is ProviderErrorKind.TOO_LONG and not context.state.get("shrunk"):
                return Goto(PREPARE, shrunk=True)
            raise
        result = RunResult.from_json(answer)
        if result.calls and request.tools and not off:
            return Next(None, **rounds.asked(number + 1, result.content, result.calls))
        if not result.content.strip():
            result = replace(result, content=notices.no_answer(asked["agent"]["name"]))
        files = await self._spoken.of(context, result.content) if asked.get("voice") else ()
        return End(replace(result, calls=()).to_json(), **with_files(context.state, files))

    async def _materials(self, context: NodeContext, turn: Standing) -> Materials:
        offer = await self._tools.registry.offer(turn.agent.tools)
        used = await self._used(context)
        return Materials(
            skills=await self._skills(),
            tools=_with_used(offer.specs, used),
            rounds=used,
            shrunk=bool(context.state.get("shrunk")),
            now=context.now(),
        )

    async def _request(self, context: NodeContext, *, off: bool) -> RunRequest:
        asked: Mapping[str, Any] = context.value
        used = await self._used(context)
        specs = (await self._tools.registry.offer(asked["agent"]["tools"])).specs
        behind = fit_rounds(used, asked["room"], estimator_of(_calibration(asked["counts"])))
        *earlier, newest = (Turn(role, content) for role, content in asked["turns"])
        newest = replace(newest, images=await load_pictures(self._store, asked.get("pictures", ())))
        return RunRequest(
            system=asked["system"],
            changing=asked["changing"],
            now=asked["now"],
            turns=(*earlier, newest, *behind),
            model=None,
            agent_name=asked["agent"]["name"],
            max_tokens=asked["reply"],
            max_bytes=self._reply_bytes,
            tools=() if off and not behind else _with_used(specs, behind),
            tools_off=off,
            conversation=context.state["conversation"],
        )

    async def _used(self, context: NodeContext) -> tuple[Turn, ...]:
        """The rounds of tools so far, whole."""
        if not rounds.count(context.state):
            return ()
        found = await self._store.read(rounds.load_rounds, context.execution, self._tools.secrets.open)
        return rounds.turns_of(found)

    async def _call(self, context: NodeContext, request: RunRequest) -> dict[str, Any]:
        asked: Mapping[str, Any] = context.value
        address = Address.from_json(context.state["address"])
        showing = Showing(send=lambda offset, text: context.emit(Delta(address, asked["newest"], offset, text)))
        agent = asked["agent"]
        try:
            return await self._caller.call(
                context,
                request,
                spender=Spender(**asked["spender"]),
                model=agent["model"],
                fallbacks=agent["fallbacks"],
                on_text=showing.add,
            )
        finally:
            showing.close()

    def _asked(self, turn: Standing, prompt: Prompt, *, shrunk: bool) -> dict[str, Any]:
        """What the call needs: it may be made again after a crash, and asks for the same then."""
        agent, budget, counts = turn.agent, self._briefing.budget(turn), self._briefing.calibration(turn)
        return {
            "agent": {
                "name": agent.name,
                "model": agent.model,
                "fallbacks": list(agent.fallbacks),
                "tools": list(agent.tools),
            },
            "system": prompt.system,
            "changing": prompt.changing,
            "now": prompt.now,
            "turns": [[each.role, each.content] for each in prompt.turns],
            "pictures": pictures_of(turn.current)[-1 if shrunk else 0 :],
            "voice": any(is_voice(message) for message in turn.current),
            "newest": turn.current[-1].id,
            "reply": budget.reply,
            "room": budget.room_for_tools // (2 if shrunk else 1),
            "counts": asdict(counts) if counts is not None else None,
            "spender": asdict(turn.spender),
        }


def new_turn_state(agent_id: str, address: Address, conversation_id: str) -> dict[str, Any]:
    """The state with which a turn's execution begins: ids and the place, nothing that could grow stale."""
    return {"agent": agent_id, "address": address.to_json(), "conversation": conversation_id}


def is_turn(execution: Execution) -> bool:
    """Whether people wait for what this execution says; children and runs answer nobody in a chat."""
    return "conversation" in execution.state and execution.graph != COMPACTION


def _outgrown(turn: Standing, prompt: Prompt) -> bool:
    """Whether the prompt has no room for messages that no summary stands for, or holds too many."""
    return prompt.left_out > 0 or len(turn.history) > MOST_MESSAGES


def _may_compact(state: Mapping[str, Any]) -> bool:
    """Once more where the last time helped: facts, skills and outputs of tools may have taken the room since."""
    came = state.get("compaction")
    return came is None or (came["rounds"] > 0 and came["failed"] is None)


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

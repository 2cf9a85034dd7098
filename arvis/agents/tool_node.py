"""The node `use_tools` of graph `agent`: what the model asked for is judged, shown to a person where the policy says
so, and made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arvis.agents import tool_use
from arvis.agents.standing import Standing, load_standing
from arvis.agents.tool_use import CallRunner, Planned
from arvis.domain.executions import WaitKind
from arvis.domain.messages import Address
from arvis.domain.tools import Permit, ToolCall, ToolOutput
from arvis.graph.context import NodeContext
from arvis.graph.decisions import Decision, Next, Pause
from arvis.ports.store import Store, Transaction
from arvis.ports.tool import Caller, Tool
from arvis.tools.registry import Registry

#: What a person may say to an approval in a word; editing and feedback bring more (interfaces.md §4).
APPROVE, REJECT = "approve", "reject"


@dataclass(frozen=True, slots=True)
class ToolRules:
    """How agents may use tools. `sessions` is the folder in which every conversation has its own; `timezone` the
    daemon's; a turn has so many `rounds`, a call takes at most `seconds`; an approval may take `approval_ms`, and
    then counts as `on_expiry`."""

    registry: Registry
    permit: Callable[[Tool], Permit]
    sessions: Path
    timezone: str = "UTC"
    rounds: int = 5
    seconds: float = 600.0
    approval_ms: int = 86_400_000
    on_expiry: str = REJECT


class ToolNode:
    def __init__(self, *, store: Store, rules: ToolRules) -> None:
        self._store = store
        self._rules = rules

    async def use_tools(self, context: NodeContext) -> Decision:
        """Make the calls of the last round; first ask about those that need a person's word, one after the other."""
        turn = await self._store.read(load_standing, context.execution)
        *before, last = context.state["rounds"]
        earlier = [ToolCall.from_json(call) for each in before for call in each["calls"]]
        offer = await self._rules.registry.offer(turn.agent.tools)
        calls = [ToolCall.from_json(call) for call in last["calls"]]
        planned = tool_use.plan(calls, earlier, offer, self._rules.permit)
        verdicts = self._verdicts(context, planned)
        if (asked := _unasked(planned, verdicts)) is not None:
            return self._ask(context, turn, planned[asked], verdicts)
        planned = [_after(each, verdicts.get(str(index))) for index, each in enumerate(planned)]
        caller = self._caller(context, turn)
        outputs = await CallRunner(caller=caller, once=context.once, timeout=self._rules.seconds).run(planned)
        context.record(_note_tools, context.execution.id, planned, outputs, context.now())
        done = {**last, "outputs": [output.to_json() for output in outputs]}
        looping = bool(context.state.get("looping")) or tool_use.loops(planned, earlier)
        return Next(None, rounds=[*before, done], looping=looping, verdicts={})

    def _verdicts(self, context: NodeContext, planned: Sequence[Planned]) -> dict[str, Any]:
        """What people said so far, by the number of the call. An answer is about the first call that had none."""
        verdicts = dict(context.state.get("verdicts", {}))
        asked = _unasked(planned, verdicts)
        if context.answer is not None and asked is not None:
            verdicts[str(asked)] = tool_use.verdict_of(context.answer, on_expiry=self._rules.on_expiry)
        return verdicts

    def _ask(self, context: NodeContext, turn: Standing, planned: Planned, verdicts: Mapping[str, Any]) -> Decision:
        return Pause(
            WaitKind.APPROVAL,
            tool_use.question(planned, turn.agent.name, turn.current[-1].user_name or "somebody"),
            until=context.now() + self._rules.approval_ms,
            choices=(APPROVE, REJECT),
            verdicts=dict(verdicts),
        )

    def _caller(self, context: NodeContext, turn: Standing) -> Caller:
        conversation = str(context.state["conversation"])
        return Caller(
            agent=turn.agent,
            principal_id=context.execution.principal_id,
            conversation_id=conversation,
            execution_id=context.execution.id,
            address=Address.from_json(context.state["address"]),
            call_id=f"{context.execution.id}-{len(context.state['rounds'])}",
            workspace=self._rules.sessions / conversation / "workspace",
            timezone=turn.agent.timezone or self._rules.timezone,
        )


def _unasked(planned: Sequence[Planned], verdicts: Mapping[str, Any]) -> int | None:
    """The first call that needs a person's word and has none."""
    waiting = (index for index, each in enumerate(planned) if each.permit is Permit.ASK and str(index) not in verdicts)
    return next(waiting, None)


def _after(planned: Planned, verdict: Mapping[str, Any] | None) -> Planned:
    return planned if verdict is None else tool_use.decided(planned, verdict)


def _note_tools(
    tx: Transaction, execution_id: str, planned: Sequence[Planned], outputs: Sequence[ToolOutput], now: int
) -> None:
    """A line in the timeline for each call."""
    asked = [message.id for message in tx.messages.of_turn(execution_id)]
    for each, output in zip(planned, outputs, strict=True):
        name = each.tool.spec.name if each.tool else each.call.name
        tx.timeline.note(asked, "tool", {"tool": name, "failed": output.failed, "output": output.content[:200]}, now)

"""Tools of the client: tools that the program which sent the message runs itself.

The model gets these tools in addition to the agent's own tools. A call of such a tool pauses the turn; the program gets
the calls, and its next request contains their results (`web/openai`). While the turn waits, the text of its wait
contains the calls as JSON (`ClientCalls`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Self

from arvis.domain.client_calls import ClientCall, ClientCalls
from arvis.domain.errors import ToolError
from arvis.domain.executions import WaitKind
from arvis.domain.tools import Permit, Risk, ToolCall, ToolOutput, ToolSpec
from arvis.engine.graph import NodeContext, Pause
from arvis.engine.state import changes
from arvis.graphs.agent.tool_calls import Planned, storable_output
from arvis.ports.tool import Caller, Tool
from arvis.tasks.rounds import effect_name
from arvis.tasks.state import AgentState, WorkState
from arvis.tools.registry import Offer

#: The time (ms) for which a turn waits for the results of the client.
PATIENCE_MS = 900_000
#: The reply of a turn whose client sent no results within `PATIENCE_MS`.
NO_RESULTS = "I stopped, because the program did not send the results of its tools in time. Send the request again."
_MISSING = "Error: the program sent no result for this call."


class ClientTool:
    """The `Tool` that offers a client's tool to the model. It is never called: the node pauses the turn (`begin`). Its
    calls need no approval, because the arguments go only to the program that also gets the reply."""

    risk = Risk.WRITE
    repeatable = True
    sensitive = False

    def __init__(self, *, spec: ToolSpec) -> None:
        self.spec = spec

    @classmethod
    def of(cls, written: Mapping[str, Any]) -> Self:
        return cls(spec=ToolSpec(written["name"], written["description"], written["parameters"]))

    def check(self, arguments: Mapping[str, Any]) -> None:
        """Accept all arguments: the client checks them."""

    async def call(self, arguments: Mapping[str, Any], caller: Caller) -> str:
        del arguments, caller
        raise ToolError("The program that asked runs this tool.")


def specs_of(state: Mapping[str, Any]) -> tuple[ToolSpec, ...]:
    """Return the client's tools for the model."""
    return tuple(each.spec for each in _tools_of(state))


def joined(offer: Offer, state: Mapping[str, Any]) -> Offer:
    """Return the offered tools and the client's tools. A tool of the client replaces another tool of the same name."""
    more: dict[str, Tool] = {each.spec.name: each for each in _tools_of(state)}
    return Offer({**offer.tools, **more}) if more else offer


def free(tool: Tool, permit: Permit) -> Permit:
    """Return the permit of a tool. Calls of the client's tools need no approval."""
    return Permit.ALWAYS if isinstance(tool, ClientTool) else permit


def _tools_of(state: Mapping[str, Any]) -> list[ClientTool]:
    return [ClientTool.of(each) for each in WorkState.from_json(state).wishes.get("tools", ())]


# -- the calls of a round ------------------------------------------------------------------------------------------------


def keep_outputs(context: NodeContext, state: AgentState, calls: Sequence[ToolCall]) -> None:
    """Store the results that the client has sent as the outputs of its calls."""
    if context.answer is None or context.answer.expired or not state.client_calls:
        return
    given: Mapping[str, str] = context.answer.value or {}
    for index in state.client_calls:
        name, call = effect_name(index, calls[index]), calls[index]
        if context.known(name) is None:
            content = given.get(str(index))
            text = _MISSING if content is None else storable_output(content) or "(no output)"
            output = ToolOutput(call.id, text, failed=content is None)
            context.take(name, output.to_json())
            context.commit_first()  # the next prompt reads the outputs from the database


def begin(context: NodeContext, state: AgentState, planned: Sequence[Planned], more: Mapping[str, Any]) -> Pause | None:
    """Return the decision to wait for the results of the client's calls of this round; None if no result is missing.
    `more` are further changes of the state."""
    waiting = [
        index
        for index, each in enumerate(planned)
        if isinstance(each.tool, ClientTool) and context.known(effect_name(index, each.call)) is None
    ]
    if not waiting:
        return None
    if state.wishes.get("one_call"):
        waiting = waiting[:1]
    calls = [_call(context, state, index, planned[index]) for index in waiting]
    asked = ClientCalls(state.rounds.last.text, tuple(calls))
    return Pause(
        WaitKind.CLIENT,
        asked.to_text(),
        until=context.now() + PATIENCE_MS,
        **more,
        **changes(AgentState, client_calls=waiting),
    )


def _call(context: NodeContext, state: AgentState, index: int, planned: Planned) -> ClientCall:
    arguments = json.dumps(dict(planned.arguments), ensure_ascii=False)
    return ClientCall(context.execution.id, state.rounds.count, index, planned.name, arguments)

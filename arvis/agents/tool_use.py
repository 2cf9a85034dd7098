"""The tool calls of one reply: which of them may run, which need a person's word, and what the model is told of each.

A finished call is never made again, whatever is killed (its result is an effect of the execution); a half-done one
that must not be repeated becomes a question of the engine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from arvis.domain.errors import ArvisError, ToolError
from arvis.domain.executions import Answer
from arvis.domain.tools import Permit, ToolCall, ToolOutput
from arvis.ports.tool import Caller, Tool
from arvis.tools.registry import Offer

log = structlog.get_logger(__name__)

#: The same call so often in one turn is a loop (reliability.md H26): it is not made again, and the turn comes to its end.
SAME_CALLS = 3

#: What a model is given of one call, in characters; more is cut in the middle.
LONGEST_OUTPUT = 32_000

#: How much of the arguments a person is shown before the decision, in characters.
_SHOWN = 2_000

Once = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Planned:
    """A call and what is to happen with it: `tool` is None when it gets no further than `output`."""

    call: ToolCall
    tool: Tool | None = None
    permit: Permit = Permit.NEVER
    output: ToolOutput | None = None

    @property
    def arguments(self) -> Mapping[str, Any]:
        return self.call.arguments or {}

    def refused(self, why: str) -> Planned:
        return Planned(self.call, output=ToolOutput(self.call.id, why, failed=True))


def plan(
    calls: Sequence[ToolCall], before: Sequence[ToolCall], offer: Offer, permit: Callable[[Tool], Permit]
) -> list[Planned]:
    """What is to happen with each call of a reply; `before` are the calls that the turn has already made."""
    made = [call.what for call in before]
    planned = []
    for call in calls:
        made.append(call.what)
        planned.append(_plan(call, made.count(call.what), offer, permit))
    return planned


def loops(planned: Sequence[Planned], before: Sequence[ToolCall]) -> bool:
    """Whether one of these is asked for again and again."""
    made = [call.what for call in before] + [each.call.what for each in planned]
    return any(made.count(each.call.what) >= SAME_CALLS for each in planned)


def _plan(call: ToolCall, times: int, offer: Offer, permit: Callable[[Tool], Permit]) -> Planned:
    planned = Planned(call)
    tool = offer.tools.get(call.name)
    if tool is None:
        return planned.refused(f"There is no tool {call.name}. There are: {', '.join(offer.tools) or 'none'}.")
    if times >= SAME_CALLS:
        return planned.refused(
            "This very call was made before, and its result will not change. Answer with what you have."
        )
    if call.arguments is None:
        return planned.refused("The arguments are no JSON object. Write them as one.")
    try:
        tool.check(call.arguments)
    except ToolError as wrong:
        return planned.refused(wrong.what)
    allowed = permit(tool)
    if allowed is Permit.NEVER:
        return planned.refused(f"The tool {tool.spec.name} must not be used here.")
    return Planned(call, tool, allowed)


# -- a person's word ------------------------------------------------------------------------------------------


def question(planned: Planned, agent_name: str, asker: str) -> str:
    """What a person decides about: exactly what will run."""
    name = planned.tool.spec.name if planned.tool else planned.call.name
    asked = "\n".join(f"{key}: {value}" for key, value in planned.arguments.items())
    shown = asked if len(asked) <= _SHOWN else f"{asked[:_SHOWN]}\n[… {len(asked) - _SHOWN} more characters]"
    return f"{agent_name} wants to use the tool {name} for {asker}:\n{shown}"


def decided(planned: Planned, verdict: Mapping[str, Any]) -> Planned:
    """The call after a person's word: as it is, with other arguments, or not at all."""
    note = f" {verdict['note']}" if verdict.get("note") else ""
    match verdict["decision"]:
        case "approve":
            return replace(planned, permit=Permit.ALWAYS)
        case "edit":
            return _edited(planned, verdict["arguments"] or {})
        case "feedback" | "answer":
            return planned.refused(f"A person did not allow this call, and says: {verdict['text']}")
        case _:
            return planned.refused(f"A person did not allow this call.{note}")


def verdict_of(answer: Answer, *, on_expiry: str) -> dict[str, Any]:
    """What the answer to an approval decides; without one in time what the configuration says."""
    if answer.expired:
        return {"decision": on_expiry, "note": "Nobody answered in time."}
    return dict(answer.value or {"decision": "reject"})


def _edited(planned: Planned, arguments: Mapping[str, Any]) -> Planned:
    if planned.tool is None:
        return planned
    try:
        planned.tool.check(arguments)
    except ToolError as wrong:
        return planned.refused(f"A person changed the arguments to something that does not fit. {wrong.what}")
    return replace(planned, call=replace(planned.call, arguments=dict(arguments)), permit=Permit.ALWAYS)


# -- running them ---------------------------------------------------------------------------------------------


class CallRunner:
    """Makes the calls of one reply for `caller`. `once` remembers each; one may take `timeout` seconds."""

    def __init__(self, *, caller: Caller, once: Once, timeout: float) -> None:
        self._caller = caller
        self._once = once
        self._timeout = timeout

    async def run(self, planned: Sequence[Planned]) -> list[ToolOutput]:
        """Make what may be made, and put together what the model is told, in the order of the calls. What must not be
        repeated goes first and one by one, the rest at once."""
        outputs = {index: each.output for index, each in enumerate(planned) if each.output is not None}
        runs = [(index, each, each.tool) for index, each in enumerate(planned) if each.tool is not None]
        for index, each, tool in runs:
            if not tool.repeatable:
                outputs[index] = await self._remembered(index, each, tool)
        others = [(index, each, tool) for index, each, tool in runs if tool.repeatable]
        calls = (self._remembered(index, each, tool) for index, each, tool in others)
        results = await asyncio.gather(*calls, return_exceptions=True)
        for (index, _, _), result in zip(others, results, strict=True):
            if isinstance(result, BaseException):
                raise result
            outputs[index] = result
        return [outputs[index] for index in sorted(outputs)]

    async def _remembered(self, index: int, planned: Planned, tool: Tool) -> ToolOutput:
        async def call() -> dict[str, Any]:
            return (await self._call(index, planned, tool)).to_json()

        result = await self._once(f"tool {index + 1}: {tool.spec.name}", call, repeatable=tool.repeatable)
        if result is None:
            skipped = "It is not known whether this call happened, and a person said not to make it again."
            return ToolOutput(planned.call.id, skipped, failed=True)
        return ToolOutput.from_json(result)

    async def _call(self, index: int, planned: Planned, tool: Tool) -> ToolOutput:
        caller = replace(self._caller, call_id=f"{self._caller.call_id}-{index + 1}")
        try:
            async with asyncio.timeout(self._timeout):
                content = await tool.call(planned.arguments, caller)
        except ToolError as failed:
            return _failed(planned, _cut(failed.what))
        except TimeoutError:
            return _failed(planned, f"the tool gave no answer within {self._timeout:.0f} seconds.")
        except ArvisError:
            raise  # of the store, or of the queue: not the tool's fault, and nothing that a model should hear
        except Exception as defect:  # a tool may be anybody's code: its defect ends the call, not the turn (ADR 0016)
            log.exception("tool_failed", tool=tool.spec.name)
            return _failed(planned, f"the tool failed ({type(defect).__name__}).")
        return ToolOutput(planned.call.id, _cut(content) or "(no output)")


def _failed(planned: Planned, why: str) -> ToolOutput:
    return ToolOutput(planned.call.id, f"Error: {why}", failed=True)


def _cut(text: str) -> str:
    if len(text) <= LONGEST_OUTPUT:
        return text
    half = LONGEST_OUTPUT // 2
    return f"{text[:half]}\n[… {len(text) - LONGEST_OUTPUT} characters left out …]\n{text[-half:]}"

"""The tool calls of one reply: the decisions about the calls, the calls themselves, and their outputs for the model.

A finished call is never made again, even after a crash, because its result is an effect of the execution. If a call was
interrupted and must not be repeated, the engine asks a person."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import structlog

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ArvisError, LoginRequired, ToolError, sentences
from arvis.domain.messages import OutgoingFile
from arvis.domain.runs import PictureRef
from arvis.domain.taint import CLEAN, Label, Taint
from arvis.domain.text import storable
from arvis.domain.tools import READ_AGAIN, PendingInput, Permit, Source, ToolCall, ToolOutput
from arvis.engine.graph import NodeContext
from arvis.ports.tool import Caller, Explained, InputNeeded, Objection, Pinned, Tool, declaration_of
from arvis.tasks.rounds import effect_name, output_of
from arvis.tools.registry import Offer

log = structlog.get_logger(__name__)

#: If a turn contains this number of equal calls, the last of them is refused. The next model call then gets no tools,
#: so that the turn ends.
SAME_CALLS = 3

#: The maximum number of calls in one reply.
MOST_CALLS = 16

#: The maximum number of characters of an output for the model; the middle of a longer output is cut out.
LONGEST_OUTPUT = 32_000


@dataclass(frozen=True, slots=True)
class Planned:
    """A call and the decision about it."""

    call: ToolCall
    #: The tool to call; None if the call is refused.
    tool: Tool | None = None
    permit: Permit = Permit.NEVER
    #: The output of a refused call.
    refusal: str = ""
    #: A text that is put in front of the output.
    note: str = ""
    #: True if the daemon writes the output of this tool itself.
    own_output: bool = False
    #: Lines about the call that the question shows in addition to the arguments.
    about: str = ""
    #: The reason for the question about the call, if the policy would permit the call without a question.
    why: str = ""
    #: True if a person has approved the call.
    approved: bool = False
    #: The id of this person; None if the deadline passed and `approvals.on_expiry` has approved the call.
    approver: str | None = None

    @property
    def output_taint(self) -> Taint:
        return CLEAN if self.own_output else frozenset({Label.TOOLS})

    @property
    def name(self) -> str:
        return self.tool.spec.name if self.tool else self.call.name

    @property
    def arguments(self) -> Mapping[str, Any]:
        return self.call.arguments or {}

    def refused(self, why: str) -> Planned:
        return Planned(self.call, refusal=why, own_output=self.own_output)


def change_in(planned: Planned) -> str:
    """Return the change of the tool's description, for the question about the call; "" if nothing has changed."""
    tool: object = planned.tool
    return tool.change if isinstance(tool, Pinned) else ""


async def explained(planned: Planned, caller: Caller) -> Planned:
    """Return the call with the lines that the question about it shows. Refuse the call if it cannot be made."""
    tool: object = planned.tool
    if not isinstance(tool, Explained):
        return planned
    try:
        return replace(planned, about=await tool.explain(planned.arguments, caller))
    except ToolError as failed:
        return planned.refused(f"Not called: {sentences(failed.what, failed.fix)}")


def plan(
    calls: Sequence[ToolCall], before: Sequence[ToolCall], offer: Offer, permit: Callable[[Tool], Permit]
) -> list[Planned]:
    """Decide about each call of a reply. `before` are the earlier calls of the turn. `permit` returns the policy's
    permit for a tool."""
    made = [call.what for call in before]
    planned = []
    for index, call in enumerate(calls):
        made.append(call.what)
        tool = offer.tools.get(call.name)
        own = tool is not None and declaration_of(tool).own_output
        if index < MOST_CALLS:
            planned.append(replace(_plan(call, made.count(call.what), offer, permit), own_output=own))
        else:
            why = f"Not called: one reply may make at most {MOST_CALLS} calls. Make this call in the next reply."
            planned.append(Planned(call, refusal=why, own_output=own))
    return planned


def loops(calls: Sequence[ToolCall], before: Sequence[ToolCall]) -> bool:
    """Return True if the turn contains one of these calls at least `SAME_CALLS` times."""
    made = [call.what for call in [*before, *calls]]
    return any(made.count(call.what) >= SAME_CALLS for call in calls)


def _plan(call: ToolCall, times: int, offer: Offer, permit: Callable[[Tool], Permit]) -> Planned:
    planned = Planned(call)
    tool = offer.tools.get(call.name)
    if tool is None:
        names = [name for name in offer.tools if name != READ_AGAIN]
        return planned.refused(f"There is no tool {call.name}. Your tools: {', '.join(names) or 'none'}.")
    if times >= SAME_CALLS:
        return planned.refused(
            "You have made this exact call several times, so it was not made again. Use the earlier result, or "
            "answer now."
        )
    if call.partial:
        return planned.refused(
            "Not called: your reply reached its output limit before the arguments were complete. Call again with shorter "
            "arguments, in several calls if necessary."
        )
    if call.arguments is None:
        return planned.refused("Not called: the arguments are not a JSON object. Call again with a JSON object.")
    if (wrong := misfit(tool, call.arguments)) is not None:
        return planned.refused(wrong)
    allowed = permit(tool)
    if allowed is Permit.NEVER:
        return planned.refused(f"The tool {tool.spec.name} is not allowed here.")
    return Planned(call, tool, allowed)


def misfit(tool: Tool, arguments: Mapping[str, Any]) -> str | None:
    """Return the reason why the tool cannot use these arguments, or None."""
    try:
        tool.check(arguments)
    except ToolError as wrong:
        return wrong.what
    except Exception as defect:  # a tool may be a plugin's code: its defect ends the call, not the turn (ADR 0016)
        log.exception("tool_failed", tool=tool.spec.name)
        return f"Error: the tool failed ({type(defect).__name__})."
    return None


def decided(planned: Planned, verdict: Mapping[str, Any]) -> Planned:
    """Return the call after a person's decision: unchanged, with other arguments, or refused."""
    if planned.tool is None:
        return planned
    match verdict["decision"]:
        case "approve":
            return replace(planned, permit=Permit.ALWAYS, approved=True, approver=verdict.get("by"))
        case "edit":
            edited = _edited(planned, planned.tool, verdict["arguments"] or {})
            return replace(edited, approver=verdict.get("by"))
        case "feedback" | "answer":
            return planned.refused(f"A person rejected this call and wrote: {verdict['text']}")
        case _:
            note = f" {verdict['note']}" if verdict.get("note") else ""
            return planned.refused(f"A person rejected this call.{note}")


def _edited(planned: Planned, tool: Tool, arguments: Mapping[str, Any]) -> Planned:
    if (wrong := misfit(tool, arguments)) is not None:
        return planned.refused(f"Not called: a person changed the arguments, and the new ones are not valid. {wrong}")
    call = replace(planned.call, arguments=dict(arguments))
    note = f"[A person changed the arguments. The actual call: {call.what}]\n"
    return replace(planned, call=call, permit=Permit.ALWAYS, note=note, approved=True)


@dataclass(frozen=True, slots=True)
class AnsweredPart:
    """The responses to the questions at the end of one part of a call. `part` is the number of the part, from 0, and
    `tool` the name of the tool."""

    part: int
    answers: PendingInput
    tool: str


def part_name(index: int, call: ToolCall, part: int) -> str:
    """Return the name of the effect of a part of a call."""
    name = effect_name(index, call)
    return f"{name} ({part + 1})" if part else name


def newest_part(context: NodeContext, index: int, call: ToolCall) -> int:
    """Return the number of the last part of the call that has begun; 0 if only the first part has begun."""
    part = 0
    while context.known(part_name(index, call, part + 1)) is not None:
        part += 1
    return part


class CallRunner:
    """The runner of the calls of one reply. Each call is an effect of the visit `context`. `caller` is passed to the
    tools. `timeout` is the maximum number of seconds for a call. `seal` encrypts the outputs of sensitive tools.
    `objection_of` returns the judge of the calls that a call makes, such as those of a script."""

    def __init__(
        self,
        *,
        context: NodeContext,
        caller: Caller,
        seal: Callable[[str], str],
        timeout: float,
        objection_of: Callable[[Planned], Objection],
    ) -> None:
        self._context = context
        self._caller = caller
        self._seal = seal
        self._timeout = timeout
        self._objection_of = objection_of
        self._answers: Mapping[int, AnsweredPart] = {}
        #: The duration (ms) of each call that this runner made, by the index of the call.
        self.took: dict[int, int] = {}

    async def run(
        self, planned: Sequence[Planned], answers: Mapping[int, AnsweredPart] | None = None
    ) -> list[ToolOutput]:
        """Make the permitted calls and return the outputs for the model, in the order of the calls. Calls that must not
        be repeated run first, one after the other; the others run at the same time. A stored result is used even if its
        tool no longer exists. `answers` are the answered questions of tool servers, by the index of the call."""
        self._answers = answers or {}
        outputs: dict[int, ToolOutput] = {}
        others: list[int] = []
        for index, each in enumerate(planned):
            known = self._context.known(effect_name(index, each.call)) is not None
            if known or (each.tool is not None and not each.tool.repeatable):
                outputs[index] = await self._remembered(index, each)
            elif each.tool is None:
                outputs[index] = ToolOutput(each.call.id, each.refusal, failed=True)
            else:
                others.append(index)
        calls = (self._remembered(index, planned[index]) for index in others)
        for index, result in zip(others, await asyncio.gather(*calls, return_exceptions=True), strict=True):
            if isinstance(result, BaseException):
                raise result
            outputs[index] = result
        return [outputs[index] for index in range(len(planned))]

    async def _remembered(self, index: int, planned: Planned) -> ToolOutput:
        """Return the output of the call. A call that needed answers of a person has several parts, each an effect; the
        output of the last part becomes the output of the call."""
        part, given = newest_part(self._context, index, planned.call), self._answers.get(index)
        before = given if given is not None and given.part == part - 1 else None
        output = await self._part(index, planned, part, before)
        if output.pending is not None and given is not None and given.part == part:
            part += 1
            output = await self._part(index, planned, part, given)
        if part and output.pending is None:
            self._context.take(effect_name(index, planned.call), output.to_json())
            self._context.commit_first()  # the next prompt reads the outputs from the database
        return output

    async def _part(self, index: int, planned: Planned, part: int, given: AnsweredPart | None) -> ToolOutput:
        async def call() -> dict[str, Any]:
            began = self._context.now()
            output = await self._call(index, planned, given)
            self.took[index] = max(0, self._context.now() - began)
            return output.to_json()

        name = part_name(index, planned.call, part)
        repeatable = planned.tool is None or planned.tool.repeatable
        about = f"{planned.name} {planned.call.what.partition(' ')[2][:2_000]}"
        result = await self._context.once(name, call, repeatable=repeatable, about=about)
        return output_of(planned.call, None) if result is None else ToolOutput.from_json(result)

    async def _call(self, index: int, planned: Planned, given: AnsweredPart | None) -> ToolOutput:
        tool = planned.tool
        if tool is None:
            return _not_made(planned, answered=given is not None)
        files: list[OutgoingFile] = []
        sources: list[Source] = []
        pictures: list[PictureRef] = []
        labels: set[Label] = set()
        caller = replace(
            self._caller,
            call_id=f"{self._caller.call_id}-{index + 1}",
            attach=files.append,
            cite=sources.append,
            objection=self._objection_of(planned),
            show=pictures.append,
            stain=labels.update,
            answers=given.answers if given is not None else None,
        )
        try:
            async with asyncio.timeout(self._timeout):
                # A later part has waited for a person, and the tool may have changed since the approval.
                if given is None and planned.approver is not None and isinstance(tool, Pinned):
                    await tool.accept(planned.approver)
                content = await tool.call(planned.arguments, caller)
        except LoginRequired as needed:
            return replace(_failed(planned, needed.what), login=needed.server)
        except ToolError as failed:
            return _failed(planned, sentences(failed.what, failed.fix))
        except InputNeeded as needed:
            return ToolOutput(planned.call.id, "", pending=needed.pending)
        except TimeoutError:
            return _failed(planned, f"the tool gave no answer within {self._timeout:.0f} seconds.")
        except ArvisError:
            raise  # an error of the store or the queue, not of the tool: the model gets no text about it
        except Exception as defect:  # a tool may be a plugin's code: its defect ends the call, not the turn (ADR 0016)
            log.exception("tool_failed", tool=tool.spec.name)
            return _failed(planned, f"the tool failed ({type(defect).__name__}).")
        text = planned.note + (storable_output(content) or "(no output)")
        if tool.sensitive:
            return ToolOutput(planned.call.id, self._seal(text), sealed=True)
        return ToolOutput(
            planned.call.id,
            text,
            files=tuple(files),
            sources=tuple(sources),
            pictures=tuple(pictures),
            taint=frozenset(labels),
        )


def _not_made(planned: Planned, *, answered: bool) -> ToolOutput:
    if answered:
        return _failed(planned, "the person has answered, but the tool is not available now. Try again later.")
    return ToolOutput(planned.call.id, planned.refusal, failed=True)


def _failed(planned: Planned, why: str) -> ToolOutput:
    return ToolOutput(planned.call.id, f"{planned.note}Error: {storable_output(why)}", failed=True)


def storable_output(text: str) -> str:
    """Return the text, cut to `LONGEST_OUTPUT`, and without characters that the databases cannot store."""
    return cut(storable(text), LONGEST_OUTPUT)


def cut(text: str, longest: int) -> str:
    """Return the text, or its beginning and its end if it has more than `longest` characters."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters omitted …]\n{text[-half:]}"

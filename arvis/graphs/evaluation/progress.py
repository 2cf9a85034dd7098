"""The progress of the present case of an evaluation, in the state of its execution."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Self

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.evaluations import FrozenCall
from arvis.domain.expectations import Check
from arvis.domain.runs import RunResult
from arvis.domain.tools import ToolCall, ToolOutput, wire_name
from arvis.prompt import Round
from arvis.prompt.past import shortened
from arvis.tasks.past_rounds import LONGEST_ARGUMENT

_NOT_RECORDED = (
    "This call was not recorded, so it has no output in this evaluation. Use the outputs that you have, or answer without "
    "the tool."
)
_SECRET = "The output of this call is secret and was not recorded. Answer without it."  # noqa: S105 - a text for models


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a case."""

    case: str
    #: The cost (micros) of the evaluation before the case.
    cost_before: int = 0
    #: The rounds as JSON: text, calls, outputs and thoughts of each.
    rounds: Sequence[Mapping[str, Any]] = ()
    reply: str = ""
    #: The reason why there is no reply.
    problem: str = ""
    #: The calls without a recorded output, and the pictures that are no longer stored.
    unrecorded: Sequence[str] = ()
    #: The results of the judged expectations so far.
    verdicts: Sequence[Check] = ()
    #: The cost (micros) of the answer, without judges; None: not known yet.
    cost: int | None = None
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    #: The duration of the model calls in ms.
    ms: int = 0
    recall: tuple[float, ...] = ()

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        known = {each.name: kept[each.name] for each in fields(cls) if each.name in kept}
        verdicts = tuple(Check(**each) for each in kept.get("verdicts", ()))
        return cls(**{"case": "", **known, "verdicts": verdicts, "recall": tuple(kept.get("recall", ()))})

    def to_json(self) -> dict[str, Any]:
        kept = {each.name: getattr(self, each.name) for each in fields(self)}
        lists = {name: list(kept[name]) for name in ("rounds", "unrecorded", "recall")}
        return {**kept, **lists, "verdicts": [each.to_json() for each in self.verdicts]}

    @property
    def calls(self) -> list[ToolCall]:
        return [ToolCall.from_json(call) for each in self.rounds for call in each["calls"]]

    def made(self) -> list[Round]:
        """Return the rounds in the form that prompts use."""
        return [
            Round(
                each["text"],
                tuple(map(ToolCall.from_json, each["calls"])),
                tuple(map(ToolOutput.from_json, each["outputs"])),
                thoughts=each["thoughts"],
            )
            for each in self.rounds
        ]

    def with_answer(self, result: RunResult, ms: int) -> Progress:
        return replace(
            self,
            model=f"{result.provider}/{result.model}",
            input_tokens=self.input_tokens + (result.input_tokens or 0),
            output_tokens=self.output_tokens + (result.output_tokens or 0),
            ms=self.ms + ms,
        )

    def with_round(self, result: RunResult, outputs: Sequence[tuple[ToolOutput, bool]]) -> Progress:
        """Return the progress after a reply with calls. `outputs` contains, for each call, the output, and True if it
        was recorded."""
        made = {
            "text": result.content,
            "calls": [call.to_json() for call in result.calls],
            "outputs": [output.to_json() for output, _ in outputs],
            "thoughts": result.thoughts,
        }
        missing = [call.what for call, (_, known) in zip(result.calls, outputs, strict=True) if not known]
        return replace(self, rounds=[*self.rounds, made], unrecorded=[*self.unrecorded, *missing])

    def with_verdict(self, verdict: Check) -> Progress:
        return replace(self, verdicts=(*self.verdicts, verdict))


def frozen_output(call: ToolCall, recorded: Sequence[FrozenCall]) -> tuple[ToolOutput, bool]:
    """Return the recorded output of a call with this tool and these arguments, and True. If no output was recorded, or
    if it was secret, return an output that explains this, and False."""
    for each in recorded:
        if wire_name(each.tool) == wire_name(call.name) and _equal(call.arguments, each.arguments):
            if each.secret:
                return ToolOutput(call.id, _SECRET, failed=True), False
            return ToolOutput(call.id, each.output, failed=each.failed), True
    return ToolOutput(call.id, _NOT_RECORDED, failed=True), False


def _equal(arguments: Mapping[str, Any] | None, recorded: Mapping[str, Any]) -> bool:
    """Compare arguments. In a case of an older turn, long texts may have been recorded in shortened form."""
    given = {} if arguments is None else arguments
    forms = (given, shortened(given, LONGEST_ARGUMENT))
    return json.dumps(recorded, sort_keys=True) in [json.dumps(each, sort_keys=True) for each in forms]

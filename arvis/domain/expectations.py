"""Expectations of a case, and their checks against an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Self

from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Unprocessable
from arvis.domain.money import MICROS, usd
from arvis.domain.reply_format import ReplyFormat, UnusableSchema, check_schema
from arvis.domain.tools import wire_name

_LONGEST = 10_000
#: The maximum number of characters of a reply or schema in a text about an expectation.
_SHOWN = 120


class ExpectationKind(StrEnum):
    """The kinds of expectations. The value is the key of the expectation in its document."""

    #: The reply contains this text. Upper and lower case make no difference.
    CONTAINS = "contains"
    #: The reply does not contain this text.
    LACKS = "lacks"
    #: The reply is JSON that matches this JSON Schema.
    SCHEMA = "schema"
    #: The agent calls this tool. If `arguments` are given, the call has at least these arguments.
    TOOL = "tool"
    #: The agent does not call this tool.
    NO_TOOL = "noTool"
    #: The reply asks for an action of this kind, such as `remember`.
    ACTION = "action"
    #: A model answers this question about the reply with yes.
    JUDGE = "judge"
    #: The model calls of the case, without those of judges, cost at most this amount.
    MAX_COST = "maxCostUsd"
    MAX_CHARACTERS = "maxCharacters"
    MAX_SECONDS = "maxSeconds"
    #: The search finds at least this share of the evidence (0 to 1) among the first ten results.
    RECALL = "recall"


_TEXTS = frozenset(
    {
        ExpectationKind.CONTAINS,
        ExpectationKind.LACKS,
        ExpectationKind.TOOL,
        ExpectationKind.NO_TOOL,
        ExpectationKind.ACTION,
        ExpectationKind.JUDGE,
    }
)
_MORE = {ExpectationKind.TOOL: frozenset({"arguments"}), ExpectationKind.JUDGE: frozenset({"model"})}


@dataclass(frozen=True, slots=True)
class Expectation:
    """A condition that the answer to a case must meet. `value` is a text, a schema or a number, depending on the
    kind."""

    kind: ExpectationKind
    value: Any
    #: The arguments that the expected tool call must at least have; None: any arguments.
    arguments: Mapping[str, Any] | None = None
    #: The model that judges; None: the judge of the evaluation.
    model: str | None = None

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """Return the expectation that a document describes. Raise `Unprocessable` if the document is invalid."""
        kinds = [kind for kind in ExpectationKind if kind in kept]
        if len(kinds) != 1:
            raise _unusable(f"An expectation must have exactly one of {', '.join(ExpectationKind)}.")
        kind = kinds[0]
        more = {name: value for name, value in kept.items() if name != kind}
        if unknown := more.keys() - _MORE.get(kind, frozenset()):
            raise _unusable(f"`{kind}` cannot have `{min(unknown)}`.")
        _check_value(kind, kept[kind], more)
        return cls(kind, kept[kind], **more)

    def to_json(self) -> dict[str, Any]:
        more = {"arguments": self.arguments, "model": self.model}
        return {self.kind.value: self.value, **{name: value for name, value in more.items() if value is not None}}

    def __str__(self) -> str:
        match self.kind:
            case ExpectationKind.SCHEMA:
                shown = json.dumps(self.value, ensure_ascii=False)
            case ExpectationKind.TOOL if self.arguments is not None:
                shown = f"{self.value} {json.dumps(dict(self.arguments), ensure_ascii=False)}"
            case _:
                shown = str(self.value)
        return f"{self.kind}: {shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + '…'}"


def _check_value(kind: ExpectationKind, value: Any, more: Mapping[str, Any]) -> None:
    if kind in _TEXTS:
        if not isinstance(value, str) or not 0 < len(value.strip()) <= _LONGEST:
            raise _unusable(f"`{kind}` must be a text of 1 to {_LONGEST} characters.")
    elif kind is ExpectationKind.SCHEMA:
        if not isinstance(value, Mapping):
            raise _unusable("`schema` must be a JSON Schema.")
        try:
            check_schema(value)
        except UnusableSchema as wrong:
            raise _unusable(f"`schema` {wrong}.") from None
    elif isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise _unusable(f"`{kind}` must be 0 or a positive number.")
    if not isinstance(more.get("arguments", {}), Mapping):
        raise _unusable("`arguments` must be an object.")
    if not isinstance(more.get("model", ""), str):
        raise _unusable("`model` must be a text.")


def _unusable(what: str) -> Unprocessable:
    fix = 'Write for example {"contains": "30 days"} or {"tool": "get_time"}.'
    return Unprocessable(what, fix=fix, code="bad_expectation")


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one expectation."""

    #: The expectation as text.
    expectation: str
    passed: bool
    #: The reason why the answer does not meet the expectation, or the reason that a judge gave.
    reason: str = ""

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a case, for the checks."""

    #: The visible text of the reply.
    reply: str = ""
    #: The name and the arguments of each tool call.
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()
    #: The kinds of the actions that the reply asks for.
    actions: Sequence[str] = ()
    cost_micros: int = 0
    duration_ms: int = 0
    #: The recall among the first ten results of a search; None: no search was made.
    recall: float | None = None


def check(expectation: Expectation, answer: Answer) -> Check:
    """Return the result of an expectation that needs no judge."""
    problem = _problem(expectation, answer)
    return Check(str(expectation), problem is None, problem or "")


def _problem(expectation: Expectation, answer: Answer) -> str | None:
    value, reply = expectation.value, answer.reply
    match expectation.kind:
        case ExpectationKind.CONTAINS:
            return None if _folded(value) in _folded(reply) else "The reply does not contain the text."
        case ExpectationKind.LACKS:
            return "The reply contains the text." if _folded(value) in _folded(reply) else None
        case ExpectationKind.SCHEMA:
            problem = ReplyFormat(value).problem(reply)
            return None if problem is None else f"The reply does not match: {problem}"
        case ExpectationKind.TOOL:
            return _problem_of_tool(expectation, answer.calls)
        case ExpectationKind.NO_TOOL:
            called = wire_name(value) in [wire_name(name) for name, _ in answer.calls]
            return "The agent called the tool." if called else None
        case ExpectationKind.ACTION:
            found = ", ".join(answer.actions) or "none"
            return None if value in answer.actions else f"The reply does not ask for this action. Its actions: {found}."
        case _:
            return _problem_of_limit(expectation, answer)


def _problem_of_limit(expectation: Expectation, answer: Answer) -> str | None:
    most, value = expectation.value, 0.0
    match expectation.kind:
        case ExpectationKind.MAX_COST:
            over = answer.cost_micros > most * MICROS
            return f"The answer cost {usd(answer.cost_micros)}." if over else None
        case ExpectationKind.MAX_CHARACTERS:
            value = len(answer.reply)
            return f"The reply has {len(answer.reply)} characters." if value > most else None
        case ExpectationKind.MAX_SECONDS:
            value = answer.duration_ms / 1000
            return f"The answer took {value:.1f} seconds." if value > most else None
        case ExpectationKind.RECALL:
            if answer.recall is None:
                return "The case has no `retrieval`, so there is no recall."
            return f"The recall is {answer.recall:.2f}." if answer.recall < most else None
        case _:
            return "Only a model can judge this expectation."


def _problem_of_tool(expectation: Expectation, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> str | None:
    wanted = dict(expectation.arguments or {})
    made = [arguments for name, arguments in calls if wire_name(name) == wire_name(expectation.value)]
    if not made:
        named = ", ".join(dict.fromkeys(name for name, _ in calls)) or "none"
        return f"The agent did not call the tool. Its calls: {named}."
    if any(_plain(arguments, wanted) == wanted for arguments in made):
        return None
    shown = json.dumps(dict(made[-1]), ensure_ascii=False)[:_SHOWN]
    return f"The agent called the tool with other arguments: {shown}."


def _plain(arguments: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments whose names are in `wanted`."""
    return {name: value for name, value in arguments.items() if name in wanted}


def _folded(text: str) -> str:
    """Return the text in a form for comparisons that ignore case and differences in white space."""
    return " ".join(text.casefold().split())

"""Evaluations: suites of recorded turns (cases) with expectations, and the results of an agent for these cases.

A case contains the inputs of a turn and the outputs of its tool calls, so that the same turn can be repeated with
another prompt, model or setting. A case is a JSON document that people can edit and keep in files.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any, Self

from arvis.domain.agents import SLUG, Agent
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import Unprocessable
from arvis.domain.executions import ExecutionStatus
from arvis.domain.expectations import Check, Expectation
from arvis.domain.memory import Category
from arvis.domain.messages import FileKind, Role
from arvis.domain.quotations import Quotation, quotations_of, quotations_text
from arvis.domain.reply_format import problems_of
from arvis.domain.taint import CLEAN, Taint, taint_of, taint_text

FORMAT = "arvis-case/1"
#: The maximum number of cases of a suite.
MOST_CASES = 2_000
#: The maximum size of a case as JSON, in bytes.
LARGEST_CASE = 4_000_000
#: Recall is measured among the first 5 and among the first 10 results of a search.
FIRST = (5, 10)


class CaseKind(StrEnum):
    #: A turn of a conversation.
    TURN = "turn"
    #: A question for the search of messages or facts.
    RETRIEVAL = "retrieval"


class Searched(StrEnum):
    """The texts that a case of kind `retrieval` searches."""

    MESSAGES = "messages"
    FACTS = "facts"


@dataclass(frozen=True, slots=True)
class FrozenCall:
    """A tool call of a recorded turn, with the output that it gets in every evaluation."""

    #: The name under which models know the tool.
    tool: str
    arguments: Mapping[str, Any]
    output: str
    failed: bool = False
    #: True if the output is secret and was therefore not recorded.
    secret: bool = False

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        return cls(**{"arguments": {}, "output": "", **kept})

    def to_json(self) -> dict[str, Any]:
        marks = {name: True for name in ("failed", "secret") if getattr(self, name)}
        return {"tool": self.tool, "arguments": dict(self.arguments), "output": self.output, **marks}


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file of a message: its text, or the hash of a stored picture."""

    name: str
    content_type: str
    kind: FileKind
    text: str = ""
    sha256: str = ""
    #: In bytes.
    size: int = 0

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        return cls(
            name=kept["name"],
            content_type=kept["contentType"],
            kind=FileKind(kept["kind"]),
            text=kept.get("text", ""),
            sha256=kept.get("sha256", ""),
            size=kept.get("size", 0),
        )

    def to_json(self) -> dict[str, Any]:
        more = {"text": self.text, "sha256": self.sha256, "size": self.size}
        return {"name": self.name, "contentType": self.content_type, "kind": self.kind.value, **_filled(more)}


@dataclass(frozen=True, slots=True)
class CaseRound:
    """A reply with tool calls in an earlier turn."""

    text: str
    calls: tuple[FrozenCall, ...]


@dataclass(frozen=True, slots=True)
class CaseMessage:
    """A message that the agent has to answer, or an earlier message. `at` in ms (0: unknown)."""

    text: str
    role: Role = Role.USER
    author: str = ""
    at: int = 0
    files: tuple[CaseFile, ...] = ()
    quotations: tuple[Quotation, ...] = ()
    #: The rounds before an earlier reply.
    rounds: tuple[CaseRound, ...] = ()

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        rounds = [(each.get("text", ""), each["calls"]) for each in kept.get("rounds", ())]
        return cls(
            text=kept["text"],
            role=Role(kept.get("role", Role.USER)),
            author=kept.get("author", ""),
            at=kept.get("at", 0),
            files=tuple(CaseFile.from_json(each) for each in kept.get("files", ())),
            quotations=quotations_of(json.dumps(kept.get("quotations", ()))),
            rounds=tuple(CaseRound(text, tuple(map(FrozenCall.from_json, calls))) for text, calls in rounds),
        )

    def to_json(self) -> dict[str, Any]:
        rounds = [{"text": each.text, "calls": [call.to_json() for call in each.calls]} for each in self.rounds]
        more = {
            "role": self.role.value if self.role is not Role.USER else "",
            "author": self.author,
            "at": self.at,
            "files": [file.to_json() for file in self.files],
            "quotations": json.loads(quotations_text(self.quotations) or "[]"),
            "rounds": rounds,
        }
        return {"text": self.text, **_filled(more)}


@dataclass(frozen=True, slots=True)
class CaseFact:
    """A fact that the prompt contains."""

    text: str
    category: Category = Category.LEARNED_PATTERN
    taint: Taint = CLEAN

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        category = Category(kept.get("category", Category.LEARNED_PATTERN))
        return cls(kept["text"], category, taint_of(kept.get("taint", "")))

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "category": self.category.value, **_filled({"taint": taint_text(self.taint)})}


@dataclass(frozen=True, slots=True)
class TurnInput:
    """The inputs of a recorded turn. `at` is the time (ms) that the prompt shows."""

    messages: tuple[CaseMessage, ...]
    at: int
    history: tuple[CaseMessage, ...] = ()
    summaries: tuple[str, ...] = ()
    facts: tuple[CaseFact, ...] = ()
    #: The stored values that the prompt contains, by key.
    values: Mapping[str, str] = field(default_factory=dict)
    platform: str = "web"
    direct: bool = True
    room: str = ""
    #: True if several people write in the conversation.
    group: bool = False
    timezone: str | None = None
    language: str | None = None

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        parts = {
            "messages": tuple(map(CaseMessage.from_json, kept["messages"])),
            "history": tuple(map(CaseMessage.from_json, kept.get("history", ()))),
            "summaries": tuple(kept.get("summaries", ())),
            "facts": tuple(map(CaseFact.from_json, kept.get("facts", ()))),
        }
        return cls(**{"at": 0, **kept, **parts})

    def to_json(self) -> dict[str, Any]:
        more = {
            "history": [each.to_json() for each in self.history],
            "summaries": list(self.summaries),
            "facts": [each.to_json() for each in self.facts],
            "values": dict(self.values),
            "room": self.room,
            "timezone": self.timezone,
            "language": self.language,
            "group": self.group,
        }
        return {
            "at": self.at,
            "platform": self.platform,
            "direct": self.direct,
            "messages": [each.to_json() for each in self.messages],
            **_filled(more),
        }


@dataclass(frozen=True, slots=True)
class Retrieval:
    """A question for a search, and the texts or ids of the messages or facts that answer it."""

    question: str
    evidence: tuple[str, ...]
    searches: Searched = Searched.MESSAGES
    #: The person whose messages or facts are searched, by id or as `platform:user id`; None: all messages, and the facts
    #: for everyone.
    person: str | None = None

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        searches = Searched(kept.get("searches", Searched.MESSAGES))
        return cls(kept["question"], tuple(kept["evidence"]), searches, kept.get("person"))

    def to_json(self) -> dict[str, Any]:
        more = _filled({"person": self.person})
        return {"question": self.question, "evidence": list(self.evidence), "searches": self.searches.value, **more}


@dataclass(frozen=True, slots=True)
class Recorded:
    """The answer of the recorded turn, for comparison."""

    reply: str
    model: str = ""
    #: The message that was answered, and its conversation. An erasure finds the case by this conversation.
    message: str = ""
    conversation: str = ""

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        return cls(**{"reply": "", **kept})

    def to_json(self) -> dict[str, Any]:
        return _filled({name: getattr(self, name) for name in self.__slots__})


@dataclass(frozen=True, slots=True)
class Case:
    """A case of a suite."""

    name: str
    asked: TurnInput | Retrieval
    calls: tuple[FrozenCall, ...] = ()
    expectations: tuple[Expectation, ...] = ()
    recorded: Recorded | None = None

    @property
    def kind(self) -> CaseKind:
        return CaseKind.TURN if isinstance(self.asked, TurnInput) else CaseKind.RETRIEVAL

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        """Return the case that a document describes. The caller has checked the document."""
        recorded = kept.get("recorded")
        asked = TurnInput.from_json(kept["input"]) if "input" in kept else Retrieval.from_json(kept["retrieval"])
        return cls(
            name=kept["name"],
            asked=asked,
            calls=tuple(map(FrozenCall.from_json, kept.get("calls", ()))),
            expectations=tuple(map(Expectation.from_json, kept.get("expect", ()))),
            recorded=None if recorded is None else Recorded.from_json(recorded),
        )

    def to_json(self) -> dict[str, Any]:
        key = "input" if isinstance(self.asked, TurnInput) else "retrieval"
        more = {
            "calls": [each.to_json() for each in self.calls],
            "recorded": None if self.recorded is None else self.recorded.to_json(),
        }
        return {
            "format": FORMAT,
            "name": self.name,
            key: self.asked.to_json(),
            **_filled(more),
            "expect": [each.to_json() for each in self.expectations],
        }


def _filled(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that are not empty."""
    return {name: value for name, value in fields.items() if value not in (None, "", 0, [], {}, False)}


# -- the check of a document -------------------------------------------------------------------------------------------


_TEXT: dict[str, Any] = {"type": "string"}
_WORD = {"type": "string", "minLength": 1}
_FLAG = {"type": "boolean"}
_COUNT = {"type": "integer", "minimum": 0}


def _object(required: Sequence[str] = (), /, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


def _list(items: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": items, **more}


def _one_of(names: type[StrEnum]) -> dict[str, Any]:
    return {"enum": [each.value for each in names]}


_CALL = _object(["tool"], tool=_WORD, arguments={"type": "object"}, output=_TEXT, failed=_FLAG, secret=_FLAG)
_FILE = _object(
    ["name", "contentType", "kind"],
    name=_WORD,
    contentType=_WORD,
    kind=_one_of(FileKind),
    text=_TEXT,
    sha256=_TEXT,
    size=_COUNT,
)
_QUOTATION = _object(
    ["kind", "writer"],
    kind={"enum": ["reply", "forward", "thread"]},
    writer={"enum": ["agent", "sender", "other"]},
    partial=_FLAG,
    **dict.fromkeys(("text", "author", "authorId", "ref", "messageId", "adds"), _TEXT),
)
_MESSAGE = _object(
    ["text"],
    text=_TEXT,
    role=_one_of(Role),
    author=_TEXT,
    at=_COUNT,
    files=_list(_FILE),
    quotations=_list(_QUOTATION),
    rounds=_list(_object(["calls"], text=_TEXT, calls=_list(_CALL))),
)
_INPUT = _object(
    ["messages"],
    at=_COUNT,
    messages=_list(_MESSAGE, minItems=1, maxItems=50),
    history=_list(_MESSAGE, maxItems=200),
    summaries=_list(_WORD, maxItems=10),
    facts=_list(_object(["text"], text=_WORD, category=_one_of(Category), taint=_TEXT), maxItems=200),
    values={"type": "object", "additionalProperties": _TEXT},
    platform=_WORD,
    direct=_FLAG,
    room=_TEXT,
    group=_FLAG,
    timezone=_TEXT,
    language=_TEXT,
)
_RETRIEVAL = _object(
    ["question", "evidence"],
    question=_WORD,
    evidence=_list(_WORD, minItems=1, maxItems=50),
    searches=_one_of(Searched),
    person=_WORD,
)
#: The JSON Schema of a document. `Expectation.from_json` checks the expectations.
SCHEMA: Mapping[str, Any] = _object(
    ["format", "name"],
    format={"const": FORMAT},
    name={"type": "string", "minLength": 1, "maxLength": 64},
    input=_INPUT,
    retrieval=_RETRIEVAL,
    calls=_list(_CALL, maxItems=200),
    recorded=_object((), reply=_TEXT, model=_TEXT, message=_TEXT, conversation=_TEXT),
    expect=_list({"type": "object"}, maxItems=50),
)


def read_case(document: Any) -> Case:
    """Check a document that a person or program wrote, and return its case. If the document is invalid, raise
    `Unprocessable` with its first problems."""
    fix = "Correct the document, or record the case again. `arvis evals show SUITE CASE` prints a valid document."
    problems = problems_of(document, SCHEMA)
    if not problems and ("input" in document) == ("retrieval" in document):
        problems = ["it must have either `input` or `retrieval`"]
    if not problems and not SLUG.fullmatch(document["name"]):
        problems = ["`name` must be lower-case letters, digits, - and _"]
    if problems:
        why = "; ".join(each.replace("the answer", "the document") for each in problems)
        raise Unprocessable("The document is not a case.", why=f"{why}.", fix=fix, code="bad_case")
    if len(json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")) > LARGEST_CASE:
        raise Unprocessable(f"The case is larger than {LARGEST_CASE} bytes.", fix="Shorten its texts.", code="bad_case")
    return Case.from_json(document)


# -- suites, evaluations and results -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Suite:
    """A list of cases for one agent. Times in ms."""

    id: str
    name: str
    agent_id: str
    #: True if a changed prompt of the agent is stored only after the suite has passed with it.
    gate: bool
    created_at: int
    #: The number of cases of the suite.
    cases: int = 0


@dataclass(frozen=True, slots=True)
class StoredCase:
    """A case in the database. Times in ms."""

    id: str
    suite_id: str
    case: Case
    #: The hash of the document.
    hash: str
    created_at: int
    updated_at: int


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


#: The fields of an agent that an evaluation may change.
CHANGEABLE = ("prompt", "model", "fallbacks", "effort", "tools", "skills", "context_tokens")


def tested_fields(agent: Agent) -> dict[str, Any]:
    """Return the fields of an agent that an evaluation tests, as JSON."""
    fields = {name: getattr(agent, name) for name in CHANGEABLE}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}


def hash_of_agent(agent: Agent) -> str:
    """Return the hash of the tested fields of an agent."""
    return hash_of(json.dumps(tested_fields(agent), sort_keys=True))


def hash_of_cases(cases: Sequence[tuple[str, str]]) -> str:
    """Return the hash of the cases of a suite, computed from their names and hashes. It changes whenever a case
    changes."""
    return hash_of("\n".join(f"{name} {known}" for name, known in sorted(cases)))


class EvaluationStatus(StrEnum):
    RUNNING = "running"
    DONE = "done"
    #: The evaluation ended before its last case, for example at its cost limit.
    STOPPED = "stopped"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Totals:
    """The sums over the results of an evaluation."""

    cases: int = 0
    passed: int = 0
    cost_micros: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    duration_ms: int = 0
    #: The mean recall for each number in `FIRST`; None: no case is a retrieval.
    recall: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One pass through the cases of a suite. Its id is the id of its execution. Times in ms."""

    id: str
    suite_id: str
    #: The fields of the agent that differ from its stored version, as JSON.
    changes: Mapping[str, Any]
    #: The hashes of the tested agent and of the cases, by which a gate finds the evaluation.
    agent_hash: str
    cases_hash: str
    #: The number of cases to evaluate.
    count: int
    #: The limit of the cost in micros. Above it, no further case begins. None: no limit.
    most_micros: int | None
    #: The model that judges expectations; None: the stored model of the agent.
    judge: str | None
    by_id: str | None
    created_at: int
    ended_at: int | None = None
    #: The reason why the evaluation ended before its last case.
    problem: str = ""
    #: The status and the error of its execution; None: the execution has been deleted.
    execution: ExecutionStatus | None = None
    error: str = ""
    totals: Totals = Totals()

    @property
    def status(self) -> EvaluationStatus:
        if self.ended_at is not None:
            return EvaluationStatus.STOPPED if self.problem else EvaluationStatus.DONE
        match self.execution:
            case ExecutionStatus.RUNNING | ExecutionStatus.PAUSED:
                return EvaluationStatus.RUNNING
            case ExecutionStatus.CANCELLED:
                return EvaluationStatus.CANCELLED
            case _:
                return EvaluationStatus.FAILED

    @property
    def passes(self) -> bool:
        """True if every case of the suite has passed."""
        return self.status is EvaluationStatus.DONE and self.totals.passed == self.totals.cases == self.count > 0


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The result of one case in an evaluation."""

    case_id: str
    name: str
    reply: str = ""
    checks: tuple[Check, ...] = ()
    #: The reason why there is no reply.
    problem: str = ""
    #: The tool calls as text. `unrecorded` lists the calls without a recorded output, and the pictures that are no
    #: longer stored.
    calls: tuple[str, ...] = ()
    unrecorded: tuple[str, ...] = ()
    #: The actions that the reply asks for. An evaluation carries out none of them.
    actions: tuple[str, ...] = ()
    model: str = ""
    cost_micros: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    duration_ms: int = 0
    #: The recall of a retrieval for each number in `FIRST`; empty for a turn.
    recall: tuple[float, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.problem and all(check.passed for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        kept = {name: getattr(self, name) for name in self.__slots__ if name != "checks"}
        lists = {name: list(kept[name]) for name in ("calls", "unrecorded", "actions", "recall")}
        return {**kept, **lists, "checks": [check.to_json() for check in self.checks]}

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> Self:
        lists = {name: tuple(kept[name]) for name in ("calls", "unrecorded", "actions", "recall")}
        return cls(**{**kept, **lists, "checks": tuple(Check(**each) for each in kept["checks"])})

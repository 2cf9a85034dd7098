"""The kinds of nodes that a workflow is drawn with, and what may be written into each.

The one source of the JSON schema, of the checks here and in the editor, of the editor's palette and forms, and of the guide: who adds a
kind adds a row here and its node in `nodes/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

#: Of a document: more is refused. The size is that of its JSON in bytes.
MOST_NODES, MOST_CONNECTIONS, MOST_BYTES = 500, 2_000, 1_000_000
#: The handles of connections. An empty source handle is the way out of a node that has one way out.
SUBAGENT = "subagent"
LOOP_BACK = "loop-back"
#: What stands for an empty handle in documents of others.
OUTPUTS, INPUTS = frozenset({"", "output", "source"}), frozenset({"", "input", "target"})


class Form(StrEnum):
    """What a field holds. `rows`: a list of objects with fields of their own; `switches`: an object of true and false."""

    LINE = "line"
    TEXT = "text"
    NUMBER = "number"
    SWITCH = "switch"
    CHOICE = "choice"
    ROWS = "rows"
    SWITCHES = "switches"
    OBJECT = "object"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Field:
    """`least` and `most` bound numbers, the characters of texts, and how many rows there are. `offers` says what the editor offers
    to choose from (agents, tools, workflows, models, platforms, people)."""

    name: str
    form: Form
    label: str
    help: str = ""
    required: bool = False
    default: Any = None
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    offers: str = ""


@dataclass(frozen=True, slots=True)
class Kind:
    """`outs` are the source handles that it may have (empty text: the plain way out); `row_handles` (field, prefix): one more for each
    row of a field. `chooses`: it takes one of its ways out, and connections without a handle are not among them."""

    name: str
    label: str
    category: str
    help: str
    fields: tuple[Field, ...] = ()
    outs: tuple[str, ...] = ("",)
    row_handles: tuple[str, str] | None = None
    ins: tuple[str, ...] = ("",)
    chooses: bool = False
    begins: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)


_LONG = 65_536
_TEMPLATES = "{{PREVIOUS_OUTPUT}}, {{trigger}}, {{Label}} and {{Label.result}} are replaced."
_AGENT = Field("agent", Form.LINE, "Agent", "Who does it; empty: the agent of the run.", most=64, offers="agents")
_DEADLINE = Field(
    "deadlineMinutes", Form.NUMBER, "Deadline", "In minutes; empty: it waits for ever.", least=1, most=525_600
)
#: How several incoming connections come together, of every kind but those that begin.
JOIN = Field(
    "join",
    Form.CHOICE,
    "When several branches arrive",
    "each: it runs once for every arrival; all: once, when all that can still come has come; any: once, at the first; n: once so many have come.",
    choices=("each", "all", "any", "n"),
)
JOIN_COUNT = Field("joinCount", Form.NUMBER, "How many", "For n.", least=1, most=MOST_CONNECTIONS)

_KINDS = (
    Kind(
        "start",
        "Start",
        "begin",
        "Where a run begins; its output is the input of the run.",
        (Field("initialInput", Form.TEXT, "Input", "Where the run is given none.", most=_LONG),),
        ins=(),
        begins=True,
    ),
    Kind(
        "trigger",
        "Trigger",
        "begin",
        "Begins a run by itself; its output is what came.",
        (
            Field(
                "kind",
                Form.CHOICE,
                "When",
                required=True,
                choices=(
                    "message",
                    "chat-app",
                    "dashboard",
                    "workbench",
                    "chat-completions",
                    "schedule",
                    "calendar",
                    "heartbeat",
                    "webhook",
                    "manual",
                ),
            ),
            Field("description", Form.TEXT, "What it is for", "By this a model chooses among several.", most=2_000),
            Field("platform", Form.LINE, "Platform", "Empty: any.", most=32, offers="platforms"),
            Field("channel", Form.LINE, "Channel", "Empty: any.", most=200),
            Field(
                "words",
                Form.LINE,
                "Words",
                "One of these, separated by commas, must be in the message; empty: any message.",
                most=500,
            ),
        ),
        ins=(),
        begins=True,
    ),
    Kind(
        "agent",
        "Agent",
        "agents",
        "An agent works on it.",
        (
            _AGENT,
            Field("agentName", Form.LINE, "Name", "As it is shown, and as a tool of another agent.", most=100),
            Field("systemPrompt", Form.TEXT, "Instructions", "Joined to the agent's own.", most=_LONG),
            Field("userPrompt", Form.TEXT, "Task", f"Empty: the previous output. {_TEMPLATES}", most=_LONG),
            Field(
                "beforePrompt",
                Form.TEXT,
                "Asked before",
                "A first question to the same agent; its answer stands before the task.",
                most=_LONG,
            ),
            Field(
                "afterPrompt",
                Form.TEXT,
                "Asked after",
                "What to make of the result; its answer is the output.",
                most=_LONG,
            ),
            Field(
                "successCriteria",
                Form.TEXT,
                "Success criteria",
                "The result is judged by these, and the task tried once more where it falls short.",
                most=_LONG,
            ),
            Field(
                "completionContract",
                Form.SWITCH,
                "Hand back with a summary",
                "Summary, artifact, what it needs, what to do next.",
            ),
            Field("model", Form.LINE, "Model", "As provider/model; empty: the agent's own.", most=200, offers="models"),
            Field("reasoningEffort", Form.CHOICE, "Reasoning", choices=("", "none", "low", "medium", "high")),
            Field(
                "tools",
                Form.SWITCHES,
                "Tools",
                fields=(
                    Field("web_search", Form.SWITCH, "Search the web"),
                    Field("subagents", Form.SWITCH, "Subagents"),
                ),
            ),
            Field(
                "allowTools",
                Form.LIST,
                "Only these tools",
                "Of those that the agent has; empty: all of them.",
                most=200,
                offers="tools",
            ),
        ),
        outs=("", SUBAGENT),
    ),
    Kind(
        "tool-call",
        "Tool",
        "agents",
        "Calls one tool, without a model.",
        (
            _AGENT,
            Field("tool", Form.LINE, "Tool", required=True, most=128, offers="tools"),
            Field("arguments", Form.OBJECT, "Arguments", _TEMPLATES),
            Field(
                "review",
                Form.TEXT,
                "Review before",
                "What the agent is to look at before the call; it may change the arguments.",
                most=_LONG,
            ),
        ),
    ),
    Kind(
        "if",
        "If",
        "routing",
        "Takes the first way whose condition holds for the previous output.",
        (
            Field(
                "conditions",
                Form.ROWS,
                "Conditions",
                most=20,
                fields=(
                    Field("operator", Form.CHOICE, "The output", choices=("equal", "contains"), default="equal"),
                    Field("value", Form.LINE, "this", "Empty never holds.", most=2_000),
                ),
            ),
        ),
        outs=("false",),
        row_handles=("conditions", "condition-"),
        chooses=True,
    ),
    Kind(
        "router",
        "Router",
        "routing",
        "An agent chooses one of the routes.",
        (
            _AGENT,
            Field("prompt", Form.TEXT, "What to choose by", _TEMPLATES, most=_LONG),
            Field(
                "routes",
                Form.ROWS,
                "Routes",
                required=True,
                least=1,
                most=20,
                fields=(
                    Field("label", Form.LINE, "Name", required=True, most=100),
                    Field("description", Form.LINE, "When", most=500),
                ),
            ),
        ),
        outs=(),
        row_handles=("routes", "route-"),
        chooses=True,
    ),
    Kind(
        "condition",
        "Condition",
        "routing",
        "True or false: by the data where it has the fields, else by an agent.",
        (
            _AGENT,
            Field("combinator", Form.CHOICE, "Hold", choices=("and", "or"), default="and"),
            Field(
                "rules",
                Form.ROWS,
                "Rules",
                required=True,
                least=1,
                most=20,
                fields=(
                    Field(
                        "field", Form.LINE, "Field", "A path such as order.total; empty: the whole output.", most=200
                    ),
                    Field(
                        "operator",
                        Form.CHOICE,
                        "is",
                        choices=(
                            "equals",
                            "not_equals",
                            "contains",
                            "not_contains",
                            "starts_with",
                            "ends_with",
                            "greater",
                            "less",
                            "at_least",
                            "at_most",
                            "empty",
                            "not_empty",
                            "exists",
                            "matches",
                        ),
                        default="equals",
                    ),
                    Field("value", Form.LINE, "Value", _TEMPLATES, most=2_000),
                ),
            ),
        ),
        outs=("condition-true", "condition-false"),
        chooses=True,
    ),
    Kind(
        "approval",
        "Approval",
        "people",
        "A person says yes or no.",
        (
            Field("prompt", Form.TEXT, "Question", f"Empty: whether to go on. {_TEMPLATES}", most=_LONG),
            _DEADLINE,
            Field(
                "onExpiry",
                Form.CHOICE,
                "After the deadline",
                choices=("reject", "approve", "escalate", "fail"),
                default="reject",
            ),
            Field(
                "escalateMinutes",
                Form.NUMBER,
                "Escalated for",
                "In minutes; then it counts as rejected.",
                least=1,
                most=525_600,
            ),
            Field(
                "approvers",
                Form.LIST,
                "Who may answer",
                "Roles and people; empty: those of the configuration.",
                most=50,
                offers="people",
            ),
        ),
        outs=("approve", "reject"),
        chooses=True,
    ),
    Kind(
        "user-input",
        "Ask the user",
        "people",
        "Waits for the next message of the person, which is its output.",
        (
            Field("prompt", Form.TEXT, "Question", _TEMPLATES, most=_LONG),
            _DEADLINE,
        ),
    ),
    Kind(
        "wait",
        "Wait",
        "flow",
        "Goes on later, with the previous output.",
        (
            Field("amount", Form.NUMBER, "How long", required=True, least=0, most=100_000),
            Field("unit", Form.CHOICE, "In", choices=("seconds", "minutes", "hours", "days"), default="seconds"),
        ),
    ),
    Kind(
        "loop",
        "Loop",
        "flow",
        "Repeats what lies between its start and the way back to it.",
        (
            _AGENT,
            Field("maxIterations", Form.NUMBER, "Rounds at most", least=1, most=1_000, default=10),
            Field(
                "condition",
                Form.TEXT,
                "Ends when",
                "True, yes, or `A contains B`; empty: after its rounds.",
                most=_LONG,
            ),
            Field("conditionMode", Form.CHOICE, "Decided by", choices=("template", "llm"), default="template"),
        ),
        outs=("loop-start", "loop-exit"),
        ins=("", LOOP_BACK),
        chooses=True,
    ),
    Kind(
        "parallel",
        "Parallel",
        "flow",
        "Everything behind it runs at once, up to a merge; what fails there is told at the merge.",
    ),
    Kind(
        "merge",
        "Merge",
        "flow",
        "Branches become one again; its output is the list of theirs.",
        (Field("strategy", Form.CHOICE, "Goes on", choices=("wait-all", "first"), default="wait-all"),),
    ),
    Kind(
        "sub-workflow",
        "Workflow",
        "flow",
        "Runs another workflow.",
        (
            Field("workflow", Form.LINE, "Workflow", required=True, most=64, offers="workflows"),
            Field("input", Form.TEXT, "Input", f"Empty: the previous output. {_TEMPLATES}", most=_LONG),
            Field("awaitResponse", Form.SWITCH, "Wait for its result", default=True),
        ),
    ),
    Kind(
        "response",
        "Response",
        "people",
        "Says something where the run was asked for; what it says is its output.",
        (
            Field("template", Form.TEXT, "Text", f"Empty: the previous output. {_TEMPLATES}", most=_LONG),
            Field("compose", Form.SWITCH, "Let the agent word it"),
            _AGENT,
        ),
    ),
    Kind(
        "transfer",
        "Transfer",
        "flow",
        "Ends this run and begins another workflow with its output.",
        (Field("workflow", Form.LINE, "Workflow", required=True, most=64, offers="workflows"),),
        outs=(),
    ),
)

KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _KINDS}

#: What may be set for a whole document.
SETTINGS = (
    Field(
        "agent",
        Form.LINE,
        "Agent",
        "Who works where a node names nobody; empty: the conductor.",
        most=64,
        offers="agents",
    ),
    Field(
        "pauses",
        Form.CHOICE,
        "While somebody is asked",
        "run: other branches finish what they are at and wait; branch: they go on.",
        choices=("run", "branch"),
        default="run",
    ),
    Field(
        "unlabelled",
        Form.CHOICE,
        "Connections without a handle",
        "skip: a node that chooses does not follow them; follow: it always does.",
        choices=("skip", "follow"),
        default="skip",
    ),
    Field("maxSteps", Form.NUMBER, "Steps at most", least=1, most=100_000, default=1_000),
    Field("maxVisits", Form.NUMBER, "Visits of one node at most", least=1, most=10_000, default=100),
)

"""The types of fields and node kinds, the size limits of a document, and the fields that several kinds share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.effort import EFFORTS

#: Limits of a document: nodes, connections, bytes of its JSON, and depth of nesting. A larger document is refused.
MOST_NODES, MOST_CONNECTIONS, MOST_BYTES, MOST_DEPTH = 500, 2_000, 1_000_000, 30
#: The maximum distance of a node from the origin in each direction, in pixels.
FARTHEST = 1_000_000
#: Whole numbers below this have the same value in JSON, in Python and in the editor.
LARGEST = 2**53
#: The version of the document format.
SCHEMA = 1
#: The pattern of the ids of nodes and connections.
ID = "[A-Za-z0-9_.:-]{1,128}"
#: A handle is the name of an output or input of a node. The output to subagents and the input for connections back into
#: a loop have these handles. An empty source handle is the output of a node that has only one.
SUBAGENT = "subagent"
LOOP_BACK = "loop-back"
#: The names that other programs use for an output or input whose handle is empty in Arvis.
OUTPUTS, INPUTS = frozenset({"", "output", "source"}), frozenset({"", "input", "target"})


class Form(StrEnum):
    """The type of a field's value."""

    LINE = "line"
    TEXT = "text"
    NUMBER = "number"
    SWITCH = "switch"
    CHOICE = "choice"
    #: A list of objects with their own fields.
    ROWS = "rows"
    #: An object whose values are true or false.
    SWITCHES = "switches"
    OBJECT = "object"
    LIST = "list"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a node or of a document."""

    name: str
    form: Form
    label: str
    help: str = ""
    required: bool = False
    default: Any = None
    #: The minimum and maximum of a number, of the characters of a text, or of the number of rows.
    least: int | None = None
    most: int | None = None
    #: The values of a choice, and their labels in the same order.
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    #: The fields of each row or object.
    fields: tuple[Field, ...] = ()
    #: The list from which people choose in the editor: agents, tools, workflows, models, platforms or people.
    offers: str = ""
    #: True: names in double braces are replaced when the node runs.
    template: bool = False
    #: Choices that the editor does not offer: documents of other programs contain them, but they have no effect here.
    unoffered: tuple[str, ...] = ()
    #: True: the value of an object is a JSON Schema.
    schema: bool = False


@dataclass(frozen=True, slots=True)
class OwnLogType:
    """A type of lines that only nodes of one kind write to the log of a run. `LogType` has the types of all kinds."""

    name: str
    #: The text that the page of a run shows before the content of such a line.
    label: str
    #: A name of lucide's icons (https://lucide.dev/icons).
    icon: str = "circle"
    #: done, waiting, trouble or plain.
    tone: str = "plain"
    #: True: such a line is the last one of its step.
    ends: bool = False


class Category(StrEnum):
    """The groups of kinds in the editor's palette. Each group has its heading in `pages/workflows/editor/texts.ts` of the
    dashboard."""

    BEGIN = "begin"
    AGENTS = "agents"
    ROUTING = "routing"
    PEOPLE = "people"
    FLOW = "flow"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of node.

    `summary` and `row_names` are texts for the diagram. The diagram uses the first text in which every placeholder has
    a value. If there is no such text, it uses the last one. The placeholder `{field}` shows the value of a field,
    `{field|rule}` the number of its rows (such as `2 rules`), and `{number}`, in the name of a row, the number of the
    row.
    """

    name: str
    label: str
    category: Category
    help: str
    fields: tuple[Field, ...] = ()
    #: A name of lucide's icons (https://lucide.dev/icons).
    icon: str = ""
    #: One line about a node: its most important field. The last text describes a node in which no field has a value.
    summary: tuple[str, ...] = ()
    #: The handles of a node's outputs, each with a name for people. The empty handle is an output without a name.
    outs: Mapping[str, str] = field(default_factory=lambda: {"": "Next"})
    #: The name of a field with rows, and a prefix: each row adds an output whose handle begins with this prefix.
    row_handles: tuple[str, str] | None = None
    #: The names of these outputs for people, made from the fields of the row.
    row_names: tuple[str, ...] = ()
    #: The handles of a node's inputs, each with a name for people. The empty handle is an input without a name.
    ins: Mapping[str, str] = field(default_factory=lambda: {"": "Input"})
    #: True: a run leaves the node by only one of its outputs, and a connection without a handle belongs to no output.
    chooses: bool = False
    #: The rule that reports a node if none of its outputs is connected; if empty: no rule.
    unconnected: str = ""
    #: True: a run can begin at the node.
    begins: bool = False
    #: True: a node asks a person and waits for the answer.
    asks: bool = False
    #: True: a node waits for a time.
    waits: bool = False
    logs: tuple[OwnLogType, ...] = ()

    @property
    def holds(self) -> bool:
        """True if a cycle that contains a node of this kind can end, or waits for a person or a time in each round."""
        return self.chooses or self.asks or self.waits


#: The field with the join rule, which determines how often a node runs when several branches arrive. Every kind has it
#: except start nodes and triggers.
JOIN = Field(
    "join",
    Form.CHOICE,
    "When several branches arrive",
    choices=("each", "all", "any", "n"),
    words=(
        "Run for every arrival",
        "Run once, when all have arrived",
        "Run once, when the first has arrived",
        "Run once, when this number has arrived",
    ),
)
JOIN_COUNT = Field(
    "joinCount",
    Form.NUMBER,
    "Number of branches",
    "Used only with “Run once, when this number has arrived”.",
    least=1,
    most=MOST_CONNECTIONS,
)

#: The fields that describe a document.
ABOUT = (
    Field("name", Form.LINE, "Name", most=200),
    Field("description", Form.TEXT, "Description", most=2_000),
)
#: The label of a node of any kind; templates find its output by this name.
LABEL = Field("label", Form.LINE, "Name", most=100)

#: The settings of a whole document.
SETTINGS = (
    Field(
        "agent",
        Form.LINE,
        "Agent",
        "Used by nodes that name no agent. If empty: the agent that was addressed, otherwise the conductor.",
        most=64,
        offers="agents",
    ),
    Field(
        "pauses",
        Form.CHOICE,
        "While a person is asked",
        choices=("run", "branch"),
        words=("Other branches wait, too", "Other branches continue"),
        default="run",
    ),
    Field(
        "unlabelled",
        Form.CHOICE,
        "Connections without a named output",
        "Applies to connections from nodes with several outputs.",
        choices=("skip", "follow"),
        words=("Never followed", "Always followed"),
        default="skip",
    ),
    Field("maxSteps", Form.NUMBER, "Maximum steps", least=1, most=100_000, default=1_000),
    Field("maxVisits", Form.NUMBER, "Maximum visits of one node", least=1, most=10_000, default=100),
)


LONG = 65_536
TEMPLATES = "Arvis replaces {{PREVIOUS_OUTPUT}}, {{trigger}} and node names such as {{Label}} or {{Label.result}}."
AGENT = Field("agent", Form.LINE, "Agent", "Does the work; if empty: the agent of the run.", most=64, offers="agents")
DEADLINE = Field("deadlineMinutes", Form.NUMBER, "Deadline", "In minutes; if empty: no limit.", least=1, most=525_600)

AGENT_FIELDS: tuple[Field, ...] = (
    AGENT,
    Field(
        "agentName",
        Form.LINE,
        "Name",
        "The name that people see, and the name of the tool if another agent calls this one.",
        most=100,
    ),
    Field(
        "systemPrompt", Form.TEXT, "Instructions", "Added to the agent's own instructions.", most=LONG, template=True
    ),
    Field("userPrompt", Form.TEXT, "Task", f"If empty: the previous output. {TEMPLATES}", most=LONG, template=True),
    Field(
        "beforePrompt",
        Form.TEXT,
        "Question before the task",
        "A first question to the same agent; the question and its answer precede the task.",
        most=LONG,
        template=True,
    ),
    Field(
        "afterPrompt",
        Form.TEXT,
        "Question after the task",
        "A last question about the result; its answer is the output.",
        most=LONG,
        template=True,
    ),
    Field(
        "successCriteria",
        Form.TEXT,
        "Success criteria",
        "A model judges the result by these criteria. If the result does not meet them, the task is tried once more.",
        most=LONG,
        template=True,
    ),
    Field(
        "completionContract",
        Form.SWITCH,
        "Hand back with a summary",
        "The result consists of a summary, an artifact, an open question and a next action.",
    ),
    Field(
        "model",
        Form.LINE,
        "Model",
        "In the form provider/model; if empty: the agent's own model.",
        most=200,
        offers="models",
    ),
    Field(
        "reasoningEffort",
        Form.CHOICE,
        "Reasoning",
        choices=("", *EFFORTS),
        words=("", "None", "Minimal", "Low", "Medium", "High", "Very high"),
    ),
    Field(
        "outputSchema",
        Form.OBJECT,
        "Format of the output",
        "A JSON Schema. The output is then JSON of this form, and later nodes can use its fields.",
        schema=True,
    ),
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
        "A selection from the agent's tools; if empty: all its tools.",
        most=200,
        offers="tools",
    ),
)


TRIGGER_LABELS = (
    "A message arrives",
    "A message arrives in a chat app",
    "A person writes in the dashboard",
    "A person writes in the workbench",
    "A program calls the OpenAI-compatible API",
    "A schedule is due",
    "A calendar event begins",
    "The heartbeat is due",
    "A webhook is called",
    "A person starts it manually",
)

#: Kinds of triggers from documents of other programs that never start a run in Arvis.
UNSERVED_TRIGGERS = frozenset({"calendar", "workbench"})
#: Kinds of triggers that start a run only if a schedule or webhook names the workflow. For each kind: the word for
#: that schedule or webhook, and the command that creates it.
CALLED_TRIGGERS = {
    "schedule": ("schedule", "`arvis schedules create --workflow`"),
    "heartbeat": ("heartbeat", "`arvis schedules create --heartbeat --workflow`"),
    "webhook": ("webhook", "`arvis webhooks create --workflow`"),
}

#: The labels of the operators of rules. The editor shows each label after the word "is".
RULE_LABELS = (
    "equal to",
    "not equal to",
    "containing",
    "not containing",
    "beginning with",
    "ending with",
    "greater than",
    "less than",
    "at least",
    "at most",
    "empty",
    "not empty",
    "present",
    "matching the pattern",
)

"""What fields and kinds of nodes consist of, how much a document may hold, and the fields that do not belong to one kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

#: Of a document: more is refused. The size is that of its JSON in bytes.
MOST_NODES, MOST_CONNECTIONS, MOST_BYTES, MOST_DEPTH = 500, 2_000, 1_000_000, 30
#: How far from the middle a node may be drawn, in pixels.
FARTHEST = 1_000_000
#: Whole numbers below this are the same in JSON, in Python and in the editor.
LARGEST = 2**53
#: The version of the form of documents.
SCHEMA = 1
#: Ids of nodes and connections.
ID = "[A-Za-z0-9_.:-]{1,128}"
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
    to choose from (agents, tools, workflows, models, platforms, people). In the texts of a `template` names in double braces are
    replaced when the node runs. `words` says what the choices are called where people make them, one for each; `unoffered` are choices
    that documents of others hold and the editor does not offer, because nothing serves them."""

    name: str
    form: Form
    label: str
    help: str = ""
    required: bool = False
    default: Any = None
    least: int | None = None
    most: int | None = None
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    offers: str = ""
    template: bool = False
    unoffered: tuple[str, ...] = ()


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


#: How several incoming connections come together, of every kind but those that begin.
JOIN = Field(
    "join",
    Form.CHOICE,
    "When several branches arrive",
    choices=("each", "all", "any", "n"),
    words=(
        "Run for every arrival",
        "Run once, when all have come",
        "Run once, at the first",
        "Run once, when so many have come",
    ),
)
JOIN_COUNT = Field(
    "joinCount", Form.NUMBER, "How many", "Where it runs when so many have come.", least=1, most=MOST_CONNECTIONS
)

#: What a document says of itself.
ABOUT = (
    Field("name", Form.LINE, "Name", most=200),
    Field("description", Form.TEXT, "Description", most=2_000),
)
#: What a node of any kind may be called; by this name templates find its output.
LABEL = Field("label", Form.LINE, "Name", most=100)

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
        choices=("run", "branch"),
        words=("Other branches wait, too", "Other branches go on"),
        default="run",
    ),
    Field(
        "unlabelled",
        Form.CHOICE,
        "Connections without a handle",
        "Those that leave a node which chooses.",
        choices=("skip", "follow"),
        words=("Never followed", "Always followed"),
        default="skip",
    ),
    Field("maxSteps", Form.NUMBER, "Steps at most", least=1, most=100_000, default=1_000),
    Field("maxVisits", Form.NUMBER, "Visits of one node at most", least=1, most=10_000, default=100),
)

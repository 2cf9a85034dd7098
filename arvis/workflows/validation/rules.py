"""The problems that a document may have: every rule in one table, with its texts for people.

The other modules of this package find problems; this module describes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex

_PLACE = regex(r"\{([a-z]+)\}")
#: The maximum characters, in a message, of a value from a document, and of a list of values (`_LISTS`).
_LONGEST, _LONGEST_LIST = 60, 400
_LISTS = frozenset({"choices", "names", "path"})


class Severity(StrEnum):
    """An `error` prevents a document from running. A `warning` describes something that the author probably did not
    intend."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. `message` and `fix` are sentences with placeholders in braces, which `problem` fills."""

    code: str
    severity: Severity
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of a document, and its location."""

    #: The id of the node, or of the source of `connection` if it is known.
    node: str | None
    #: The id of the connection. If `node` is None, too, the problem is about the document as a whole.
    connection: str | None
    #: The path of the field, such as `rules.0.operator`.
    field: str | None
    rule: str
    severity: Severity
    message: str
    fix: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


_E, _W = Severity.ERROR, Severity.WARNING

_RULES = (
    # Rules about the document as a whole. {place}: a path in the document.
    Rule("too-deep", _E, "The document is nested more than {most} levels deep.", "Reduce the nesting."),
    Rule(
        "too-large",
        _E,
        "The document has more than {most} bytes.",
        "Divide it into several workflows, or shorten its texts.",
    ),
    Rule(
        "schema-version", _E, "The schema version of the document is not {wanted}.", "Write {wanted} as its `schema`."
    ),
    Rule("not-a-list", _E, "`{place}` is not a list.", "Write a list there."),
    Rule("not-an-object", _E, "`{place}` is not an object.", "Write an object with named values there, or remove it."),
    Rule("too-many-nodes", _E, "There are more than {most} nodes.", "Move some of them into another workflow."),
    Rule(
        "too-many-connections",
        _E,
        "There are more than {most} connections.",
        "Move some of them into another workflow.",
    ),
    # Rules about nodes and their fields. {name}: the label of the node.
    Rule("node-id-missing", _E, "The node at `{place}` has no id.", "Give it an id that no other node has."),
    Rule(
        "node-id-odd",
        _E,
        "The id of the node at `{place}` cannot be used.",
        "Use 1 to 128 of the characters A-Z, a-z, 0-9, `_`, `-`, `.` and `:`.",
    ),
    Rule("node-id-twice", _E, "Two nodes have the id `{id}`.", "Give one of them another id."),
    Rule("type-missing", _E, "The node `{name}` has no type.", "Set its type."),
    Rule(
        "type-unknown",
        _W,
        "The node `{name}` has the unknown kind `{type}`: runs skip it.",
        "Replace it by a node of a known kind.",
    ),
    Rule(
        "position-odd",
        _E,
        "The position of the node `{name}` cannot be read.",
        "Give it numbers from -{most} to {most} for x and y.",
    ),
    Rule("field-missing", _E, "{label} is missing in `{name}`.", "Fill it in."),
    Rule("field-form", _E, "{label} in `{name}` must be {wanted}.", "Write {wanted} there."),
    Rule("field-choice", _E, "{label} in `{name}` is not one of the choices.", "Choose one of: {choices}."),
    Rule("field-low", _E, "{label} in `{name}` is too low.", "It must be at least {least}."),
    Rule("field-high", _E, "{label} in `{name}` is too high.", "It must be at most {most}."),
    Rule("field-long", _E, "{label} in `{name}` is too long.", "It may have at most {most} characters."),
    Rule("field-few", _E, "{label} in `{name}` has too few entries.", "Write at least {least}."),
    Rule("field-many", _E, "{label} in `{name}` has too many entries.", "Write at most {most}."),
    Rule(
        "agent-unknown",
        _E,
        "`{name}` names the agent `{value}`, which does not exist.",
        "Choose an existing agent, or leave the field empty.",
    ),
    Rule("tool-unknown", _E, "`{name}` names the tool `{value}`, which does not exist.", "Choose an existing tool."),
    Rule(
        "tool-offline",
        _W,
        "`{name}` names the tool `{value}` of a server that is not connected.",
        "Check the name of the tool. Arvis connects to the server when a run first uses the tool.",
    ),
    Rule(
        "model-unknown",
        _W,
        "No account serves the model `{value}` of `{name}`, so the step will fail.",
        "Choose a model that an account serves, or leave the field empty.",
    ),
    Rule(
        "web-search-missing",
        _W,
        "`{name}` should search the web, but its agent has no tool for that.",
        "Give the agent the tool web_search, or turn the search off.",
    ),
    Rule(
        "workflow-unknown",
        _E,
        "`{name}` names the workflow `{value}`, which does not exist.",
        "Choose an existing workflow.",
    ),
    # Connections.
    Rule(
        "connection-id-odd",
        _E,
        "The id of the connection at `{place}` cannot be used.",
        "Use 1 to 128 of the characters A-Z, a-z, 0-9, `_`, `-`, `.` and `:`.",
    ),
    Rule("connection-id-twice", _E, "Two connections have the id `{id}`.", "Give one of them another id."),
    Rule(
        "connection-source",
        _E,
        "The source node of the connection at `{place}` does not exist.",
        "Draw the connection from an existing node, or remove the connection.",
    ),
    Rule(
        "connection-target",
        _E,
        "The target node of the connection at `{place}` does not exist.",
        "Draw the connection to an existing node, or remove the connection.",
    ),
    Rule(
        "connection-twice",
        _W,
        "Two identical connections lead from `{name}` to `{other}`.",
        "Remove one of them, or all following nodes run twice.",
    ),
    Rule("handle-unknown", _E, "`{name}` has no output called `{handle}`.", "Connect one of: {choices}."),
    Rule(
        "handle-empty",
        _W,
        "A connection from `{name}` belongs to none of its outputs and is never followed.",
        "Connect one of: {choices}.",
    ),
    Rule(
        "handle-target",
        _E,
        "`{name}` has no input called `{handle}`.",
        "Draw the connection to the node's plain input.",
    ),
    Rule("target-begins", _E, "A connection leads back to `{name}`, where runs begin.", "Draw it to a later node."),
    # Subagents.
    Rule("subagent-source", _E, "`{name}` has a subagent but is not an agent.", "Draw the connection from an agent."),
    Rule(
        "subagent-target",
        _E,
        "`{name}` is a subagent of `{other}` but not an agent.",
        "Draw the connection to an agent.",
    ),
    Rule(
        "subagent-handle",
        _E,
        "The connection from `{name}` to its subagent `{other}` ends at the wrong input.",
        "Draw the connection to the agent's plain input.",
    ),
    Rule(
        "subagent-off",
        _E,
        "`{name}` has subagents, but they are turned off.",
        "Turn on its subagents, or remove the connection.",
    ),
    Rule("subagent-self", _E, "`{name}` is a subagent of itself.", "Remove the connection."),
    Rule(
        "subagent-parents",
        _E,
        "`{name}` is a subagent of more than one agent.",
        "Keep one of the connections, or copy the agent.",
    ),
    Rule(
        "subagent-flow",
        _E,
        "`{name}` is both a subagent and a separate step.",
        "Remove its ordinary connections, or the connection that makes it a subagent.",
    ),
    Rule("subagent-cycle", _E, "Subagents call one another in a cycle: {path}.", "Remove one of these connections."),
    # Rules about the start of a run and the paths from there.
    Rule("start-missing", _E, "There is neither a start nor a trigger.", "Add one, so that runs can begin."),
    Rule("start-twice", _E, "There are several starts.", "Keep one of them."),
    Rule("start-unconnected", _E, "Nothing is connected to `{name}`.", "Connect it to the first step."),
    Rule("start-reaches-nothing", _E, "No step follows `{name}`.", "Connect it to an existing step."),
    Rule(
        "trigger-twice",
        _W,
        "`{name}` and `{other}` start a run for the same events.",
        "Remove one of them, or give them different channels or words.",
    ),
    Rule(
        "trigger-unserved",
        _W,
        "`{name}` never starts a run: Arvis does not support triggers of the kind `{value}`.",
        "Choose another kind, or start the workflow manually.",
    ),
    Rule(
        "trigger-idle",
        _W,
        "`{name}` does not start runs yet: no active {what} names this workflow.",
        "Save the workflow, then add one on the page or with {how}.",
    ),
    Rule(
        "branch-missing",
        _E,
        "`{name}` chooses an output, but none is connected.",
        "Connect at least one of: {choices}.",
    ),
    Rule(
        "approval-branch-missing",
        _E,
        "`{name}` asks a person, but neither answer is connected.",
        "Connect at least one of: {choices}.",
    ),
    Rule(
        "conditions-missing",
        _W,
        "`{name}` has no condition: it always takes the output `false`.",
        "Add a condition, or remove the node.",
    ),
    Rule(
        "condition-empty",
        _W,
        "A condition of `{name}` is empty and never holds.",
        "Write the text to compare with, or remove the condition.",
    ),
    Rule(
        "rule-empty",
        _W,
        "A rule of `{name}` has no value to compare with.",
        "Write the value, or choose an operator such as `empty`.",
    ),
    Rule("unreachable", _W, "No connection leads to `{name}`.", "Connect it, or remove it."),
    Rule(
        "cycle-unbounded",
        _W,
        "Only the limit of visits ends this cycle: {path}.",
        "Add a node that chooses an output, such as an if or a loop.",
    ),
    Rule(
        "loop-over-steps",
        _W,
        "The loop `{name}` may take {steps} steps, but a run of this workflow may take at most {most}.",
        "Reduce its maximum number of repetitions, or raise the limit of steps in the settings.",
    ),
    Rule(
        "loop-without-return",
        _W,
        "No connection leads from the body of `{name}` back to it, so it runs only once.",
        "Connect the last step of its body to the loop's input for the next repetition (`loop-back`).",
    ),
    Rule(
        "loop-back-outside",
        _E,
        "`{other}` leads back to the loop `{name}` but is not in its body.",
        "Draw the connection to the loop's plain input.",
    ),
    Rule(
        "merge-without-parallel",
        _W,
        "The branches that are joined at `{name}` were not opened by a parallel.",
        "Add a parallel before them, or use a join instead of the merge.",
    ),
    Rule(
        "parallel-without-merge",
        _W,
        "The branches of `{name}` never reach a merge, so a branch that fails ends the run.",
        "Connect its branches to a merge.",
    ),
    Rule(
        "transfer-in-loop",
        _E,
        "The transfer `{name}` ends the run, so it must not be in the body of the loop `{other}`.",
        "Move it after the loop's exit.",
    ),
    Rule(
        "transfer-in-parallel",
        _E,
        "The transfer `{name}` ends the run, so it must not be in a branch of the parallel `{other}`.",
        "Move it after the merge.",
    ),
    Rule(
        "join-count-missing",
        _E,
        "`{name}` waits for a number of branches, but the number is missing.",
        "Set the number.",
    ),
    Rule("join-count-high", _E, "`{name}` waits for more branches than lead to it.", "It must be at most {most}."),
    Rule(
        "join-starved",
        _E,
        "Too few branches can arrive at: {names}.",
        "Let each wait for fewer branches, or connect the missing ones.",
    ),
    Rule(
        "join-deadlock",
        _E,
        "These nodes wait for one another without end: {names}.",
        "Let one of them run for every arrival or at the first, or remove a connection between them.",
    ),
    # Templates.
    Rule(
        "label-unknown",
        _W,
        "The template in `{name}` uses `{value}`, but no node has this name, so it is not replaced.",
        "Write the name of a node, or PREVIOUS_OUTPUT or trigger.",
    ),
    Rule(
        "label-twice",
        _W,
        "The template in `{name}` uses `{value}`, but several nodes have this name.",
        "Give each of them a different name.",
    ),
)

RULES: Mapping[str, Rule] = {rule.code: rule for rule in _RULES}


def problem(
    code: str, *, node: str | None = None, connection: str | None = None, field: str | None = None, **values: str | int
) -> Problem:
    """Return the problem for this rule, with its placeholders filled from `values`; an unknown placeholder stays
    unchanged."""
    rule = RULES[code]
    shown = {}
    for name, value in values.items():
        text, most = str(value), _LONGEST_LIST if name in _LISTS else _LONGEST
        shown[name] = text if len(text) <= most else f"{text[: most - 1]}…"
    return Problem(node, connection, field, code, rule.severity, _fill(rule.message, shown), _fill(rule.fix, shown))


def _fill(text: str, values: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), text)

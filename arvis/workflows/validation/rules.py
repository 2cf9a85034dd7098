"""The problems that a document may have: every rule in one table, with its texts for people.

The other modules of this package find problems, this one describes them. The editor uses the same table: its texts
are generated from this one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

_PLACE = re.compile(r"\{([a-z]+)\}")
#: Maximum characters of a text from a document in a message, and of our own lists.
_LONGEST, _LONGEST_LIST = 60, 400
_LISTS = frozenset({"choices", "names", "path"})


class Severity(StrEnum):
    """An `error` keeps a document from running; a `warning` names something that its author probably did not intend."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. `message` and `fix` are sentences with placeholders in braces that `problem` fills."""

    code: str
    severity: Severity
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem, and its location: at a node, at a connection (`node` is then its source, if known), or at the
    document (both None). `field` is a path such as `rules.0.operator`."""

    node: str | None
    connection: str | None
    field: str | None
    rule: str
    severity: Severity
    message: str
    fix: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


_E, _W = Severity.ERROR, Severity.WARNING

_RULES = (
    # The document as a whole. {place}: the path in it.
    Rule("too-deep", _E, "The document is nested more than {most} deep.", "Make what is written into it flatter."),
    Rule(
        "too-large",
        _E,
        "The document has more than {most} bytes.",
        "Divide it into several workflows, or shorten its texts.",
    ),
    Rule("schema-version", _E, "The document is of another version than {wanted}.", "Write {wanted} as its `schema`."),
    Rule("not-a-list", _E, "`{place}` is not a list.", "Write a list there."),
    Rule("not-an-object", _E, "`{place}` is not an object.", "Write an object with named values there, or remove it."),
    Rule("too-many-nodes", _E, "There are more than {most} nodes.", "Move a part of them into a workflow of its own."),
    Rule(
        "too-many-connections",
        _E,
        "There are more than {most} connections.",
        "Move a part of them into a workflow of its own.",
    ),
    # Nodes and their fields. {name}: the label of the node.
    Rule("node-id-missing", _E, "The node at `{place}` has no id.", "Give it an id that no other node has."),
    Rule(
        "node-id-odd",
        _E,
        "The id of the node at `{place}` cannot be used.",
        "Use 1 to 128 of the characters A-Z, a-z, 0-9, `_`, `-`, `.` and `:`.",
    ),
    Rule("node-id-twice", _E, "Two nodes have the id `{id}`.", "Give one of them another id."),
    Rule("type-missing", _E, "The node `{name}` has no type.", "Say of what kind it is."),
    Rule(
        "type-unknown",
        _W,
        "The node `{name}` is of the unknown kind `{type}`: it is passed over.",
        "Put a node of a known kind there.",
    ),
    Rule(
        "position-odd",
        _E,
        "The place of the node `{name}` cannot be read.",
        "Give it numbers from -{most} to {most} for x and y.",
    ),
    Rule("field-missing", _E, "{label} is missing in `{name}`.", "Fill it in."),
    Rule("field-form", _E, "{label} in `{name}` must be {wanted}.", "Write {wanted} there."),
    Rule("field-choice", _E, "{label} in `{name}` is none of its choices.", "Choose one of: {choices}."),
    Rule("field-low", _E, "{label} in `{name}` is too low.", "It must be at least {least}."),
    Rule("field-high", _E, "{label} in `{name}` is too high.", "It must be at most {most}."),
    Rule("field-long", _E, "{label} in `{name}` is too long.", "It may have at most {most} characters."),
    Rule("field-few", _E, "{label} in `{name}` has too few entries.", "Write at least {least}."),
    Rule("field-many", _E, "{label} in `{name}` has too many entries.", "Write at most {most}."),
    Rule(
        "agent-unknown",
        _E,
        "`{name}` names the agent `{value}`, which is not there.",
        "Choose an agent that is there, or leave it empty.",
    ),
    Rule("tool-unknown", _E, "`{name}` names the tool `{value}`, which is not there.", "Choose a tool that is there."),
    Rule(
        "tool-offline",
        _W,
        "`{name}` names the tool `{value}` of a server that is not connected now.",
        "Check the name; the server is connected when the tool is first used.",
    ),
    Rule(
        "model-unknown",
        _W,
        "`{name}` asks for the model `{value}`, which no account serves: the step fails.",
        "Choose a model that an account serves, or leave it empty.",
    ),
    Rule(
        "web-search-missing",
        _W,
        "`{name}` is to search the web, but its agent has no tool for it.",
        "Give the agent the tool web_search, or switch the search off.",
    ),
    Rule(
        "workflow-unknown",
        _E,
        "`{name}` names the workflow `{value}`, which is not there.",
        "Choose a workflow that is there.",
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
        "The connection at `{place}` comes from a node that is not there.",
        "Connect it to a node, or remove it.",
    ),
    Rule(
        "connection-target",
        _E,
        "The connection at `{place}` leads to a node that is not there.",
        "Connect it to a node, or remove it.",
    ),
    Rule(
        "connection-twice",
        _W,
        "Two connections lead the same way from `{name}` to `{other}`.",
        "Remove one of them; all behind it would run twice.",
    ),
    Rule("handle-unknown", _E, "`{name}` has no way out called `{handle}`.", "Connect one of: {choices}."),
    Rule(
        "handle-empty",
        _W,
        "A connection from `{name}` belongs to none of its ways out and is never followed.",
        "Connect one of: {choices}.",
    ),
    Rule("handle-target", _E, "`{name}` has no way in called `{handle}`.", "Connect it to the node's ordinary way in."),
    Rule(
        "target-begins", _E, "A connection leads back to `{name}`, where runs begin.", "Connect it to a node behind it."
    ),
    # Subagents (seed 002).
    Rule("subagent-source", _E, "`{name}` has a subagent but is no agent.", "Draw the connection from an agent."),
    Rule("subagent-target", _E, "`{name}` is a subagent of `{other}` but no agent.", "Only agents can be subagents."),
    Rule(
        "subagent-handle",
        _E,
        "The connection from `{name}` to its subagent `{other}` ends at another way in.",
        "Connect it to the agent's ordinary way in.",
    ),
    Rule(
        "subagent-off",
        _E,
        "`{name}` has subagents, but may not use them.",
        "Switch its subagents on, or remove the connection.",
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
        "`{name}` is a subagent and also a step of its own.",
        "Remove its ordinary connections, or the one that makes it a subagent.",
    ),
    Rule("subagent-cycle", _E, "Subagents call one another in a circle: {path}.", "Remove one of these connections."),
    # The starts of runs and their continuation.
    Rule("start-missing", _E, "There is neither a start nor a trigger.", "Add one: a run begins there."),
    Rule("start-twice", _E, "There are several starts.", "Keep one of them."),
    Rule("start-unconnected", _E, "Nothing is connected to `{name}`.", "Connect it with the first step."),
    Rule("start-reaches-nothing", _E, "Behind `{name}` there is no step.", "Connect it with a step that is there."),
    Rule(
        "trigger-twice",
        _W,
        "`{name}` and `{other}` begin a run at the same events.",
        "Remove one of them, or tell them apart by their channel or words.",
    ),
    Rule(
        "trigger-unserved",
        _W,
        "`{name}` begins no run: nothing here begins runs of the kind `{value}`.",
        "Choose another kind, or begin the workflow by hand.",
    ),
    Rule(
        "trigger-idle",
        _W,
        "`{name}` begins no run yet: no {what} that is switched on names this workflow.",
        "Save the workflow, then add one on the page or with {how}.",
    ),
    Rule("branch-missing", _E, "`{name}` chooses, but no way leads on from it.", "Connect at least one of: {choices}."),
    Rule(
        "approval-branch-missing",
        _E,
        "`{name}` asks, but no way leads on from either answer.",
        "Connect at least one of: {choices}.",
    ),
    Rule(
        "conditions-missing",
        _W,
        "`{name}` has no condition: it always takes its way `false`.",
        "Add a condition, or remove the node.",
    ),
    Rule(
        "condition-empty",
        _W,
        "A condition of `{name}` is empty and never holds.",
        "Write what the output is compared with, or remove the condition.",
    ),
    Rule(
        "rule-empty",
        _W,
        "A rule of `{name}` compares with nothing.",
        "Write what it is compared with, or choose an operator such as `empty`.",
    ),
    Rule("unreachable", _W, "No way leads to `{name}`.", "Connect it, or remove it."),
    Rule(
        "cycle-unbounded",
        _W,
        "Nothing ends this circle but the limit of visits: {path}.",
        "Put a node that chooses into it, such as an if or a loop.",
    ),
    Rule(
        "loop-over-steps",
        _W,
        "The loop `{name}` may make {steps} steps, but a run of this workflow ends at {most}.",
        "Lower its rounds, or raise the steps in the settings.",
    ),
    Rule(
        "loop-without-return",
        _W,
        "From the body of `{name}` no way leads back to it: it has one round.",
        "Connect the last step of its body with its way back.",
    ),
    Rule(
        "loop-back-outside",
        _E,
        "`{other}` leads back to the loop `{name}` but is not in its body.",
        "Connect it with the loop's ordinary way in.",
    ),
    Rule(
        "merge-without-parallel",
        _W,
        "No parallel opened the branches that come together at `{name}`.",
        "Put a parallel before them, or use a join instead of the merge.",
    ),
    Rule(
        "parallel-without-merge",
        _W,
        "What `{name}` opens never comes together: a branch of it that fails ends the run.",
        "Let its branches lead to a merge.",
    ),
    Rule(
        "transfer-in-loop",
        _E,
        "The transfer `{name}` is in the body of the loop `{other}`.",
        "Put it behind the loop's exit.",
    ),
    Rule(
        "transfer-in-parallel",
        _E,
        "The transfer `{name}` is in a branch of the parallel `{other}`.",
        "Put it behind the merge.",
    ),
    Rule("join-count-missing", _E, "`{name}` waits for a number of branches, but not for how many.", "Say how many."),
    Rule("join-count-high", _E, "`{name}` waits for more branches than lead to it.", "It must be at most {most}."),
    Rule(
        "join-starved",
        _E,
        "Too few branches can come to go on at: {names}.",
        "Let each wait for fewer branches, or connect what is to come.",
    ),
    Rule(
        "join-deadlock",
        _E,
        "These can only wait for one another: {names}.",
        "Let one of them run for each or for any branch, or remove the way between them.",
    ),
    # Templates.
    Rule(
        "label-unknown",
        _W,
        "The template in `{name}` names `{value}`, which no node is called: it stays as it is.",
        "Write the name of a node, or PREVIOUS_OUTPUT or trigger.",
    ),
    Rule(
        "label-twice",
        _W,
        "The template in `{name}` names `{value}`, which several nodes are called.",
        "Give each of them a name of its own.",
    ),
)

RULES: Mapping[str, Rule] = {rule.code: rule for rule in _RULES}


def problem(
    code: str, *, node: str | None = None, connection: str | None = None, field: str | None = None, **values: str | int
) -> Problem:
    """Return the problem for this rule, with its placeholders filled from `values`; an unknown placeholder stays
    unchanged."""
    rule = RULES[code]
    shown = {name: _cut(str(value), _LONGEST_LIST if name in _LISTS else _LONGEST) for name, value in values.items()}
    return Problem(node, connection, field, code, rule.severity, _fill(rule.message, shown), _fill(rule.fix, shown))


def _fill(text: str, values: Mapping[str, str]) -> str:
    return _PLACE.sub(lambda place: values.get(place[1], place[0]), text)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"

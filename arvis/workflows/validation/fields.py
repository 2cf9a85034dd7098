"""Check the values of fields (of a node, of the settings and of the document itself), the names in templates, and
whether agents have the web search tool.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.regex import regex
from arvis.domain.reply_format import UnusableSchema, check_schema
from arvis.workflows.document.kinds import LARGEST, Field, Form
from arvis.workflows.document.view import Drawing, Node
from arvis.workflows.validation.rules import Problem, problem

# -- names in the templates of nodes -----------------------------------------------------------------------------------


_PLACE = regex(r"\{\{([^{}]{1,300})\}\}")
#: Names that every run has (`templates.py`).
_ALWAYS = frozenset({"PREVIOUS_OUTPUT", "trigger"})
_SPACE = " \t\r\n"


def check_templates(drawing: Drawing) -> Iterator[Problem]:
    called: dict[str, int] = {}
    for node in drawing.nodes.values():
        called[node.name] = called.get(node.name, 0) + 1
    for node in drawing.nodes.values():
        for field, text in _templates(node.data, node.kind.fields if node.kind else (), ""):
            yield from _check_text(text, node, field, called)


def _templates(data: Mapping[str, Any], fields: Sequence[Field], above: str) -> Iterator[tuple[str, str]]:
    """Yield each text that may contain templates, with the path of its field."""
    for field in fields:
        value, path = data.get(field.name), f"{above}{field.name}"
        if field.template:
            yield from ((path, text) for text in _texts(value))
        if field.form is Form.ROWS and isinstance(value, list):
            for index, row in enumerate(value):
                if isinstance(row, Mapping):
                    yield from _templates(row, field.fields, f"{path}.{index}.")


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a value, in order. The values of an object are sorted by name, because some databases change
    their order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list)):
        for each in [value[name] for name in sorted(value)] if isinstance(value, Mapping) else value:
            yield from _texts(each)


def _check_text(text: str, node: Node, field: str, called: Mapping[str, int]) -> Iterator[Problem]:
    """Report each name in a template that is the label of no node, or of several nodes. Report each name once."""
    for name in dict.fromkeys(found.strip(_SPACE) for found in _PLACE.findall(text)):
        if name in _ALWAYS:
            continue
        label = _label(name, called)
        if label is None:
            yield problem("label-unknown", node=node.id, field=field, name=node.name, value=name)
        elif called[label] > 1:
            yield problem("label-twice", node=node.id, field=field, name=node.name, value=label)


def _label(name: str, called: Mapping[str, int]) -> str | None:
    """Return the longest label with which the name begins, because labels may contain dots; None if no label fits."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        label = ".".join(parts[:end]).strip(_SPACE)
        if label in called:
            return label
    return None


# -- values of fields --------------------------------------------------------------------------------------------------


#: The provider of a model without a provider in its name.
_BARE = "anthropic"
_WANTED: Mapping[Form, str] = {
    Form.LINE: "text",
    Form.TEXT: "text",
    Form.CHOICE: "text",
    Form.NUMBER: "a whole number",
    Form.SWITCH: "true or false",
    Form.ROWS: "a list",
    Form.LIST: "a list",
    Form.SWITCHES: "an object",
    Form.OBJECT: "an object",
}


@dataclass(frozen=True, slots=True)
class KnownNames:
    """The names that a document may use. If a collection is None, its names are unknown and not checked."""

    #: The ids and slugs of agents.
    agents: Collection[str] | None = None
    #: The ids and slugs of the agents that can search the web.
    searching: Collection[str] | None = None
    tools: Collection[str] | None = None
    #: The servers whose tools are not known before the servers are connected.
    servers: Collection[str] = ()
    #: `provider/model`, names without a provider, and `provider/*` for every model of a provider.
    models: Collection[str] | None = None
    #: The ids and slugs of workflows.
    workflows: Collection[str] | None = None
    #: The kinds of triggers for which a schedule or webhook of this workflow exists.
    begun: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class FieldLocation:
    """The location of a value."""

    #: The id of the node (None: the document).
    node: str | None
    #: The label of the node.
    name: str
    #: The path of the fields above the value.
    above: str = ""

    def under(self, part: str) -> FieldLocation:
        return FieldLocation(self.node, self.name, f"{self.above}{part}.")

    def problem(self, code: str, field: str, **values: str | int) -> Problem:
        named: dict[str, str | int] = {"name": self.name, **values}
        return problem(code, node=self.node, connection=None, field=f"{self.above}{field}", **named)


def check_fields(
    values: Mapping[str, Any], fields: Sequence[Field], place: FieldLocation, known: KnownNames
) -> Iterator[Problem]:
    """Check the fields. Unknown fields are ignored."""
    for field in fields:
        value = values.get(field.name)
        if value is None or value == "":
            if field.required:
                yield place.problem("field-missing", field.name, label=field.label)
            if value is None or field.form in _TEXTS:
                continue
        if not _fits(value, field.form):
            yield place.problem("field-form", field.name, label=field.label, wanted=_WANTED[field.form])
            continue
        if field.schema and not _is_schema(value):
            yield place.problem("field-form", field.name, label=field.label, wanted="a valid JSON Schema")
        yield from _check_bounds(value, field, place)
        yield from _check_inside(value, field, place, known)
        yield from _check_names(value, field, place, known)


def _is_schema(value: Mapping[str, Any]) -> bool:
    try:
        check_schema(value)
    except UnusableSchema:
        return False
    return True


_TEXTS = frozenset({Form.LINE, Form.TEXT, Form.CHOICE})


def _fits(value: Any, form: Form) -> bool:
    match form:
        case Form.NUMBER:
            return is_whole(value)
        case Form.SWITCH:
            return isinstance(value, bool)
        case Form.ROWS | Form.LIST:
            return isinstance(value, list)
        case Form.SWITCHES | Form.OBJECT:
            return isinstance(value, Mapping)
        case _:
            return isinstance(value, str)


def is_whole(value: Any) -> bool:
    """Return whether the value is a whole number of less than `LARGEST`; the editor would read a larger number as
    another value. True and false are not numbers."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST


def _check_bounds(value: Any, field: Field, place: FieldLocation) -> Iterator[Problem]:
    least, most = field.least, field.most
    match field.form:
        case Form.NUMBER:
            size, low, high = value, "field-low", "field-high"
        case Form.ROWS | Form.LIST:
            size, low, high = len(value), "field-few", "field-many"
        case Form.LINE | Form.TEXT:
            size, low, high, least = len(value), "", "field-long", None
        case Form.CHOICE:
            if value not in field.choices:
                choices = ", ".join(choice for choice in field.choices if choice)
                yield place.problem("field-choice", field.name, label=field.label, choices=choices)
            return
        case _:
            return
    if least is not None and size < least:
        yield place.problem(low, field.name, label=field.label, least=least)
    if most is not None and size > most:
        yield place.problem(high, field.name, label=field.label, most=most)


def _check_inside(value: Any, field: Field, place: FieldLocation, known: KnownNames) -> Iterator[Problem]:
    inside = place.under(field.name)
    match field.form:
        case Form.SWITCHES:
            yield from check_fields(value, field.fields, inside, known)
        case Form.LIST:
            for index, entry in enumerate(value[: field.most]):
                if not isinstance(entry, str) or entry == "":
                    yield inside.problem("field-form", str(index), label=field.label, wanted="a list of texts")
        case Form.ROWS:
            for index, row in enumerate(value[: field.most]):
                if isinstance(row, Mapping):
                    yield from check_fields(row, field.fields, inside.under(str(index)), known)
                else:
                    yield inside.problem("field-form", str(index), label=field.label, wanted="a list of objects")
        case _:
            return


def _check_names(value: Any, field: Field, place: FieldLocation, known: KnownNames) -> Iterator[Problem]:
    match field.offers:
        case "agents":
            code, there = "agent-unknown", known.agents
        case "tools":
            code, there = "tool-unknown", known.tools
        case "workflows":
            code, there = "workflow-unknown", known.workflows
        case "models":
            code, there = "model-unknown", known.models
        case _:
            return
    if there is None:
        return
    for name in value if isinstance(value, list) else [value]:
        if not isinstance(name, str) or name in there:
            continue
        server, dot, _ = name.partition(".")
        if code == "tool-unknown" and (server if dot else "") in known.servers:
            yield place.problem("tool-offline", field.name, value=name)
        elif code != "model-unknown" or f"{provider_of(name)}/*" not in there:
            yield place.problem(code, field.name, value=name)


def provider_of(model: str) -> str:
    """Return the provider that the name of a model contains, or the default provider if it contains none."""
    return model.partition("/")[0] if "/" in model else _BARE


# -- content of conditions, tools of agents ----------------------------------------------------------------------------


SEARCH = "web_search"
#: Operators that need a value. `equals` and `not_equals` are not in this list, because they can compare with an empty
#: value. All other operators that are not in this list examine only the field.
_COMPARING = frozenset(
    {
        *("contains", "not_contains", "starts_with", "ends_with", "matches"),
        *("greater", "less", "at_least", "at_most"),
    }
)


def check_routing(drawing: Drawing) -> Iterator[Problem]:
    for node in drawing.nodes.values():
        if node.type == "if":
            yield from _check_if(node)
        elif node.type == "condition":
            for index, row in enumerate(_rows(node, "rules")):
                if isinstance(row, Mapping) and row.get("operator") in _COMPARING and _is_blank(row.get("value")):
                    yield problem("rule-empty", node=node.id, field=f"rules.{index}.value", name=node.name)


def _check_if(node: Node) -> Iterator[Problem]:
    rows = _rows(node, "conditions")
    if not rows:
        yield problem("conditions-missing", node=node.id, field="conditions", name=node.name)
    for index, row in enumerate(rows):
        if isinstance(row, Mapping) and _is_blank(row.get("value")):
            yield problem("condition-empty", node=node.id, field=f"conditions.{index}.value", name=node.name)


def check_searching(drawing: Drawing, known: KnownNames) -> Iterator[Problem]:
    """Report nodes whose agent should search the web but has no tool for that. If neither the node nor the document
    names an agent, nothing is checked, because the agent is unknown until the run begins."""
    for node in drawing.nodes.values():
        switches = node.data.get("tools") if node.type == "agent" else None
        if not isinstance(switches, Mapping) or switches.get(SEARCH) is not True:
            continue
        agent = _named(node.data.get("agent")) or _named(drawing.agent)
        absent = known.tools is not None and SEARCH not in known.tools
        if absent or (agent and known.searching is not None and agent not in known.searching):
            yield problem("web-search-missing", node=node.id, field=f"tools.{SEARCH}", name=node.name)


def _rows(node: Node, field: str) -> list[Any]:
    rows = node.data.get(field)
    return rows if isinstance(rows, list) else []


def _is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and not value.strip(_SPACE))


def _named(value: Any) -> str:
    return value if isinstance(value, str) else ""

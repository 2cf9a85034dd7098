"""Convert another program's playbooks to documents of Arvis that follow the execution rules of that program.

All nodes of a playbook have the type `workflow`. `data.subtype` contains their kind, and `data.config` their fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from arvis.domain.regex import regex
from arvis.workflows.document.kinds import JOIN, KINDS, LOOP_BACK, SUBAGENT

#: For each kind of node: the names of its fields in playbooks, each with the name in Arvis. A field that is not listed
#: keeps its name.
_NAMES: Mapping[str, Mapping[str, str]] = {
    "trigger": {"triggerDescription": "description"},
    "agent": {"agentId": "agent", "additionalPrompt": "systemPrompt", "userMessage": "userPrompt"},
    "tool-call": {"agentId": "agent", "defaults": "arguments", "preCallDescription": "review"},
    "router": {"agentId": "agent", "classificationPrompt": "prompt"},
    "condition": {"agentId": "agent"},
    "wait": {"delayAmount": "amount", "delayUnit": "unit"},
    "sub-workflow": {"workflowId": "workflow"},
    "user-input": {"promptText": "prompt"},
    "response": {"responseTemplate": "template"},
    "transfer": {"targetWorkflowId": "workflow"},
}
_OPERATORS: Mapping[str, str] = {
    "=": "equals",
    "==": "equals",
    "===": "equals",
    "eq": "equals",
    "equal": "equals",
    "is": "equals",
    "!=": "not_equals",
    "!==": "not_equals",
    "ne": "not_equals",
    "neq": "not_equals",
    "not_equal": "not_equals",
    "is_not": "not_equals",
    "includes": "contains",
    "not_includes": "not_contains",
    "does_not_contain": "not_contains",
    ">": "greater",
    "gt": "greater",
    "greater_than": "greater",
    "<": "less",
    "lt": "less",
    "less_than": "less",
    ">=": "at_least",
    "gte": "at_least",
    "greater_or_equal": "at_least",
    "greater_than_or_equal": "at_least",
    "<=": "at_most",
    "lte": "at_most",
    "less_or_equal": "at_most",
    "less_than_or_equal": "at_most",
    "is_empty": "empty",
    "is_not_empty": "not_empty",
    "regex": "matches",
}
#: The kinds of triggers that have another name in Arvis: the name in playbooks, and the name in Arvis.
_TRIGGERS: Mapping[str, str] = {"sulla-desktop": "dashboard"}
_TRIGGER_KINDS = frozenset({"sulla-desktop", *KINDS["trigger"].fields[0].choices})
#: The kinds of nodes that have their own rule for joining branches.
_OWN_JOIN = frozenset({"merge", "loop"})
_DIGITS = regex("[0-9]{1,6}")
_HUMP = regex("([a-z])([A-Z])")
#: All programming languages write a number between these limits with the same digits, without an exponent.
_SMALLEST, _LARGEST = 1e-4, 1e15


def node(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node of a playbook in the form of Arvis, and any other node unchanged."""
    known, data = dict(given), given["data"]
    if known.get("type") != "workflow" or not isinstance(data, Mapping) or not isinstance(data.get("subtype"), str):
        return known
    config = data.get("config")
    kind, more = _kind(data["subtype"], data.get("category"))
    label = data.get("label")
    if isinstance(label, str) and label and "label" not in known:
        known["label"] = label
    known["type"] = kind
    known["data"] = {**_data(kind, config), **more} if config is None or isinstance(config, Mapping) else config
    return known


def _kind(subtype: str, category: Any) -> tuple[str, dict[str, Any]]:
    if category == "trigger" or (subtype in _TRIGGER_KINDS and subtype not in KINDS):
        return "trigger", {"kind": _TRIGGERS.get(subtype, subtype)}
    return subtype, {}


def _data(kind: str, config: Mapping[str, Any] | None) -> dict[str, Any]:
    names = _NAMES.get(kind, {})
    data = {names.get(name, name): value for name, value in (config or {}).items()}
    if kind == "agent":
        _take_contract(data)
    if kind == "tool-call":
        _take_tool(data)
    if kind == "condition":
        _take_rules(data)
    for name in ("amount", "maxIterations"):
        if isinstance(data.get(name), str) and _DIGITS.fullmatch(data[name]):
            data[name] = int(data[name])
    return data


def _take_contract(data: dict[str, Any]) -> None:
    """If the completion contract is a text, append it to the instructions. Then replace it by True, or by False if it
    is empty."""
    contract = data.get("completionContract")
    if isinstance(contract, str):
        before = data.get("systemPrompt")
        if contract and (before is None or isinstance(before, str)):
            data["systemPrompt"] = f"{before}\n\n{contract}" if before else contract
        data["completionContract"] = contract != ""


def _take_tool(data: dict[str, Any]) -> None:
    slug, endpoint = data.get("integrationSlug"), data.get("endpointName")
    parts = [part for part in (slug, endpoint) if isinstance(part, str) and part]
    if parts and "tool" not in data:
        data.pop("integrationSlug", None)
        data.pop("endpointName", None)
        data["tool"] = ".".join(parts)


def _take_rules(data: dict[str, Any]) -> None:
    if isinstance(data.get("combinator"), str):
        data["combinator"] = data["combinator"].lower()
    if isinstance(data.get("rules"), list):
        data["rules"] = [_rule(rule) if isinstance(rule, Mapping) else rule for rule in data["rules"]]


def _rule(rule: Mapping[str, Any]) -> dict[str, Any]:
    known = dict(rule)
    operator = known.get("operator")
    if isinstance(operator, str):
        word = _HUMP.sub(r"\1_\2", operator).lower().replace("-", "_").replace(" ", "_")
        known["operator"] = _OPERATORS.get(word, word)
    if "value" in known:
        known["value"] = _text(known["value"])
    return known


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)) and (value == 0 or _SMALLEST <= abs(value) < _LARGEST):
        return str(int(value)) if value == int(value) else str(value)
    return value


def with_its_rules(document: Mapping[str, Any]) -> dict[str, Any]:
    """Apply the execution rules of playbooks: a node begins when all nodes before it are done, and connections without
    a handle are always followed."""
    known = dict(document)
    if isinstance(known["settings"], Mapping):
        known["settings"] = {"unlabelled": "follow", **known["settings"]}
    if isinstance(known["nodes"], list) and isinstance(known["connections"], list):
        arriving = _arriving(known["connections"])
        known["nodes"] = [_joining(each, arriving) for each in known["nodes"]]
    return known


def _arriving(connections: list[Any]) -> dict[str, int]:
    """Return, for each node, the number of connections that lead to it. Connections to subagents and connections back
    into a loop are not counted."""
    counts: dict[str, int] = {}
    for each in connections:
        if not isinstance(each, Mapping) or not isinstance(each.get("target"), str):
            continue
        if each["sourceHandle"] != SUBAGENT and each["targetHandle"] != LOOP_BACK:
            counts[each["target"]] = counts.get(each["target"], 0) + 1
    return counts


def _joining(each: Any, arriving: Mapping[str, int]) -> Any:
    if not isinstance(each, Mapping) or not isinstance(each.get("id"), str) or not isinstance(each["data"], Mapping):
        return each
    kind = KINDS.get(each["type"]) if isinstance(each.get("type"), str) else None
    if arriving.get(each["id"], 0) < 2 or (kind is not None and (kind.begins or kind.name in _OWN_JOIN)):  # noqa: PLR2004 - a join needs two
        return each
    return {**each, "data": {JOIN.name: "all", **each["data"]}}

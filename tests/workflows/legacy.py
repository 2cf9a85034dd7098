"""Conversion of drawn documents to the two older formats that Arvis imports."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

from arvis.workflows.document import playbooks

Document = dict[str, Any]

#: Kind -> the name of each of its fields in the playbook format.
_THEIRS = {kind: {ours: theirs for theirs, ours in names.items()} for kind, names in playbooks._NAMES.items()}


def seed_002(chance: Random, drawn: Document) -> Document:
    """Convert to the format without a version, settings and connection ids.

    In this format, an if can have a single condition, and an approval can have the kind `input`.
    """
    if not _lists(drawn):
        return drawn
    nodes = [_old_node(chance, node) for node in drawn["nodes"]]
    kinds = {
        node.get("id"): node.get("type") for node in nodes if isinstance(node, dict) and isinstance(node.get("id"), str)
    }
    return {"nodes": nodes, "connections": [_old_connection(chance, one, kinds) for one in drawn["connections"]]}


def _lists(drawn: Document) -> bool:
    return isinstance(drawn.get("nodes"), list) and isinstance(drawn.get("connections"), list)


def _old_node(chance: Random, node: Any) -> Any:
    if not isinstance(node, dict) or not isinstance(node.get("data"), dict):
        return node
    known, data = dict(node), dict(node["data"])
    if known.get("type") == "approval" and chance.random() < 0.5:
        known["type"] = "input"
    rows = data.get("conditions")
    if known.get("type") == "if" and isinstance(rows, list) and len(rows) == 1 and isinstance(rows[0], dict):
        del data["conditions"]
        data["condition"] = chance.choice((rows[0].get("value"), rows[0]))
    if known.get("type") == "agent":
        data["collapsed"] = True
    known["data"] = data
    if not data and chance.random() < 0.5:
        del known["data"]
    return known


def _old_connection(chance: Random, one: Any, kinds: Mapping[Any, Any]) -> Any:
    if not isinstance(one, dict):
        return one
    known = {name: value for name, value in one.items() if name != "id"}
    source = one.get("source")
    if known.get("sourceHandle") == "condition-0" and isinstance(source, str) and kinds.get(source) == "if":
        known["sourceHandle"] = "true"
    for name, plain in (("sourceHandle", "output"), ("targetHandle", "input")):
        if known.get(name) == "":
            known[name] = chance.choice((plain, None))
            if chance.random() < 0.3:
                del known[name]
    return known


def playbook_2_7(chance: Random, drawn: Document) -> Document:
    """Convert to the playbook format.

    All nodes have the type `workflow` with a subtype and a config. Connections are called edges.
    """
    if not _lists(drawn):
        return drawn
    edges = [{**one, "animated": True} if isinstance(one, dict) else one for one in drawn["connections"]]
    return {
        "id": "wf-1",
        "name": "Of another program",
        "version": 1,
        "enabled": True,
        "nodes": [_their_node(chance, node) for node in drawn["nodes"]],
        "edges": [
            {name: value or None if "Handle" in name else value for name, value in one.items()}
            if isinstance(one, dict)
            else one
            for one in edges
        ],
        "viewport": {"x": 0, "y": 0, "zoom": 1.0},
    }


def _their_node(chance: Random, node: Any) -> Any:
    if not isinstance(node, dict) or not isinstance(node.get("data"), dict) or not isinstance(node.get("type"), str):
        return node
    data, kind = node["data"], node["type"]
    names = _THEIRS.get(kind, {})
    config = {names.get(name, name): value for name, value in data.items()}
    subtype = kind
    if kind == "trigger":
        subtype = chance.choice((str(data.get("kind")), "sulla-desktop", "workbench"))
        config.pop("kind", None)
    _their_words(chance, config)
    about = {
        "subtype": subtype,
        "category": "trigger" if kind == "trigger" else "flow",
        "label": node.get("label", kind),
        "config": config,
    }
    return {
        "id": node.get("id"),
        "type": "workflow",
        "position": {"x": node.get("x"), "y": node.get("y")},
        "data": about,
    }


def _their_words(chance: Random, config: Document) -> None:
    if isinstance(config.get("rules"), list):
        words = ("==", "notEquals", "greaterThan", "is not", ">=", "Does-Not-Contain", "regex", "constructor", "ÄLESS")
        values = (1, 1.0, 2.5, 0.00001, 1e15, 123456.789, True, -0.0, None, "x", [1])
        for rule in config["rules"]:
            if isinstance(rule, dict) and chance.random() < 0.6:
                rule |= {"operator": chance.choice(words), "value": chance.choice(values)}
        config["combinator"] = chance.choice(("AND", "or", "xor"))
    if "tool" in config and chance.random() < 0.7:
        config |= {"integrationSlug": "house", "endpointName": config.pop("tool")}
    if "maxIterations" in config and chance.random() < 0.3:
        config["maxIterations"] = chance.choice(("3", "007", "1234567", "x"))
    if "completionContract" in config:
        config["completionContract"] = chance.choice(("Say what you did.", "", True))

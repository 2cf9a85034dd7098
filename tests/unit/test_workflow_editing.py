"""The editor's changes of documents, run in Node: every change can be undone and redone, and no connection is left
without a node. The texts of the kinds of nodes are filled in."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

from arvis.workflows.document.kinds import KINDS
from tests.conftest import require

SCRIPTS = Path(__file__).parents[1] / "workflows"
UI = Path(__file__).parents[2] / "arvis" / "web" / "ui"
BUNDLER = UI / "node_modules" / "rolldown" / "bin" / "cli.mjs"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Edited:
    """The results of a list of actions."""

    after: list[Json]  # the document after each action
    steps: int  # the number of steps that can be undone
    undone: Json  # the document after all undo
    redone: Json  # the document after all redo


Edit = Callable[[Json, list[Json]], Edited]


@pytest.fixture(scope="module")
def edit(tmp_path_factory: pytest.TempPathFactory) -> Edit:
    node = require("node")
    bundle = bundled("editing.mjs", node, tmp_path_factory.mktemp("editing"))

    def run(document: Json, actions: list[Json]) -> Edited:
        line = json.dumps({"document": document, "actions": actions})
        answer = subprocess.run(
            [node, bundle], input=line.encode(), stdout=subprocess.PIPE, timeout=60, check=True
        ).stdout
        return Edited(**json.loads(answer))

    return run


def bundled(script: str, node: Path, folder: Path) -> Path:
    """Bundle the script and its imports from the dashboard into one file, in the same way as for browsers."""
    assert BUNDLER.exists(), "run: python hatch_build.py --checks"
    bundle, entry = folder / script, SCRIPTS / script
    options = ["--format", "esm", "--platform", "node", "--log-level", "silent"]
    subprocess.run(
        [node, BUNDLER, entry, "--file", bundle, *options], cwd=UI, stdout=subprocess.DEVNULL, timeout=120, check=True
    )
    return bundle


def chosen_by(operator: str = "equal") -> Json:
    rows = [{"operator": operator, "value": value} for value in ("one", "two", "three")]
    lines = [
        {"id": f"c{at}", "source": "i", "sourceHandle": way, "target": target, "targetHandle": ""}
        for at, (way, target) in enumerate([("condition-0", "x"), ("condition-2", "z"), ("false", "y")], 1)
    ]
    nodes = [{"id": "i", "type": "if", "x": 0, "y": 0, "data": {"conditions": rows}}]
    nodes += [{"id": name, "type": "response", "x": 0, "y": 0, "data": {}} for name in "xyz"]
    return {"schema": 1, "settings": {}, "nodes": nodes, "connections": lines}


def row(**change: object) -> Json:
    return {"do": "row", "id": "i", "field": "conditions", "change": change}


def ways(document: Json) -> set[tuple[str, str]]:
    return {(line["sourceHandle"], line["target"]) for line in document["connections"]}


def test_connections_go_with_their_rows_and_end_with_them(edit: Edit) -> None:
    moved, removed, added = edit(
        chosen_by(), [row(do="move", row=2, to=0), row(do="remove", row=1), row(do="add", row={"value": "four"})]
    ).after
    assert ways(moved) == {("condition-0", "z"), ("condition-1", "x"), ("false", "y")}
    assert ways(removed) == {("condition-0", "z"), ("false", "y")}
    assert ways(added) == ways(removed)
    assert [one["value"] for one in added["nodes"][0]["data"]["conditions"]] == ["three", "two", "four"]


def test_the_letters_of_a_word_are_one_step(edit: Edit) -> None:
    typed = [{"do": "set", "id": "x", "field": "template", "value": "Hello"[:length]} for length in range(1, 6)]
    assert edit(chosen_by(), typed).steps == 1
    assert edit(chosen_by(), [*typed[:2], {"do": "rest"}, *typed[2:]]).steps == 2


def test_what_is_pasted_has_names_of_its_own(edit: Edit) -> None:
    document = chosen_by()
    clip = {"nodes": document["nodes"], "connections": document["connections"]}
    (pasted,) = edit(document, [{"do": "paste", "clip": clip}]).after
    assert len(pasted["nodes"]) == 8
    assert_sound(pasted)


def test_an_arranged_document_has_no_steps_on_one_another(edit: Edit) -> None:
    (arranged,) = edit(chosen_by(), [{"do": "arrange"}]).after
    places = [(node["x"], node["y"]) for node in arranged["nodes"]]
    assert len(set(places)) == len(places)
    assert all(x > places[0][0] for x, _ in places[1:])


def test_whatever_is_done_can_be_taken_back_and_done_again(edit: Edit) -> None:
    chance = Random(9)
    names = [f"{kind}-{number}" for kind in KINDS for number in (1, 2)] + ["i", "x", "y", "z"]
    actions = [draw(chance, names) for _ in range(180)]
    start = chosen_by()
    edited = edit(start, actions)
    for document in edited.after:
        assert_sound(document)
    assert edited.steps >= 100
    assert edited.undone == start
    assert edited.redone == edited.after[-1]


def draw(chance: Random, names: list[str]) -> Json:
    """Return a random action, which may name missing nodes."""
    one, other = chance.choice(names), chance.choice(names)
    way = chance.choice(["", "false", "condition-0", "subagent"])
    line = {"source": one, "sourceHandle": way, "target": other, "targetHandle": ""}
    actions: list[Json] = [
        *({"do": "add", "kind": chance.choice(list(KINDS)), "at": {"x": 7, "y": 900}} for _ in range(4)),
        {"do": "nudge", "ids": [one, other], "by": {"x": 20, "y": -40}},
        {"do": "set", "id": one, "field": "prompt", "value": other},
        {"do": "label", "id": one, "label": chance.choice(["", "Name"])},
        {"do": "connect", "connection": line},
        {"do": "remove", "nodes": [one]},
        {"do": "arrange"},
        row(do="add", row={"operator": "equal", "value": "new"}),
        row(do="remove", row=chance.randrange(3)),
        row(do="move", row=chance.randrange(3), to=chance.randrange(3)),
    ]
    return chance.choice(actions)


def assert_sound(document: Json) -> None:
    """Check that ids are unique and that all nodes are on the grid."""
    for things in (document["nodes"], document["connections"]):
        names = [thing["id"] for thing in things]
        assert len(set(names)) == len(names)
    for node in document["nodes"]:
        assert (node["x"] % 20, node["y"] % 20) == (0, 0)


#: A kind, its data, its summary, and the names of its outputs.
SHOWN = [
    ("start", {}, "Input of the run", ["Next"]),
    ("start", {"initialInput": " Hello "}, "Hello", ["Next"]),
    ("trigger", {"kind": "webhook"}, "A web hook is called", ["Next"]),
    ("trigger", {"kind": "webhook", "description": "News"}, "News", ["Next"]),
    ("agent", {"systemPrompt": "Be brief."}, "Be brief.", ["Next", "Subagents"]),
    ("if", {}, "0 conditions", ["Otherwise"]),
    (
        "if",
        {"conditions": [{"value": "yes"}, {"operator": "contains", "value": "no"}, {"operator": "contains"}]},
        "3 conditions",
        ["is “yes”", "contains “no”", "a condition without a value", "Otherwise"],
    ),
    ("router", {"routes": [{"label": "Calm"}, {"label": ""}, None]}, "3 routes", ["Calm", "Route 2", "Route 3"]),
    ("condition", {"rules": [{}]}, "1 rule", ["True", "False"]),
    ("wait", {"amount": 0}, "0 seconds", ["Next"]),
    ("wait", {"amount": 2, "unit": ""}, "2 seconds", ["Next"]),
    ("wait", {"unit": "hours"}, "– hours", ["Next"]),
    ("loop", {"condition": ["no text"]}, "At most 10 repetitions", ["Each repetition", "Afterwards"]),
    ("merge", {"strategy": "first"}, "With the first that arrives", ["Next"]),
    ("merge", {"strategy": "unknown"}, "unknown", ["Next"]),
    ("transfer", {"workflow": "{amount}"}, "{amount}", []),
]


def test_the_texts_of_a_node_are_filled_from_its_fields(tmp_path: Path) -> None:
    node = require("node")
    lines = "".join(f"{json.dumps({'type': kind, 'data': data})}\n" for kind, data, *_ in SHOWN)
    bundle = bundled("showing.mjs", node, tmp_path)
    answer = subprocess.run([node, bundle], input=lines.encode(), stdout=subprocess.PIPE, timeout=60, check=True).stdout
    shown = [json.loads(line) for line in answer.splitlines()]
    assert [(each["summary"], each["ways"]) for each in shown] == [(summary, ways) for *_, summary, ways in SHOWN]

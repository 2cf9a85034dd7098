"""Random workflows as people might draw them: all kinds of nodes, nested in all ways that the rules allow.

Each of them can run to its end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from arvis.workflows.document.kinds import LOOP_BACK, SUBAGENT

#: The start of a connection: a node and one of its outputs.
Exit = tuple[str, str]
Document = dict[str, Any]

_WORDS = ("report", "draft", "order 12", "yes", "no", "äöü", "日本", "🎉 party", "a\nb", "x" * 99)
_TASKS = ("", "Summarise {{PREVIOUS_OUTPUT}}.", "Answer {{trigger}}", "Say yes.", "Go on.", "{{Label.result}}")
_OPERATORS = ("equals", "not_equals", "contains", "greater", "at_most", "empty", "exists", "starts_with")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a drawing with its entry and its exits. Nothing can follow a part without exits."""

    entry: str
    exits: list[Exit]


class Drawing:
    """Draws one document. It stops nesting at about `most` nodes."""

    def __init__(self, chance: Random, *, most: int) -> None:
        self._chance, self._most = chance, most
        self._nodes: list[Document] = []
        self._connections: list[Document] = []

    def document(self) -> Document:
        exits = self._beginnings()
        self._follow(exits, self._chain(3, free=True))
        if self._often(0.15):
            self._chain(1, free=False)
        drawn: Document = {
            "schema": 1,
            "settings": self._settings(),
            "nodes": self._nodes,
            "connections": self._connections,
        }
        if self._often(0.3):
            drawn["name"] = self._word()
            drawn["description"] = self._word()
        return drawn

    def _settings(self) -> Document:
        known = {
            "pauses": self._one("run", "branch"),
            "unlabelled": self._one("skip", "skip", "follow"),
            "maxSteps": self._one(200, 300, 400),
            "maxVisits": self._one(5, 10, 20),
        }
        return {name: value for name, value in known.items() if name.startswith("max") or self._often(0.5)}

    def _beginnings(self) -> list[Exit]:
        many = self._one(1, 1, 1, 2, 3)
        if many == 1 and self._often(0.8):
            return [(self._node("start", initialInput=self._word()), "")]
        kinds = self._chance.sample(("message", "manual", "schedule", "webhook"), many)
        return [(self._node("trigger", kind=kind, description=self._word()), "") for kind in kinds]

    # --- parts ---

    def _chain(self, depth: int, *, free: bool) -> Part:
        """Draw parts one after the other. `free`: outside loops and parallel steps, where a transfer of the run is
        allowed."""
        first = self._part(depth, free=free)
        exits = first.exits
        for _ in range(self._one(0, 1, 1, 2)):
            if not exits:
                break
            part = self._part(depth, free=free)
            self._follow(exits, part)
            exits = part.exits
        if free and depth == 3 and exits and self._often(0.15):
            self._follow(exits, Part(self._node("transfer", workflow="another"), []))
            exits = []
        return Part(first.entry, exits)

    def _part(self, depth: int, *, free: bool) -> Part:
        if depth <= 0 or len(self._nodes) >= self._most:
            return self._plain()
        draw = self._one(
            *(self._plain,) * 5,
            *(lambda: self._choice(depth, free=free),) * 3,
            *(lambda: self._loop(depth),) * 1,
            *(lambda: self._parallel(depth),) * 2,
            *(lambda: self._fan(depth, free=free),) * 1,
            *(self._family,) * 1,
        )
        part: Part = draw()
        return part

    def _plain(self) -> Part:
        kind = self._one("agent", "agent", "tool-call", "user-input", "wait", "sub-workflow", "response", "response")
        made: dict[str, Callable[[], Document]] = {
            "agent": self._agent_data,
            "tool-call": lambda: {"tool": "look", "arguments": {"words": self._one(*_TASKS)}},
            "user-input": lambda: {"prompt": self._word()},
            "wait": lambda: {"amount": self._one(0, 1, 2.0, 30), "unit": self._one("seconds", "minutes", "days")},
            "sub-workflow": lambda: {"workflow": "another", "awaitResponse": self._often(0.7)},
            "response": lambda: {"template": self._one(*_TASKS), "compose": self._often(0.2)},
        }
        name = self._node(kind, **made[kind]())
        return Part(name, [(name, "")])

    def _agent_data(self) -> Document:
        data: Document = {"userPrompt": self._one(*_TASKS)}
        if self._often(0.2):
            data |= {"agentName": self._word(), "systemPrompt": self._word(), "tools": {"web_search": True}}
        if self._often(0.1):
            data |= {"beforePrompt": "What is it about?", "afterPrompt": "Shorter.", "completionContract": True}
        if self._often(0.05):
            data |= {"successCriteria": "It is short.", "reasoningEffort": self._one("", "low", "high")}
        return data

    def _choice(self, depth: int, *, free: bool) -> Part:
        """Draw a node that chooses one output. Some outputs are not connected, and some branches do not meet the others
        again."""
        name, ways = self._one(self._if, self._router, self._condition, self._approval)()
        led = [way for way in ways if self._often(0.75)] or [ways[0]]
        exits: list[Exit] = []
        for way in led:
            if way != led[0] and self._often(0.2):
                exits.append((name, way))
                continue
            branch = self._chain(depth - 1, free=free)
            self._connect((name, way), branch.entry)
            exits += branch.exits if self._often(0.7) else []
        if free and self._often(0.08):
            self._connect((name, self._one(*ways)), name)
        return Part(name, exits)

    def _if(self) -> tuple[str, list[str]]:
        rows = [
            {"operator": self._one("equal", "contains"), "value": self._one("yes", "", "e", self._word())}
            for _ in range(self._one(1, 2, 3))
        ]
        return self._node("if", conditions=rows), [*(f"condition-{at}" for at in range(len(rows))), "false"]

    def _router(self) -> tuple[str, list[str]]:
        rows = [{"label": f"way {at}", "description": self._word()} for at in range(self._one(1, 2, 4))]
        return self._node("router", routes=rows, prompt=self._one(*_TASKS)), [f"route-{at}" for at in range(len(rows))]

    def _condition(self) -> tuple[str, list[str]]:
        rules = [
            {
                "field": self._one("", "total", "a.b"),
                "operator": self._one(*_OPERATORS),
                "value": self._one("1", "e", ""),
            }
            for _ in range(self._one(1, 2))
        ]
        name = self._node("condition", rules=rules, combinator=self._one("and", "or"))
        return name, ["condition-true", "condition-false"]

    def _approval(self) -> tuple[str, list[str]]:
        data: Document = {"prompt": self._one("", "Go on?", "{{PREVIOUS_OUTPUT}}?")}
        if self._often(0.3):
            data |= {
                "deadlineMinutes": self._one(1, 60),
                "onExpiry": self._one("reject", "approve", "escalate", "fail"),
            }
            data |= {"escalateMinutes": 5} if data["onExpiry"] == "escalate" else {}
        return self._node("approval", **data), ["approve", "reject"]

    def _loop(self, depth: int) -> Part:
        data: Document = {"maxIterations": self._one(1, 2, 3)}
        if self._often(0.5):
            data |= {
                "condition": self._one("{{PREVIOUS_OUTPUT}} contains yes", "true", ""),
                "conditionMode": "template",
            }
        name = self._node("loop", **data)
        body = self._chain(depth - 1, free=False)
        self._connect((name, "loop-start"), body.entry)
        back = body.exits or [(self._ended(body.entry), "")]
        for way_out in back:
            self._connect(way_out, name, LOOP_BACK)
        return Part(name, [(name, "loop-exit")])

    def _ended(self, entry: str) -> str:
        """Add a plain node after the entry of a part without exits, and return it. A choice leads to it by one of its
        outputs."""
        plain = self._plain().entry
        used = [
            one["sourceHandle"]
            for one in self._connections
            if one["source"] == entry and one["sourceHandle"] != SUBAGENT
        ]
        self._connect((entry, used[0] if used else ""), plain)
        return plain

    def _parallel(self, depth: int) -> Part:
        name = self._node("parallel")
        merge = self._node("merge", **({"strategy": self._one("wait-all", "first")} if self._often(0.5) else {}))
        for _ in range(self._one(1, 2, 2, 3)):
            branch = self._chain(depth - 1, free=False)
            self._connect((name, ""), branch.entry)
            for way_out in branch.exits or [(self._ended(branch.entry), "")]:
                self._connect(way_out, merge)
        return Part(name, [(merge, "")])

    def _fan(self, depth: int, *, free: bool) -> Part:
        """Draw branches without a parallel step: each ends separately, or they meet at the next node."""
        first = self._plain()
        exits: list[Exit] = []
        for _ in range(self._one(2, 2, 3)):
            branch = self._chain(depth - 1, free=False)
            self._connect(first.exits[0], branch.entry)
            exits += branch.exits if self._often(0.8) else []
        return Part(first.entry, exits)

    def _family(self) -> Part:
        """Draw an agent with other agents as its tools."""
        name = self._node("agent", **self._agent_data() | {"tools": {"subagents": True}})
        parents = [name]
        for _ in range(self._one(1, 2, 3)):
            parent = self._one(*parents)
            self._named(parent)["data"]["tools"] = {"subagents": True}
            child = self._node("agent", **self._agent_data())
            self._connect((parent, SUBAGENT), child)
            parents.append(child)
        return Part(name, [(name, "")])

    # --- nodes and connections ---

    def _node(self, kind: str, /, **data: Any) -> str:
        name = f"{kind}-{len(self._nodes) + 1}"
        at = {"x": self._chance.randrange(2_000), "y": self._one(0, 120.5, 240)}
        node: Document = {"id": name, "type": kind, **at, "data": data}
        if self._often(0.4):
            node["label"] = f"{self._word()[:90]} {len(self._nodes)}"
        if not self._nodes:
            node["label"] = "Label"
        self._nodes.append(node)
        return name

    def _named(self, name: str) -> Document:
        return next(node for node in self._nodes if node["id"] == name)

    def _follow(self, exits: list[Exit], part: Part) -> None:
        """Connect all exits to the part. If there are several, the entry of the part may get a join rule."""
        for way_out in exits:
            self._connect(way_out, part.entry)
        if len(exits) > 1 and self._often(0.5):
            join = self._one("each", "all", "any", "n")
            self._named(part.entry)["data"] |= {"join": join} | ({"joinCount": self._one(1, 2)} if join == "n" else {})

    def _connect(self, way_out: Exit, target: str, into: str = "") -> None:
        source, handle = way_out
        made = {"source": source, "target": target, "sourceHandle": handle, "targetHandle": into}
        if any({**one, "id": ""} == {**made, "id": ""} for one in self._connections):
            return
        self._connections.append({"id": f"c{len(self._connections) + 1}", **made})

    # --- chance ---

    def _one(self, *choices: Any) -> Any:
        return self._chance.choice(choices)

    def _often(self, share: float) -> bool:
        return self._chance.random() < share

    def _word(self) -> str:
        word: str = self._one(*_WORDS)
        return word

"""The workflow of the campaign of workflows, with every kind of step that can be interrupted, and its model."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from aiohttp import web

from arvis.testing.openai_server import CallsTools, ReceivedRequest, Reply
from tests.crash.model import text_of

SLUG = "crash-course"
#: Agent node -> number of visits in a run. Each visit writes one `llm_response` line to the run's log.
VISITS = {"plan": 1, "check": 1, "body": 2, "final": 1}
#: The end of each run's output: the task of its last agent, which contains the run's input.
LAST = "Final of {input}"


def document() -> dict[str, Any]:
    """Return a workflow with two branches that meet before the last agent.

    The first branch has an agent and an approval; the second one has an agent with a subagent, a wait and a loop of two
    rounds.
    """
    nodes = [
        _node("start", "start"),
        _node("fork", "parallel"),
        _node("plan", "agent", userPrompt="Plan of {{trigger}}"),
        _node("yes", "approval", prompt="Go on with {{trigger}}?"),
        _node(
            "check",
            "agent",
            userPrompt="Check of {{trigger}}",
            agentName="Check",
            tools={"subagents": True, "web_search": False},
        ),
        _node("helper", "agent", userPrompt="", agentName="Helper", systemPrompt="You help."),
        _node("pause", "wait", amount=1, unit="seconds"),
        _node("loop", "loop", maxIterations=2),
        _node("body", "agent", userPrompt="Body of {{trigger}}"),
        _node("join", "merge"),
        _node("final", "agent", userPrompt=LAST.replace("{input}", "{{trigger}}")),
    ]
    ways = [
        ("start", "", "fork", ""),
        ("fork", "", "plan", ""),
        ("fork", "", "check", ""),
        ("plan", "", "yes", ""),
        ("yes", "approve", "join", ""),
        ("check", "", "pause", ""),
        ("check", "subagent", "helper", ""),
        ("pause", "", "loop", ""),
        ("loop", "loop-start", "body", ""),
        ("body", "", "loop", "loop-back"),
        ("loop", "loop-exit", "join", ""),
        ("join", "", "final", ""),
    ]
    connections = [
        {"id": f"c{number}", "source": source, "target": target, "sourceHandle": out, "targetHandle": into}
        for number, (source, out, target, into) in enumerate(ways, 1)
    ]
    # This branch continues while the other one waits for a person, so that kills can interrupt more steps.
    return {"schema": 1, "settings": {"pauses": "branch"}, "nodes": nodes, "connections": connections}


def _node(node_id: str, kind: str, **data: Any) -> dict[str, Any]:
    return {"id": node_id, "type": kind, "x": 0, "y": 0, "label": node_id, "data": data}


class Model:
    """A model that repeats the task after a delay. An agent with a subagent calls it first.

    `finished` counts the completely answered calls by task.
    """

    def __init__(self, *, rng: Random, delay: tuple[float, float]) -> None:
        self._rng = rng
        self._delay = delay
        self.finished: Counter[str] = Counter()

    async def answer(self, received: ReceivedRequest) -> web.StreamResponse:
        turns = received.document["messages"]
        task = next(text_of(turn["content"]) for turn in reversed(turns) if turn["role"] == "user")
        tools = [tool["function"]["name"] for tool in received.document.get("tools", ())]
        subagent = next((name for name in tools if name.startswith("subagent_")), None)
        if subagent is not None and turns[-1]["role"] != "tool":
            call = CallsTools(((subagent, f'{{"task": "Help with {task.strip()[-40:]}"}}'),))
            return await call.answer(received)
        response = await Reply(pieces=(task.strip()[-200:],), delay=self._rng.uniform(*self._delay)).answer(received)
        self.finished[task] += 1
        return response

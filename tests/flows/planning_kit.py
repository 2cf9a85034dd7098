"""A model that plays every part of a planning run, by its instructions, and an app with a planning agent."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from arvis.domain.executions import Execution
from arvis.domain.runs import Account, RunRequest, RunResult
from arvis.ports.insights import MessageTimeline
from arvis.ports.store import Transaction
from arvis.store.open import Database
from tests.flows.app_harness import HELPER, AppHarness, Models, open_app
from tests.flows.scripted import Answer, ScriptedProvider

PLANNER = replace(HELPER, graph="planning", tools=("look", "srv.dig", "pay"))
REQUEST = "Please put the shop online with a page that sells tea, and tell me the address"

#: The beginning of each part's instructions.
TASKS = {
    "Judge how much work": "plan_retrieval",
    "You plan work": "planner",
    "You write the brief for an executor": "reasoning",
    "Carry out a brief": "action",
    "You check work": "skill_critic",
    "You have worked on the request": "output",
}

Play = Answer | Callable[[RunRequest], Answer]


def part_of(request: RunRequest) -> str:
    told = f"{request.system}\n{request.changing}"
    return next((part for opening, part in TASKS.items() if opening in told), "talk")


def shown(request: RunRequest) -> str:
    """Return the whole prompt of a request."""
    said = [f"{turn.content} {[output.content for output in turn.outputs]}" for turn in request.turns]
    return "\n".join([request.system, request.changing, *said])


class PlanningModel(ScriptedProvider):
    """A model whose parts each take the next of their plays; the last play repeats."""

    def __init__(self, **plays: Play | list[Play]) -> None:
        super().__init__()
        self.plays = {part: list(play) if isinstance(play, list) else [play] for part, play in (USUAL | plays).items()}

    async def stream(self, request: RunRequest, account: Account, on_text: Callable[[str], None]) -> RunResult:
        plays = self.plays[part_of(request)]
        play = plays.pop(0) if len(plays) > 1 else plays[0]
        self.script.append(play(request) if callable(play) else play)
        return await super().stream(request, account, on_text)

    @property
    def parts(self) -> list[str]:
        """Return the parts in the order of their calls; several calls in a row count once."""
        asked = [part_of(request) for request in self.asked]
        return [part for index, part in enumerate(asked) if index == 0 or asked[index - 1] != part]

    @property
    def calls(self) -> Counter[str]:
        return Counter(part_of(request) for request in self.asked)

    def asked_of(self, part: str) -> list[str]:
        return [shown(request) for request in self.asked if part_of(request) == part]


def judged(complexity: str, **more: Any) -> str:
    return json.dumps({"intent": "work", "goal": "Put the tea shop online", "complexity": complexity, **more})


def prd(*steps: str, title: str = "Tea shop", close: bool = True, before: str = "") -> str:
    front = f"---\nslug: tea-shop\ntitle: {title}\nsection: web\ncategory: shop\ntags: [tea]\n---\n"
    boxes = "\n".join(f"- [ ] {number}. {step}" for number, step in enumerate(steps, 1))
    return f"{before}<FINAL_PRD>\n{front}# Goal\nsecret plan\n## Execution Steps\n{boxes}\n" + "</FINAL_PRD>" * close


def brief(text: str) -> str:
    return f"<TECHNICAL_EXECUTION_BRIEF>secret brief: {text}</TECHNICAL_EXECUTION_BRIEF>"


def done(result: str) -> str:
    return f"<AGENT_DONE><KEY_RESULT>{result}</KEY_RESULT></AGENT_DONE>"


def blocked(reason: str) -> str:
    return (
        f"<AGENT_BLOCKED><BLOCKER_REASON>{reason}</BLOCKER_REASON>"
        "<UNBLOCK_REQUIREMENTS>a key</UNBLOCK_REQUIREMENTS></AGENT_BLOCKED>"
    )


def verdict(technical: bool, project: bool, *, steps: tuple[int, ...] = (), missing: str = "") -> str:
    feedback = {"technical_feedback": f"t {missing}", "project_feedback": f"p {missing}"} if missing else {}
    return json.dumps(
        {"technical_completed": technical, "project_complete": project, "completed_steps": steps, **feedback}
    )


USUAL: dict[str, Any] = {
    "plan_retrieval": judged("high"),
    "planner": prd("build the page", "tell the address"),
    "reasoning": brief("build the page"),
    "action": done("the page is at tea.example"),
    "skill_critic": verdict(technical=True, project=True, steps=(1, 2)),
    "output": "The shop is at tea.example.",
    "talk": "You are welcome!",
}


def account() -> Account:
    return Account(name="main", provider="scripted", model="model")


@asynccontextmanager
async def planning_app(database: Database, model: PlanningModel, **changes: Any) -> AsyncIterator[AppHarness]:
    models = Models({"scripted": model}, [account()])
    async with open_app(database, agents=[replace(PLANNER, **changes)], models=models) as app:
        yield app


async def execution_of(app: AppHarness, timeline: MessageTimeline) -> Execution:
    def load(tx: Transaction) -> Execution | None:
        message = tx.messages.get(timeline.message.id)
        return tx.executions.get((message and message.execution_id) or "")

    found = await app.store.read(load)
    assert found is not None
    return found


def visible_everywhere(app: AppHarness) -> str:
    """Return all sent and streamed texts."""
    return "\n".join([*app.connector.texts, *(getattr(event, "text", "") for event in app.events)])


async def ask(app: AppHarness, text: str = REQUEST) -> MessageTimeline:
    """Ask as the owner, who may use every tool."""
    return await app.ask(text, user="owner")

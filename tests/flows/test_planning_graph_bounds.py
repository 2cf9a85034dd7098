"""Whatever its models reply, a planning run ends within its limits, keeps its state small and shows no plan; a run
without a person posts its report."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from arvis.domain.errors import ExecutionError
from arvis.domain.executions import ExecutionStatus
from arvis.domain.jobs import JobKind
from arvis.domain.messages import Address, Principal, PrincipalRole
from arvis.domain.runs import RunResult
from arvis.engine.graph import Decision, End, Graph, NodeContext
from arvis.ports.store import Transaction
from arvis.store.open import Database
from arvis.tasks.state import TaskSpec, WorkOutcome, WorkStatus
from arvis.tasks.task import NewRun, begin_run
from tests.flows.app_harness import Models, open_app
from tests.flows.planning_kit import (
    PLANNER,
    REQUEST,
    PlanningModel,
    Play,
    account,
    ask,
    blocked,
    brief,
    done,
    execution_of,
    judged,
    planning_app,
    prd,
    verdict,
    visible_everywhere,
)
from tests.flows.scripted import BOT, PLATFORM, asking, call

#: More model calls than any of these runs may need: 5 checks, with retries of every part between them.
MOST_CALLS = 250


def executor(*statuses: WorkStatus) -> tuple[Graph, list[Mapping[str, Any]]]:
    """Return a graph `agent` that ends with these statuses, the last one repeatedly, and the list of its tasks."""
    left, tasks = list(statuses), list[Mapping[str, Any]]()

    async def work(context: NodeContext) -> Decision:
        tasks.append(context.state["run"])
        status = left.pop(0) if len(left) > 1 else left[0]
        outcome = WorkOutcome(status, visible="")
        return End(RunResult("", "", "", "").to_json() | {"outcome": outcome.to_json()})

    return Graph("agent", "work", {"work": work}, {}), tasks


@pytest.mark.parametrize(
    ("statuses", "times"),
    [
        ((WorkStatus.CONTINUE,), 20),  # loops up to the cap, then goes to the critic
        ((WorkStatus.OPEN, WorkStatus.CONTINUE, WorkStatus.DONE), 3),
        ((WorkStatus.EXHAUSTED,), 1),
    ],
)
async def test_the_action_goes_on_without_an_answer_up_to_the_cap(
    database: Database, statuses: tuple[WorkStatus, ...], times: int
) -> None:
    model = PlanningModel(plan_retrieval=judged("medium"))
    graph, tasks = executor(*statuses)
    models = Models({"scripted": model}, [account()])
    async with open_app(database, agents=[PLANNER], models=models, graphs=[graph]) as app:
        await ask(app)
    assert len(tasks) == times
    assert model.parts == ["plan_retrieval", "skill_critic", "output"]
    assert all(task["audience"] is None and task["completion"] == "explicit" for task in tasks)


async def test_a_child_that_fails_twice_stops_the_planner(database: Database) -> None:
    begun = list[str]()

    async def fail(context: NodeContext) -> Decision:
        begun.append(context.execution.id)
        raise ExecutionError("It is broken")

    model = PlanningModel()
    models = Models({"scripted": model}, [account()])
    graph = Graph("agent", "fail", {"fail": fail}, {})
    async with open_app(database, agents=[PLANNER], models=models, graphs=[graph]) as app:
        reply = (await ask(app)).reply or ""
    assert "[I stop here: the work itself failed twice" in reply
    assert "number of steps" not in reply
    assert len(begun) == 2
    assert model.parts == ["plan_retrieval", "output"]
    assert "the work itself failed twice" in model.asked_of("output")[0]


def chaos(seed: int) -> dict[str, Play]:
    """A model that gives random replies in every part."""
    chance = random.Random(seed)
    number = iter(range(10_000))

    def one_of(*plays: Any) -> Play:
        return lambda _request: chance.choice(plays)

    def judge(_request: object) -> str:
        technical, project, missing = chance.random() < 0.5, chance.random() < 0.3, f"thing {next(number)}"
        return verdict(technical, project, missing=missing) if chance.random() < 0.8 else "{"

    look = asking(call(1, "look", words="<FINAL_PRD>secret</FINAL_PRD>"))
    return {
        "plan_retrieval": one_of(judged("high"), judged("medium"), "?"),
        "planner": one_of(prd("a", "b", before="I plan. "), prd("x" * 30_000, close=False), "no", blocked("why"), look),
        "reasoning": one_of(brief("secret " * 3_000), brief("b"), "no"),
        "action": one_of(done("d" * 99_000), blocked("b1"), blocked("b2"), look, "plain words", done("")),
        "skill_critic": judge,
        "output": one_of(f"Done. {prd('a')}", "", "All done.", brief("secret")),
    }


@pytest.mark.parametrize("seed", range(4))
async def test_any_model_comes_to_an_end(database: Database, seed: int) -> None:
    model = PlanningModel(**chaos(seed))
    async with planning_app(database, model) as app:
        timeline = await ask(app)
        execution = await execution_of(app, timeline)
        await app.until_idle()
        assert "secret" not in visible_everywhere(app)
    assert execution.status is ExecutionStatus.DONE
    assert model.calls.total() <= MOST_CALLS
    assert len(json.dumps(dict(execution.state))) < 200_000


async def test_a_talk_that_has_no_room_is_summed_up_on_the_way(database: Database) -> None:
    model = PlanningModel(plan_retrieval=judged("low"), talk="w " * 700)
    async with planning_app(database, model, context_tokens=None) as app:
        for _ in range(4):
            await ask(app, f"{REQUEST} {'v ' * 700}")
        smaller = replace(PLANNER, context_tokens=4_096)
        await app.store.write(lambda tx, now: tx.agents.update(smaller, now), app.clock.now())
        execution = await execution_of(app, await ask(app))
    assert execution.state["compaction"]["rounds"] > 0
    assert execution.status is ExecutionStatus.DONE


async def test_a_small_model_is_told_the_goal_whatever_else_is_known(database: Database) -> None:
    big = prd(*(f"step {number} {'x' * 60}" for number in range(200)))
    incomplete = verdict(technical=True, project=False, missing="x")
    model = PlanningModel(planner=big, skill_critic=[incomplete, verdict(technical=True, project=True)])
    async with planning_app(database, model, context_tokens=4_096) as app:
        await ask(app)
    assert model.calls["planner"] == 2
    again = model.asked_of("planner")[1]
    assert "Put the tea shop online\n\nWrite the plan for this goal now" in again
    assert "[… left out …]" in again


async def test_a_run_that_nobody_asked_for_posts_its_report(database: Database) -> None:
    model = PlanningModel(planner=prd("one", before="Chatter. "))
    place = Address(PLATFORM, BOT, "room")

    def begin(tx: Transaction, now: int) -> str:
        owner: Principal = tx.principals.seen(PLATFORM, "owner", "Owner", PrincipalRole.OWNER, now)
        run = NewRun(PLANNER, TaskSpec(REQUEST), place, owner.id, "schedule:tea", graph="planning")
        begun = begin_run(tx, run, kind=JobKind.CRON, lane="schedule:tea", priority=5, now=now)
        assert begun is not None
        return begun.id

    async with planning_app(database, model) as app:
        await app.store.write(begin, app.clock.now())
        app.queue.look()
        await app.until_sent(1)
        assert app.connector.texts == ["The shop is at tea.example."]

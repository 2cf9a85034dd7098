"""`python -m tests.flows.workflow_races --rounds 200` lets workers on several connections of one PostgreSQL execute the
children of runs. Meanwhile, two people answer a run's questions, and a third one cancels it. Each run must end once,
with a log without gaps."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from itertools import count
from pathlib import Path
from random import Random

import psycopg

from arvis.domain.agents import Agent
from arvis.domain.errors import UsageError
from arvis.domain.executions import PERSONAL_WAITS, Answer, ExecutionStatus, Wait
from arvis.domain.messages import Address
from arvis.domain.tools import Permit
from arvis.engine import lifecycle
from arvis.ports.store import Store, Transaction
from arvis.queue import queue
from arvis.services import workflow_runs
from arvis.store.open import Database
from arvis.turns.cancellation import cancel_turn
from arvis.workflows.service import CheckedDocument, Wanted, check_document, create, remove, restore, update
from tests.conformance.databases import opened
from tests.flows.cut_scenes import trace
from tests.flows.drawn_kit import START, Play, WorkflowStage, drawing, node, pause
from tests.flows.engine_kit import claim, family
from tests.flows.scripted import asking, call
from tests.parts import require
from tests.postgres import running_postgres

WORKERS = 3
_PEOPLE = 8
#: One of three runs is cancelled.
CANCELLED = 1 / 3
PATIENCE_SECONDS = 30


def scene() -> Play:
    """Return four branches: agents with subagents, which write the run's log at the same time, and two questions."""
    on = {"subagents": True}
    document = drawing(
        START,
        node("p", "parallel"),
        node("a", "agent", "A", userPrompt="Lead A.", tools=on),
        node("b", "agent", "B", userPrompt="Lead B.", tools=on),
        node("help", "agent", "Help", userPrompt="Help:"),
        node("other", "agent", "Other", userPrompt="Help:"),
        node("ask", "approval", "Ask", prompt="Go on?"),
        node("again", "approval", "Again", prompt="Really?"),
        node("m", "merge", "All"),
        node("end", "agent", "End", userPrompt="End"),
        ways=[
            "start > p > a > m > end",
            "p > b > m",
            "p > ask",
            "p > again",
            "ask:approve > m",
            "again:approve > m",
            "a:subagent > help",
            "b:subagent > other",
        ],
        pauses="branch",
    )
    answers = {
        "Lead A.": asking(call(1, "subagent_help_help", task="help"), call(2, "look", words="x")),
        "Lead B.": asking(call(1, "subagent_other_other", task="help"), call(2, "look", words="x")),
    }
    return Play(document, answers=answers, permits={"look": Permit.ALWAYS})


class Race:
    """One run, with everything that is done to it at the same time."""

    def __init__(self, store: Store, rng: Random) -> None:
        self._store = store
        self._rng = rng
        self.stage = WorkflowStage(store, scene())
        self.answered = 0

    async def play(self) -> str:
        await self.stage.begin()
        work = [asyncio.create_task(self._work(f"boot-{number}")) for number in range(WORKERS)]
        people = [asyncio.create_task(self._answer(name)) for name in ("ann", "bob")]
        if self._rng.random() < CANCELLED:
            people.append(asyncio.create_task(self._cancel()))
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.gather(*work, *people)
        await self._judge()
        return (await self.stage.execution()).status

    async def _over(self) -> bool:
        return (await self.stage.execution()).status not in lifecycle.LIVE

    async def _work(self, boot: str) -> None:
        take = self.stage._worker(self._store)
        while True:
            jobs = await self._store.write(claim, boot, self.stage._clock.now())
            await asyncio.gather(*map(take, jobs))
            if not jobs and await self._over():
                return
            if not jobs:
                await asyncio.sleep(0.002)

    async def _answer(self, name: str) -> None:
        while not await self._over():
            for wait in await self._store.read(_questions, self.stage.execution_id):
                given = Answer({"decision": "approve", "text": None}, name)
                taken = await self._store.write(lifecycle.answer, wait.id, given, self.stage._clock.now())
                self.answered += taken
            await asyncio.sleep(0.002)

    async def _cancel(self) -> None:
        await asyncio.sleep(self._rng.uniform(0, 0.4))
        await self._store.write(cancel_turn, self.stage.execution_id, "eve", self.stage._clock.now())

    async def _judge(self) -> None:
        await self._store.read(trace, self.stage.running)
        left = [each for each in await self.stage.everyone() if each.status in lifecycle.LIVE]
        assert left == [], left
        execution = await self.stage.execution()
        assert execution.status in {ExecutionStatus.DONE, ExecutionStatus.CANCELLED}, execution.error
        assert await self._store.write(_live_jobs, execution.id) == []
        if execution.status is ExecutionStatus.DONE:
            log = await self.stage.log()
            kinds = Counter(each.type for each in log)
            assert self.answered == 2, self.answered
            assert (kinds["subagent_call_start"], kinds["subagent_call_end"]) == (2, 2), kinds
            assert kinds["step_start"] == kinds["step_end"] == 8, kinds


def _questions(tx: Transaction, execution_id: str) -> list[Wait]:
    waits = [wait for each in family(tx, execution_id) for wait in tx.waits.of_execution(each)]
    return [wait for wait in waits if wait.answered_at is None and wait.kind in PERSONAL_WAITS]


def _live_jobs(tx: Transaction, execution_id: str) -> list[str]:
    return [job.id for each in family(tx, execution_id) for job in tx.jobs.live_of_execution(each)]


async def races(url: str, *, rounds: int, seed: str) -> Counter[str]:
    """Return the number of runs for each end."""
    rng, ends = Random(seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        async with opened(Database(Path(folder) / "arvis.db", url, Path(folder))) as store:
            for _ in range(rounds):
                await store.write(queue.rescue, "node", "boot", 0)
                ends[await Race(store, rng).play()] += 1
    return ends


# -- simultaneous changes of one workflow ------------------------------------------------------------------------------


def _triggered(number: int) -> CheckedDocument:
    return check_document(drawing(node("t", "trigger", kind="message", words=f"w{number}"), pause("n"), ways=["t > n"]))


def _begun(tx: Transaction, agent: Agent) -> None:
    workflow = workflow_runs.find(tx, "raced")
    place = Address("chat", "main", "raced")
    wanted = workflow_runs.NewWorkflowRun(workflow=workflow, agent=agent, address=place, source="api")
    workflow_runs.begin(tx, wanted, 0)


async def savings(url: str, *, writes: int, seed: str) -> Counter[str]:
    """Let people create, change, run and delete the workflow of one slug at the same time. Check its rows, and return
    the number of each action."""
    rng, done, numbers = Random(seed), Counter[str](), count(1)
    agent = Agent(id="raced", slug="raced", name="Raced")

    async def change(store: Store) -> str:
        fresh = Wanted(name="Raced", slug="raced", enabled=True, checked=_triggered(next(numbers)))
        match rng.choices(["save", "switch", "restore", "remove", "create", "begin"], [35, 15, 10, 3, 7, 30])[0]:
            case "save":
                await store.write(update, "raced", Wanted(checked=fresh.checked), 1, by=None)
                return "save"
            case "switch":
                await store.write(update, "raced", Wanted(enabled=rng.random() < 0.5), 1, by=None)
                return "switch"
            case "restore":
                await store.write(restore, "raced", 1, None, 1, by=None)
                return "restore"
            case "remove":
                await store.write(remove, "raced", 1, by=None)
                return "remove"
            case "create":
                await store.write(create, fresh, 1, by=None)
                return "create"
            case _:
                await store.write(_begun, agent)
                return "begin"

    async def person(store: Store) -> None:
        for _ in range(writes // _PEOPLE):
            with suppress(UsageError):
                done[await change(store)] += 1

    with tempfile.TemporaryDirectory() as folder:
        async with opened(Database(Path(folder) / "arvis.db", url, Path(folder))) as store:
            await store.write(lambda tx: tx.agents.add(agent, 0))
            await store.write(create, Wanted(name="Raced", slug="raced", checked=_triggered(0)), 1, by=None)
            await asyncio.gather(*(person(store) for _ in range(_PEOPLE)))
    _judge_rows(url)
    return done


def _judge_rows(url: str) -> None:
    with psycopg.connect(url) as rows:
        kept = rows.execute("SELECT id, version, runnable, enabled, removed_at FROM workflows").fetchall()
        for workflow_id, version, runnable, enabled, removed_at in kept:
            versions = rows.execute(
                "SELECT version, document FROM workflow_versions WHERE workflow_id = %s ORDER BY version", [workflow_id]
            ).fetchall()
            assert [each for each, _ in versions] == list(range(1, version + 1)), versions
            words = rows.execute("SELECT words FROM workflow_triggers WHERE workflow_id = %s", [workflow_id]).fetchall()
            drawn = json.loads(versions[runnable - 1][1])["nodes"][0]["data"]["words"]
            assert words == ([(drawn,)] if enabled and removed_at is None else []), words


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.flows.workflow_races", description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", default="1")
    options = parser.parse_args()
    with running_postgres(require("initdb")) as server, server.database("races") as url:
        print(asyncio.run(races(url, rounds=options.rounds, seed=options.seed)))
    with running_postgres(require("initdb")) as server, server.database("savings") as url:
        print(asyncio.run(savings(url, writes=5 * options.rounds, seed=options.seed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

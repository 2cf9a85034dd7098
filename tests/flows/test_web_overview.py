"""The data of the page Now over HTTP: running, waiting and failed work, the day's cost, and response times."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from arvis.bus import EventBus
from arvis.config.schema import BotEntry
from arvis.domain.agents import Agent
from arvis.domain.executions import Effect, EffectState, Wait, WaitKind
from arvis.domain.jobs import Fail, JobKind, NewJob
from arvis.domain.messages import Address, IncomingMessage, MessageStatus, PrincipalRole, Role, Sender, StoredMessage
from arvis.domain.money import Budget, Pot, Spent, day_of
from arvis.domain.platforms import BotState
from arvis.domain.runs import Account, Cooldown
from arvis.ports.insights import Answers
from arvis.ports.job_store import Slots
from arvis.ports.store import Transaction
from arvis.testing.clock import SteppedClock
from arvis.turns.turns import Ending, begin_turn, end_turn
from arvis.web.latency import LatencySeries, QueueDepths, Span
from tests.flows.app_harness import AppHarness
from tests.flows.overview_script import NoOverview
from tests.flows.web_script import ScriptedInsights
from tests.flows.web_server import CHAT_KEY, VIEWER_KEY, Site, eventually, running_site

HELPER = Agent(id="a1", slug="helper", name="Helper")
HALL = Address("telegram", "main", "42", "7")
MINUTE = 60_000
PLAIN = BotEntry(platform="plain", name="main", path="bots[0]", values={})


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    main, spare = Account(name="main", provider="openai", model="big"), Account(name="spare", provider="x", model="y")
    async with running_site(tmp_path, real_insights=True, accounts=(main, spare), configured=(PLAIN,)) as site:
        await site.store.write(lambda tx: tx.agents.add(HELPER, 0))
        yield site


def _ask(tx: Transaction, event: str, now: int, address: Address = HALL) -> StoredMessage:
    incoming = IncomingMessage(address, event, Sender("ann", "Ann"), "Hello", is_direct=True)
    ann = tx.principals.seen("telegram", "ann", "Ann", PrincipalRole.MEMBER, now)
    return begin_turn(tx, incoming, agent=HELPER, route="x", principal=ann, attachments=(), now=now)


def _claim(tx: Transaction, now: int) -> None:
    tx.jobs.claim(Slots(9, 9, 9), "boot", "node", now, now + 30_000)


def _answer(tx: Transaction, message: StoredMessage, now: int, status: MessageStatus) -> None:
    execution = tx.executions.get(message.execution_id or "")
    assert execution is not None
    role = Role.ASSISTANT if status is MessageStatus.ANSWERED else Role.NOTICE
    ended = replace(execution, state={**execution.state, "read": [message.id]})
    assert end_turn(tx, ended, Ending(status, role, "There."), now)


async def test_a_quiet_daemon(site: Site) -> None:
    now = (await site.call("GET", "/api/overview", key=VIEWER_KEY)).json()
    assert now["counts"] == {
        "running": 0, "pending": 0, "undelivered": 0, "failed": 0, "waiting": 0, "oldestReadyMs": 0,
    }  # fmt: skip
    assert (now["running"], now["questions"], now["failures"], now["costTodayUsd"]) == ([], [], [], 0)
    assert now["budgetTodayUsd"] is None
    assert (now["series"]["bucketMs"], len(now["series"]["points"])) == (MINUTE, 60)
    assert now["series"]["points"][-1]["depth"] == 0
    assert {point["p50Ms"] for point in now["series"]["points"]} == {None}
    day = (await site.call("GET", "/api/overview?span=day", key=VIEWER_KEY)).json()["series"]
    assert (day["bucketMs"], len(day["points"])) == (10 * MINUTE, 144)
    assert (await site.call("GET", "/api/overview", key=CHAT_KEY)).status == 403
    assert (await site.call("GET", "/api/overview?span=week")).status == 422


async def test_what_runs_says_who_where_and_what(site: Site) -> None:
    def begin(tx: Transaction, now: int) -> StoredMessage:
        message = _ask(tx, "1", now)
        _claim(tx, now)
        return message

    started = site.clock.now()
    message = await site.store.write(begin, started)
    found = (await site.call("GET", "/api/overview", key=VIEWER_KEY)).json()
    (work,) = found["running"]
    assert (work["kind"], work["agent"], work["agentName"], work["since"]) == ("message", "helper", "Helper", started)
    assert (work["messageId"], work["executionId"]) == (message.id, message.execution_id)
    assert (work["conversationId"], work["activity"], work["tool"]) == (message.conversation_id, "thinking", None)
    assert work["address"] == {"platform": "telegram", "connector": "main", "channelId": "42", "thread": "7"}
    assert found["counts"]["running"] == 1

    def use_tool(tx: Transaction) -> None:
        effect = Effect(
            work["executionId"], work["executionId"], 1, "tool 1: web_search", EffectState.STARTED, None, started
        )
        tx.executions.put_effect(effect)

    await site.store.write(use_tool)
    (work,) = (await site.call("GET", "/api/overview")).json()["running"]
    assert (work["activity"], work["tool"]) == ("using web_search", "web_search")


async def test_what_waits_failed_and_was_spent(site: Site) -> None:
    now = site.clock.now()

    def fill(tx: Transaction) -> None:
        for _ in range(12):
            tx.jobs.add(NewJob(JobKind.COMPACT, 5, agent_id=HELPER.id), now - 5000)
        for job in tx.jobs.claim(Slots(12, 12, 12), "boot", "node", now, now + 30_000):
            assert tx.jobs.settle(job, Fail("attempts", "no model answered"), now)
        for _ in range(3):
            tx.jobs.add(NewJob(JobKind.ADVANCE, 5, lane="same"), now - 7000)
        tx.jobs.add(NewJob.deliver(HALL, 5, delivery_id="d1", message_id="m1"), now)
        tx.spending.book([Pot(Budget.DAY, day_of(now, "UTC"), "")], Spent(micros=420_000))
        asked = _ask(tx, "2", now)
        for number in range(12):
            kind = WaitKind.APPROVAL if number else WaitKind.CHILD
            tx.waits.add(Wait(tx.new_id(), asked.execution_id or "", "c", kind, f"May I {number}?", (), now, None))

    await site.store.write(fill)
    found = (await site.call("GET", "/api/overview", key=VIEWER_KEY)).json()
    assert {**found["counts"], "oldestReadyMs": found["counts"]["oldestReadyMs"] >= 7000} == {
        "running": 0, "pending": 4, "undelivered": 1, "failed": 12, "waiting": 11, "oldestReadyMs": True,
    }  # fmt: skip
    assert [wait["prompt"] for wait in found["questions"]] == [f"May I {number}?" for number in range(11, 1, -1)]
    assert [(job["kind"], job["agent"], job["error"]) for job in found["failures"]] == [
        ("compact", "helper", "no model answered")
    ] * 10
    assert found["costTodayUsd"] == 0.42
    assert found["series"]["points"][-1]["depth"] == 4


async def test_accounts_and_bots_say_how_they_are(site: Site) -> None:
    now = site.clock.now()

    def rest(tx: Transaction) -> None:
        tx.cooldowns.put(Cooldown("main", "big", now + 60_000, 2, "rate_limit", now))
        tx.bots.put_status("plain", "main", BotState.ERROR, error="no token", now=now)

    await site.store.write(rest)
    found = (await site.call("GET", "/api/overview", key=VIEWER_KEY)).json()
    assert [(each["name"], each["state"], each["error"]) for each in found["accounts"]] == [
        ("main", "cooldown", "rate_limit"),
        ("spare", "ok", None),
    ]
    assert found["accounts"][0]["cooldownUntil"] == now + 60_000
    assert found["bots"] == [
        {"platform": "plain", "name": "main", "enabled": True, "state": "error", "error": "no token", "since": now}
    ]


async def test_answers_are_counted_in_the_minute_of_the_answer(site: Site) -> None:
    """The store makes ids with the site's clock, so a message that is asked and answered now is in the last bucket."""

    def talk(tx: Transaction) -> None:
        now = site.clock.now()
        for number, (took, status) in enumerate(
            [(40, MessageStatus.ANSWERED), (2_345, MessageStatus.ANSWERED), (9, MessageStatus.FAILED)]
        ):
            message = _ask(tx, f"e{number}", now - took, replace(HALL, channel=str(number)))
            _answer(tx, message, now, status)

    await site.store.write(talk)
    for span in Span:
        points = (await site.call("GET", f"/api/overview?span={span}")).json()["series"]["points"][-2:]
        assert (sum(each["answered"] for each in points), sum(each["failed"] for each in points)) == (2, 1)
        last = next(each for each in points if each["answered"])
        assert (last["p50Ms"], last["p95Ms"]) == (40, 2300)


# -- reads of past minutes ---------------------------------------------------------------------------------


class Past(ScriptedInsights):
    """Insights with answers by minute, which record the ranges that were read."""

    def __init__(self, answers: Sequence[Answers]) -> None:
        super().__init__()
        self.held = list(answers)
        self.ranges: list[tuple[int, int]] = []

    async def answers(self, since: int, until: int, *, minutes: int = 1) -> Sequence[Answers]:
        self.ranges.append((since // MINUTE, until // MINUTE))
        held = [each for each in self.held if since <= each.minute * MINUTE < until]
        return [replace(each, minute=each.minute // minutes * minutes) for each in held]


Paced = Callable[[Past, SteppedClock], LatencySeries]


@pytest.fixture
def paced(app: AppHarness) -> Paced:
    return lambda past, clock: LatencySeries(insights=past, store=app.store, clock=clock, zone="UTC")


async def test_minutes_that_are_over_are_read_once(paced: Paced) -> None:
    clock = SteppedClock()
    minute = clock.now() // MINUTE
    past = Past([Answers(minute - 90, False, 50, 3), Answers(minute - 30, False, 70, 2), Answers(minute, False, 9, 1)])
    pace = paced(past, clock)
    for _ in range(2):
        points = await pace.points(Span.HOUR)
        assert [(each.at // MINUTE, each.answered, each.p50) for each in points if each.answered] == [
            (minute - 30, 2, 70),
            (minute, 1, 9),
        ]
    assert past.ranges[0] == (minute - 59, minute + 1)
    assert past.ranges[1][0] >= minute - 1
    assert sum(each.answered for each in await pace.points(Span.DAY)) == 6
    # The rest of the day in steps of ten minutes, then single minutes, then the new answers; no minute is read twice.
    rest = sorted(past.ranges[2:])
    assert rest[-1][0] >= minute - 1
    assert [end for _, end in rest[:-2]] == [begin for begin, _ in rest[1:-1]]
    assert rest[-2][1] == minute - 59
    number = len(past.ranges)
    assert sum(each.answered for each in await pace.points(Span.DAY)) == 6
    assert past.ranges[number:] == [rest[-1]]


async def test_whoever_looks_at_the_hour_finds_the_day_read(paced: Paced) -> None:
    clock = SteppedClock()
    past = Past([Answers(clock.now() // MINUTE - 300, False, 50, 3)])
    pace = paced(past, clock)
    with pace.listening(EventBus()):
        await pace.points(Span.HOUR)
        await eventually(lambda: len(past.ranges) >= 4)
        number = len(past.ranges)
        assert sum(each.answered for each in await pace.points(Span.DAY)) == 3
    assert sum(end - begin for begin, end in past.ranges[number:]) <= 3


async def test_a_pause_is_caught_up_with(paced: Paced) -> None:
    clock = SteppedClock()
    minute = clock.now() // MINUTE
    past = Past([Answers(minute + number, False, 10, 1) for number in range(200)])
    pace = paced(past, clock)
    await pace.points(Span.HOUR)
    for later in (7, 100, 190):
        await clock.sleep(((minute + later) * MINUTE - clock.now()) / 1000)
        points = await pace.points(Span.HOUR)
        expected = [each for each in range(minute + later - 59, minute + later + 1) if minute <= each < minute + 200]
        assert [each.at // MINUTE for each in points if each.answered] == expected


async def test_nothing_is_known_of_a_queue_that_nobody_looked_at(paced: Paced) -> None:
    clock = SteppedClock()
    pace = paced(Past([]), clock)
    pace.sample(5)
    await clock.sleep(180)
    pace.sample(2)
    depths = [each.depth for each in await pace.points(Span.HOUR)]
    assert (depths[-4:], len(depths)) == ([5, None, None, 2], 60)
    assert max(filter(None, [each.depth for each in await pace.points(Span.DAY)])) == 5
    assert await NoOverview().answers(0, 1) == ()


async def test_the_depth_of_the_queue_outlives_a_restart(app: AppHarness) -> None:
    clock = SteppedClock()
    before = QueueDepths(store=app.store, clock=clock)
    await before.keep()
    for depth in (7, 3, 1, 1, 1, 1):
        before.sample(depth)
        await before.keep()
        await clock.sleep(60)
    after = QueueDepths(store=app.store, clock=clock)
    await after.keep()
    minute = clock.now() // MINUTE
    assert [after.deepest(minute - back, 1) for back in (6, 5)] == [7, 3]
    await clock.sleep(24 * 3600)
    late = QueueDepths(store=app.store, clock=clock)
    await late.keep()
    assert late.deepest(minute - 10, 3000) is None

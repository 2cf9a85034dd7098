"""After a restore, no old message is sent again, every loss is reported, and people can continue all their work."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from arvis.domain.executions import WaitKind
from arvis.domain.jobs import Job, JobStatus
from arvis.domain.messages import Address, DeliveryState, MessageStatus, PrincipalRole
from arvis.domain.schedules import Missed, OccurrenceStatus, ScheduleKind
from arvis.engine.graph import Call, Decision, End, Graph, Node, NodeContext, Pause
from arvis.ports.operations import WaitAnswer
from arvis.ports.store import Transaction
from arvis.store.backups.making import make_backup
from arvis.store.backups.restore import Restored, restore
from arvis.store.open import Database
from arvis.tasks.state import BY_DAEMON
from tests.conformance.databases import opened
from tests.flows.app_harness import AppHarness, agent_with, open_app
from tests.flows.schedule_kit import NOW, Desk, WildClock, add_helper
from tests.flows.scripted import BOT, PLATFORM, Held, said

ANSWERED, FAILED, WAITING = MessageStatus.ANSWERED, MessageStatus.FAILED, MessageStatus.WAITING
RUNNING = MessageStatus.RUNNING
SOON, LATE = 60, 86_400
KINDS = ("approval", "soon", "late", "caller", "child")


@dataclass(slots=True)
class World:
    """The graphs of one life of the daemon; the called graph waits for `go`."""

    now: int
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)

    def graphs(self) -> list[Graph]:
        nodes = {
            "approval": self._ask,
            "soon": self._timer(SOON),
            "late": self._timer(LATE),
            "caller": self._call,
            "child": self._child,
        }
        return [Graph(name=name, start="one", nodes={"one": node}, edges={}) for name, node in nodes.items()]

    async def _ask(self, context: NodeContext) -> Decision:
        if context.answer is None:
            return Pause(WaitKind.APPROVAL, "May I?")
        return End(said(str(context.answer.value["decision"])).to_json(), read=BY_DAEMON)

    def _timer(self, seconds: int) -> Node:
        async def wait(context: NodeContext) -> Decision:
            if context.answer is None:
                return Pause(WaitKind.TIMER, "", until=self.now + seconds * 1000)
            return End(said("time is up").to_json(), read=BY_DAEMON)

        return wait

    async def _call(self, context: NodeContext) -> Decision:
        if context.answer is None:
            return Call("child", {})
        return End(said(f"it said {context.answer.value['result']}").to_json(), read=BY_DAEMON)

    async def _child(self, _: NodeContext) -> Decision:
        self.begun.set()
        await self.go.wait()
        return End("yes")


@asynccontextmanager
async def a_life(database: Database, *, first: bool = False) -> AsyncIterator[tuple[AppHarness, World]]:
    agents = [agent_with(), *(agent_with(id=f"agent-{kind}", slug=kind, name=kind, graph=kind) for kind in KINDS)]
    world = World(0)
    async with open_app(
        database, agents=agents if first else [], graphs=world.graphs(), safe_resend=False, workers=8
    ) as app:
        world.now = app.clock.now()
        if not first:
            await app.pass_time(2 * SOON)
        yield app, world


async def under_way(app: AppHarness, world: World) -> dict[str, str]:
    """Send messages that reach every state of a turn, and return their ids by subject."""
    messages = {"done": await app.ask("done", channel="quiet")}
    await app.until_sent(1, "quiet")
    ids = {name: timeline.message.id for name, timeline in messages.items()}
    for kind in ("approval", "soon", "late", "caller"):
        ids[kind] = (await app.say(kind, channel=kind, assigned_agent=kind)).message_id
        await app.until_status(ids[kind], RUNNING if kind == "caller" else WAITING)
    await world.begun.wait()
    return ids


async def being_sent(app: AppHarness, ids: dict[str, str]) -> Held:
    """Let one answer be sent slowly, with another one behind it."""
    sending = Held()
    app.connector.script.append(sending)
    for name in ("sending", "behind"):
        ids[name] = (await app.ask(name, channel="sent")).message.id
    await sending.until_begun()
    return sending


async def being_written(app: AppHarness, ids: dict[str, str]) -> Held:
    """Let one turn wait for the model, with another person's turn behind it."""
    writing = Held("written")
    app.provider.script.append(writing)
    ids["running"] = (await app.say("running", channel="busy")).message_id
    await writing.until_begun()
    ids["queued"] = (await app.say("queued", channel="busy", user="bob")).message_id
    return writing


@dataclass(slots=True)
class Story:
    database: Database
    ids: dict[str, str]
    restored: Restored
    #: The last delivery numbers of the channels before the restore.
    seqs: dict[str, int]


CHANNELS = ("quiet", "sent", "busy", "approval", "soon", "late", "caller", "new")


@pytest.fixture
async def story(database: Database) -> Story:
    """A life of the daemon with a backup in its middle, and the restore of that backup two minutes after the life's
    end."""
    async with a_life(database, first=True) as (app, world):
        ids = await under_way(app, world)
        sending = await being_sent(app, ids)
        writing = await being_written(app, ids)
        await app.store.write(log_in, app.clock.now())
        made = await asyncio.to_thread(make_backup, database, app.clock.now())
        for held in (sending.go, writing.go, world.go):
            held.set()
        await app.pass_time(2 * SOON)
        for channel in ("quiet", "new"):
            await app.ask("after the backup", channel=channel)
        for name in ("running", "queued", "soon", "caller"):
            await app.until_status(ids[name], ANSWERED)
        await app.until_idle()
        assert len(app.connector.sent) == 10
        seqs = {channel: await last_seq(app, channel) for channel in CHANNELS}
        now = app.clock.now()
    return Story(database, ids, await asyncio.to_thread(restore, database, made.path, now), seqs)


def log_in(tx: Transaction, now: int) -> None:
    person = tx.principals.seen("web", "owner", "Owner", PrincipalRole.OWNER, now)
    tx.logins.open_session("token", person.id, "", now)
    tx.logins.add_code("code", "owner", now + 600_000, now)


async def last_seq(app: AppHarness, channel: str) -> int:
    return await app.insights.last_seq(Address(PLATFORM, BOT, channel))


async def failed_jobs(app: AppHarness) -> Sequence[Job]:
    """Return the failed jobs, oldest first."""
    jobs = [job for job in reversed(await app.jobs()) if job.status is JobStatus.FAILED]
    assert {(job.reason, job.error and job.error.startswith("a backup was restored")) for job in jobs} == {
        ("restored", True)
    }
    return jobs


async def test_nothing_old_is_sent_again(story: Story) -> None:
    async with a_life(story.database) as (app, _):
        await app.until_idle()
        answered = await app.ask("new", channel="quiet")
        await app.until_sent(2, "quiet")
        assert (answered.reply, app.connector.texts) == ("Re: new", ["Re: new"])
        assert len(app.provider.asked) == 1


async def test_what_was_under_way_has_failed_and_what_waits_for_people_and_time_waits(story: Story) -> None:
    async with a_life(story.database) as (app, _):
        found = {name: (await app.timeline(message)).status for name, message in story.ids.items()}
        assert found == {
            "done": ANSWERED,
            "sending": ANSWERED,
            "behind": ANSWERED,
            "running": FAILED,
            "queued": FAILED,
            "soon": FAILED,
            "caller": FAILED,
            "approval": WAITING,
            "late": WAITING,
        }
        assert (await app.timeline(story.ids["queued"])).reason == "restored"
        states = [delivery.state for delivery in await app.deliveries("sent")]
        assert states == [DeliveryState.UNKNOWN, DeliveryState.UNKNOWN]
        jobs = await failed_jobs(app)
        assert (len(jobs), story.restored.given_up.jobs) == (7, 7)
        assert (story.restored.given_up.executions, story.restored.given_up.deliveries) == (5, 2)


async def test_everything_can_be_tried_again_by_hand(story: Story) -> None:
    async with a_life(story.database) as (app, world):
        world.go.set()
        for job in await failed_jobs(app):
            await app.operations.retry_job(job.id)
        for name in ("running", "queued", "soon", "caller"):
            await app.until_status(story.ids[name], ANSWERED)
        await app.until_idle()
        assert (await app.timeline(story.ids["caller"])).reply == "it said yes"
        assert [delivery.state for delivery in await app.deliveries("sent")] == [DeliveryState.SENT] * 2
        assert len(app.connector.sent) == 6


async def test_a_question_is_answered_and_a_timer_goes_off(story: Story) -> None:
    async with a_life(story.database) as (app, _):
        (wait,) = (await app.insights.waits(open_only=True, limit=10, cursor=None)).items
        owner = await app.store.write(lambda tx: tx.principals.seen("chat", "o", "O", PrincipalRole.OWNER, 0))
        await app.operations.answer_wait(wait.id, WaitAnswer("approve"), owner)
        assert (await app.until_status(story.ids["approval"], ANSWERED)).reply == "approve"
        await app.pass_time(2 * LATE)
        assert (await app.until_status(story.ids["late"], ANSWERED)).reply == "time is up"
        assert (await app.timeline(story.ids["soon"])).status is FAILED


async def test_clients_that_know_later_numbers_miss_nothing(story: Story) -> None:
    """A delivery number is never used twice, whether or not the backup knows the channel."""
    async with a_life(story.database) as (app, _):
        for channel in ("quiet", "new"):
            await app.ask("new", channel=channel)
            seen = await app.insights.deliveries_after(Address(PLATFORM, BOT, channel), story.seqs[channel], limit=10)
            assert [delivery.content for delivery in seen] == ["Re: new"]


async def test_everybody_logs_in_anew(story: Story) -> None:
    async with a_life(story.database) as (app, _):
        assert await app.store.read(lambda tx: tx.logins.session("token")) is None
        assert await app.store.write(lambda tx: tx.logins.use_code("code", app.clock.now())) is None
        at = await app.store.read(lambda tx: tx.kv.get("restored_at"))
        assert at is not None
        assert abs(int(at) - app.clock.now()) < 60_000


# -- schedules -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("missed", list(Missed))
@pytest.mark.parametrize("schedule", ["every 10 m", "*/10 * * * *", "at 2026-11-22 09:10"])
async def test_times_up_to_a_restore_are_over_however_missed_times_are_made_up_for(
    database: Database, schedule: str, missed: Missed
) -> None:
    """The schedule ran after the backup, before the restore. Times after the restore come as usual."""
    clock = WildClock()
    async with opened(database) as store:
        await store.write(add_helper)
        desk = Desk(store, clock)
        beat = await desk.add(schedule, kind=ScheduleKind.HEARTBEAT, missed=missed)
    backup = make_backup(database, NOW)
    async with opened(database) as store:
        desk = Desk(store, clock)
        await desk.pass_time(25 * 60)
        before = {due for due, _ in await desk.ran(beat)}
    assert before
    restored_at = clock.now()
    restore(database, backup.path, restored_at)
    async with opened(database) as store:
        desk = Desk(store, clock)
        await desk.pass_time(30 * 60)
        again = {due for due, _ in await desk.ran(beat)}
        skipped = [one.report for one in await desk.occurrences(beat) if one.status is OccurrenceStatus.SKIPPED]
    assert not [due for due in again if due <= restored_at]
    assert bool(again) is not schedule.startswith("at")
    assert any("before the restore of a backup" in report for report in skipped)


# -- accepted calls and keys ---------------------------------------------------------------------------------


async def test_calls_and_keys_that_were_accepted_since_the_backup_stay_known(database: Database) -> None:
    def accept(tx: Transaction, number: int) -> None:
        assert tx.idempotency.reserve("ann", f"key {number}", "request", before=0, now=NOW) is None
        tx.idempotency.finish("ann", f"key {number}", 201, "answer")

    async with opened(database) as store:
        await store.write(accept, 1)
    backup = make_backup(database, NOW)
    async with opened(database) as store:
        await store.write(accept, 2)
    _note_call(database)
    restore(database, backup.path, NOW + 1)
    with sqlite3.connect(database.file) as connection:
        keys = connection.execute("SELECT key, status, content FROM idempotency_keys ORDER BY key").fetchall()
        calls = connection.execute("SELECT webhook_id, call_id, execution_id FROM webhook_calls").fetchall()
    assert [tuple(row) for row in keys] == [("key 1", 201, "answer"), ("key 2", 201, "answer")]
    assert [tuple(row) for row in calls] == [("hook", "call", "run")]


def _note_call(database: Database) -> None:
    with sqlite3.connect(database.file) as connection:
        connection.execute("INSERT INTO webhook_calls VALUES ('hook', 'call', 'run', 1)")

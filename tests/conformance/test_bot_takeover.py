"""On PostgreSQL each bot runs in one process at a time, and events from a process that lost the bot are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from arvis.bots.runner import StatusReport, StatusReporter
from arvis.bus import EventBus
from arvis.domain.errors import LeaseLost
from arvis.domain.platforms import BotState
from arvis.ports.inbox import Inbox
from arvis.ports.store import Transaction
from arvis.process.clock import SystemClock
from arvis.process.leases import Holding, Pace
from arvis.store.open import Database
from tests.conformance.takeovers import stores
from tests.flows.bot_kit import entry, playing, simple_inbox
from tests.flows.web_server import eventually

#: Frequent looks, and enough time for a busy machine to renew its lease.
PACE = Pace(beat=0.1, trust=1.5, look=0.02, silence=2.0)
BOTS = [entry(token="one"), entry("second", token="two")]


class CountingClock(SystemClock):
    """A clock that counts how often a process has looked whether a bot is free."""

    def __init__(self) -> None:
        self.sleeps = 0

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        self.sleeps += 1


@pytest.fixture
def server(migrated_url: str, tmp_path: Path) -> Database:
    return Database(tmp_path / "none.db", migrated_url, tmp_path)


async def test_another_process_takes_over_when_the_first_ends(server: Database, tmp_path: Path) -> None:
    async with (
        stores(server, 2) as (one, two),
        playing(one, tmp_path, configured=BOTS, owner="one", pace=PACE) as first,
    ):
        await first.until(BotState.RUNNING, BotState.RUNNING)
        waiting = CountingClock()
        async with playing(two, tmp_path, configured=BOTS, owner="two", pace=PACE, clock=waiting) as second:
            await eventually(lambda: waiting.sleeps > 30)
            assert [puppet.runs for puppet in second.workshop.made] == [0, 0], "the bots are made, but do not run"
            assert (await second.status()).state is BotState.RUNNING, "the waiting process reports no state"
            await first.stop()
            await second.until(BotState.RUNNING, BotState.RUNNING)
            assert (await second.status()).state is BotState.RUNNING
            assert not any(puppet.running for puppet in first.workshop.made)


async def test_what_a_process_brings_that_lost_its_bot_is_refused(server: Database, tmp_path: Path) -> None:
    fences: list[Callable[[Transaction], None]] = []

    def inbox_for(fence: Callable[[Transaction], None]) -> Inbox:
        fences.append(fence)
        return simple_inbox(fence)

    def steal(tx: Transaction) -> bool:
        """Take the role, or return False if the holder has renewed its lease in the meantime."""
        seen = tx.role_leases.find("bot:plain:main")
        return tx.role_leases.take("bot:plain:main", "thief", "elsewhere", seen) is not None

    async with (
        stores(server, 2) as (one, two),
        playing(one, tmp_path, configured=BOTS[:1], inbox_for=inbox_for, owner="one", pace=PACE) as first,
    ):
        await first.until(BotState.RUNNING)
        await one.write(fences[0])
        async with asyncio.timeout(5):
            while not await two.write(steal):
                pass
        with pytest.raises(LeaseLost):
            await one.write(fences[0])
        await eventually(lambda: first.workshop.last.runs > 1)
        await one.write(fences[1])


async def test_who_lost_a_bot_says_no_more_how_it_is(server: Database) -> None:
    def tell(tx: Transaction, platform: str, name: str, text: str, now: int, *, cause: str) -> None:
        """Drop the notice: the owner cannot be reached here."""

    async with stores(server, 2) as (one, two):
        clock = SystemClock()
        lease = await one.write(lambda tx: tx.role_leases.take("bot:plain:main", "one", "x", None))
        assert lease is not None
        holding = Holding(clock=clock, lease=lease, until=float("inf"))
        reporter = StatusReporter(
            platform="plain", name="main", store=one, bus=EventBus(), clock=clock, holding=holding, tell=tell
        )
        await reporter.last(StatusReport(BotState.RUNNING))
        await two.write(lambda tx: tx.role_leases.take("bot:plain:main", "two", "y", lease))
        await reporter.last(StatusReport(BotState.STOPPED))
        (status,) = await two.read(lambda tx: tx.bots.statuses())
        assert status.state is BotState.RUNNING

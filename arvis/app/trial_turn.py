"""The turn with the demo model that checks an upgrade. It runs in the transaction of the migrations, with a new agent
and with the built-in defaults instead of the configuration. So it calls no vendor, starts no program and sends nothing.
All rows that the turn writes are rolled back."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from arvis.app.backups import BackupReports
from arvis.app.bots import open_bots
from arvis.app.foundation import Base
from arvis.app.providers import open_providers
from arvis.app.speech import Speech
from arvis.app.tools import open_tools
from arvis.app.work import build_flow, build_inbox
from arvis.bus import EventBus
from arvis.config import Config
from arvis.domain.agents import Agent
from arvis.domain.errors import ArvisError, UpgradeFailed, sentences
from arvis.domain.jobs import Done, Job
from arvis.domain.messages import Address, IncomingMessage, PrincipalRole, Role, Sender
from arvis.domain.runs import CallTimeouts
from arvis.inbox.inbox import InboxService
from arvis.llm.accounts import AccountRegistry
from arvis.message_flow import MessageFlow
from arvis.ports.job_store import Slots
from arvis.ports.store import Store, Transaction
from arvis.process.clock import IdMaker, RandomBits, SystemClock
from arvis.process.data_folder import DataFolder
from arvis.process.disk import DiskWatch, ReservedSpace, disk_space
from arvis.process.logging import Redactor
from arvis.process.secrets import SealedBox
from arvis.process.subprocesses import GuardedPrograms
from arvis.settings import SettingsService
from arvis.skills.registry import SkillRegistry
from arvis.store.backups.service import BackupService
from arvis.store.location import Database
from arvis.store.sql.migrations import upgrade_failed
from arvis.store.sqlite.store import SqliteSnapshots
from arvis.store.views.insights import SqlInsights

#: The time limit of the turn in seconds. The turn takes less than one second on an idle machine.
_TURN_SECONDS = 120


async def play(store: Store) -> None:
    """Run the turn. Raise `UpgradeFailed` if the turn gives no answer, whatever the reason is."""
    playing = asyncio.wait_for(_answer(store), _TURN_SECONDS)
    (outcome,) = await asyncio.gather(playing, return_exceptions=True)
    if isinstance(outcome, UpgradeFailed):
        raise outcome
    if isinstance(outcome, BaseException):
        raise upgrade_failed(f"a test message got no answer: {_reason(outcome)}") from outcome
    if not outcome:
        raise upgrade_failed("a test message got an empty answer")


def _reason(error: BaseException) -> str:
    return sentences(error.what, error.why) if isinstance(error, ArvisError) else repr(error)


async def _answer(store: Store) -> str:
    """Send a message to a new agent, run the jobs of the message, and return the text of the reply."""
    with tempfile.TemporaryDirectory(prefix="arvis-upgrade-") as folder:
        async with _parts(store, Path(folder)) as (base, inbox, flow):
            return await _converse(base, inbox, flow)


async def _converse(base: Base, inbox: InboxService, flow: MessageFlow) -> str:
    store, now = base.store, base.clock.now()
    agent = Agent(id=base.new_id(), slug=f"upgrade-{base.new_id().lower()}", name="Upgrade", model="demo/demo")
    await store.write(_prepare, agent, now)
    received = await inbox.receive(
        IncomingMessage(
            address=Address("web", "web", agent.slug),
            event_id=base.new_id(),
            sender=Sender(agent.slug, "Upgrade", PrincipalRole.OWNER, paired=True),
            content="Does everything work?",
            is_direct=True,
            assigned_agent=agent.slug,
        )
    )
    results = [await flow.run(job) for job in await store.write(_claim, base.folder, now)]
    if results != [Done()]:
        raise upgrade_failed(f"a test message was not answered ({received.status}, {received.reason}): {results}")
    return await store.read(_reply_to, received.message_id)


@asynccontextmanager
async def _parts(store: Store, folder: Path) -> AsyncIterator[tuple[Base, InboxService, MessageFlow]]:
    """Yield the parts of a daemon that a turn needs, with the defaults of the configuration. Parts that the turn does
    not use, such as pages and backups, exist but do nothing."""
    # With only the role `scheduler`, no connector is opened.
    config = Config(config_file=None, data_dir=folder, accounts=(), bots=(), roles=("scheduler",))
    clock = SystemClock()
    new_id = IdMaker(clock=clock, random_bits=RandomBits())
    bus, box = EventBus(), SealedBox(file=folder / "secrets.key", given=None, tell=lambda _: None)
    nowhere = Database(folder / "none.db", None, folder)
    base = Base(
        config=config,
        folder=DataFolder(folder, new_id(), new_id(), first_start=False, private=True, api_key=""),
        clock=clock,
        new_id=new_id,
        bus=bus,
        store=store,
        insights=SqlInsights(SqliteSnapshots(nowhere.file)),
        bridge=None,
        backups=BackupService(
            database=nowhere,
            every=config.backup.every,
            clock=clock,
            watch=BackupReports(settings=config.backup, store=store, clock=clock, programs=GuardedPrograms()),
            restart=lambda: None,
        ),
        disk=DiskWatch(space=partial(disk_space, folder), ballast=ReservedSpace(folder / "ballast"), clock=clock),
        secrets=box,
        accounts=AccountRegistry(configured=(), store=store, secrets=box),
        skills=SkillRegistry(store=store, clock=clock, folder=folder / "skills"),
        settings=SettingsService(given=config, store=store, bus=bus, clock=clock, environ=dict[str, Any]),
        redact=Redactor(),
    )
    timeouts = CallTimeouts(config.model.timeout_seconds, config.model.idle_seconds)
    async with (
        open_providers(clock=clock, timeouts=timeouts, folder=folder) as providers,
        open_tools(base, providers) as tools,
        open_bots(base) as bots,
    ):
        box = await tools.box.get()
        flow = build_flow(base, providers, box, bots.fleet, Speech(None, None, 0.0))
        yield base, build_inbox(base, box), flow


def _prepare(tx: Transaction, agent: Agent, now: int) -> None:
    """Add the agent, and remove the imported skills, whose problems would be logged as if the daemon ran."""
    for skill in tx.skills.all():
        tx.skills.remove(skill.slug)
    tx.agents.add(agent, now)


def _claim(tx: Transaction, folder: DataFolder, now: int) -> list[Job]:
    slots = Slots(work=1, background=0, delivery=0)
    return tx.jobs.claim(slots, folder.boot_id, folder.node_id, now, now + _TURN_SECONDS * 1000)


def _reply_to(tx: Transaction, message_id: str) -> str:
    message = tx.messages.get(message_id)
    if message is None or message.conversation_id is None:
        return ""
    history = tx.messages.history(message.conversation_id, 10)
    return next((said.text for said in history if said.role is Role.ASSISTANT), "")

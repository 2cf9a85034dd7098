"""Opens the base of all parts in this order: the database, the settings, the accounts, the bridge to other
processes."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial

import structlog

from arvis.app.backups import BackupReports
from arvis.app.database import Reaching, database_of
from arvis.bus import Bridge, EventBus
from arvis.config import Config
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import StoreLost
from arvis.domain.money import SpendingLimits
from arvis.llm.accounts import AccountRegistry
from arvis.llm.prices import Price, Prices
from arvis.notifications.starts import StartReport, report_start
from arvis.ports.backups import RestoreState
from arvis.ports.bus import Topic
from arvis.ports.insights import Insights
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store, Transaction
from arvis.process.clock import IdMaker, SystemClock
from arvis.process.data_folder import DataFolder
from arvis.process.disk import DiskWatch, ReservedSpace, disk_space
from arvis.process.logging import Redactor
from arvis.process.subprocesses import GuardedPrograms
from arvis.services import agents
from arvis.services.agents import ensure_conductor
from arvis.settings import SettingsService
from arvis.skills.registry import SkillRegistry
from arvis.store.backups.requested import carry_out_request
from arvis.store.backups.service import BackupService
from arvis.store.integrity.repair import make_sound
from arvis.store.location import Database
from arvis.store.open import open_relay, open_store
from arvis.store.sqlite.errors import Emergency

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Base:
    """The resources that all parts use and that outlive every role. `config` is the configuration of this start,
    including the values set in the dashboard; `settings` has the current values of the keys that take effect
    immediately."""

    config: Config
    folder: DataFolder
    clock: SystemClock
    new_id: IdMaker
    bus: EventBus
    store: Store
    insights: Insights
    bridge: Bridge | None
    backups: BackupService
    disk: DiskWatch
    secrets: SecretBox
    accounts: AccountRegistry
    skills: SkillRegistry
    settings: SettingsService
    #: The function that masks in a text all secrets that this process knows.
    redact: Redactor


@asynccontextmanager
async def watch_disk(config: Config, folder: DataFolder, clock: SystemClock) -> AsyncIterator[DiskWatch]:
    """Yield an object that watches the free disk space. It is active only for SQLite, because the data of PostgreSQL is
    not in the data folder."""
    space, ballast = partial(disk_space, folder.path), ReservedSpace(folder.path / "ballast")
    disk = DiskWatch(space=space, ballast=ballast, clock=clock)
    async with nullcontext() if config.postgres_url else disk.watching():
        yield disk


@asynccontextmanager
async def open_base(
    config: Config,
    folder: DataFolder,
    disk: DiskWatch,
    clock: SystemClock,
    *,
    new_id: IdMaker,
    box: SecretBox,
    redact: Redactor,
    reaching: Reaching,
    upgrade: Callable[[Database, int], Sequence[str]],
    restart: Callable[[], None],
) -> AsyncIterator[Base]:
    """Open the base. `upgrade` updates the database of an older version."""
    database = database_of(config)
    start = await _prepare(database, reaching, upgrade, clock)
    bus = EventBus()
    emergency = Emergency(make_room=disk.make_room, lost=_end_at_once)
    async with (
        open_store(database, boot=folder.boot_id, new_id=new_id, emergency=emergency) as (store, insights),
        open_relay(database, boot=folder.boot_id) as relay,
    ):
        await reaching.until_done(partial(store.write, _begin, config, start, clock.now()))
        settings = SettingsService(given=config, store=store, bus=bus, clock=clock, environ=lambda: os.environ)
        config = await reaching.until_done(settings.begin)
        accounts = AccountRegistry(configured=config.accounts, store=store, secrets=box)
        await reaching.until_done(accounts.learn)
        bridge = None if relay is None else Bridge(bus=bus, relay=relay, topics=_topics(config))
        with nullcontext() if bridge is None else bridge.passing_on():
            reports = BackupReports(settings=config.backup, store=store, clock=clock, programs=GuardedPrograms())
            every = config.backup.every
            backups = BackupService(database=database, every=every, clock=clock, watch=reports, restart=restart)
            skills = SkillRegistry(store=store, clock=clock, folder=folder.path / "skills", convert=True)
            yield Base(
                config,
                folder,
                clock,
                new_id,
                bus,
                store,
                insights,
                bridge,
                backups,
                disk,
                box,
                accounts,
                skills,
                settings,
                redact,
            )


async def _prepare(
    database: Database, reaching: Reaching, upgrade: Callable[[Database, int], Sequence[str]], clock: SystemClock
) -> StartReport:
    """Carry out a requested restore, repair and upgrade the database, and return what happened."""
    if (outcome := await asyncio.to_thread(carry_out_request, database, clock.now())) is not None:
        what, why, fix = outcome.error
        if outcome.state is RestoreState.DONE:
            log.warning("backup_restored", backup=outcome.name, messages=outcome.messages, aside=outcome.aside)
        else:
            log.error("restore_failed", backup=outcome.name, error=what, why=why, fix=fix)
    finding = await asyncio.to_thread(make_sound, database, clock.now())
    report = str(finding.report) if finding is not None and finding.report is not None else None
    if finding is not None:
        getattr(log, finding.level)(finding.event, what=finding.what, report=report)
    applied = await reaching.until_done(lambda: asyncio.to_thread(upgrade, database, clock.now()))
    if applied:
        log.info("migrated", migrations=applied)
    if finding is None:
        return StartReport(migrations=applied)
    return StartReport(level=finding.level, what=finding.what, report=report, migrations=applied)


def _topics(config: Config) -> list[Topic]:
    """Return the topics about which this process receives notices from other processes."""
    wanted = {"web": Topic.CHAT, "workers": Topic.JOBS, "connectors": Topic.JOBS, "scheduler": Topic.JOBS}
    return list({topic for role, topic in wanted.items() if role in config.roles})


def _end_at_once(error: StoreLost) -> None:
    """End the process immediately: the content of the database is uncertain, so no result may be reported. A thread of
    the store calls this function."""
    log.critical("store_lost", error=error.what, why=error.why, fix=error.fix)
    os._exit(1)


def _begin(tx: Transaction, config: Config, start: StartReport, now: int) -> None:
    _seed_agents(tx, config, now)
    report_start(tx, start, now)


def _seed_agents(tx: Transaction, config: Config, now: int) -> None:
    """Create the configured agents that do not exist yet, and the conductor. Existing agents are not changed, because
    the database is authoritative for them."""
    for entry in config.agents:
        free = [each for each in entry.bindings if tx.agents.binding_at(each.platform, each.channel) is None]
        agents.seed(tx, entry.agent, free, now=now)
    ensure_conductor(tx, now)


def spending_limits(base: Base) -> SpendingLimits:
    """Return the budgets of the current settings."""
    config = base.settings.current()
    return config.budgets.limits(config.scheduler.timezone)


def prices_of(config: Config) -> Prices:
    return Prices(own={model: Price(**entry.model_dump()) for model, entry in config.model_prices.items()})


def new_token() -> str:
    return secrets.token_urlsafe(32)

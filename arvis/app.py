"""The composition root: builds everything, starts it in order, stops it in reverse. The only wiring there is."""

from __future__ import annotations

import asyncio
import importlib
import os
import random
import secrets
import signal
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib.metadata import entry_points

import structlog

from arvis.agents.agent import agent_graph
from arvis.bridge import Bridge
from arvis.bus import EventBus
from arvis.config import Config, ineffective_keys
from arvis.delivery import Deliverer
from arvis.domain.agents import Agent, Binding
from arvis.domain.errors import ConfigError, StoreLost
from arvis.domain.events import JobSettled
from arvis.domain.jobs import JobKind
from arvis.domain.runs import Account, CallTimeouts
from arvis.graph import lifecycle
from arvis.graph.engine import Engine
from arvis.housekeeping import Housekeeping
from arvis.message_flow import MessageFlow
from arvis.operations import StoreOperations
from arvis.ports.connector import Connector
from arvis.ports.http import HttpClient
from arvis.ports.insights import Insights
from arvis.ports.provider import Provider
from arvis.ports.relay import Topic
from arvis.ports.store import Store, Transaction
from arvis.process.ballast import Ballast
from arvis.process.clock import SystemClock
from arvis.process.disk import DiskWatch, disk_space
from arvis.process.ids import IdMaker
from arvis.process.leases import RoleKeeper
from arvis.process.lock import DataFolder, hold_data_folder, leave_address
from arvis.process.logs import logging_to
from arvis.process.redaction import Redactor
from arvis.process.roles import Role, RoleState, Supervisor
from arvis.queue.patience import PatientStore
from arvis.queue.policy import RetryPolicy
from arvis.queue.queue import Handler, Queue
from arvis.routing import Router
from arvis.runner import DEMO, Runner
from arvis.store.backup_keeper import BackupKeeper
from arvis.store.emergency import Emergency
from arvis.store.mending import make_sound
from arvis.store.opening import Database, bring_up_to_date, open_relay, open_store
from arvis.web.connector import WebConnector
from arvis.web.server import WebServer

log = structlog.get_logger(__name__)

DAY_MS = 24 * 3600 * 1000

Up = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Base:
    """What everything else is built on, and what outlives every role."""

    config: Config
    folder: DataFolder
    clock: SystemClock
    new_id: IdMaker
    bus: EventBus
    store: Store
    insights: Insights
    bridge: Bridge | None
    backups: BackupKeeper
    disk: DiskWatch


async def run(config: Config, *, say: Callable[[str], None]) -> None:
    """Run the daemon until SIGTERM or SIGINT; a second signal stops at once. `say` prints a line for people."""
    stopping = _stop_on_signals()
    clock = SystemClock()
    new_id = IdMaker(clock=clock, random_bits=secrets.randbits)
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(hold_data_folder(config.data_dir, new_id=new_id, new_key=_new_token))
        redact = Redactor({*config.secrets(), folder.api_key})
        keep_days = config.retention.logs_days
        stack.enter_context(
            logging_to(stream=sys.stderr, folder=folder.logs, keep_days=keep_days, redact=redact, clock=clock)
        )
        _check_connectors(config)
        disk = await stack.enter_async_context(_watch_disk(config, folder, clock))
        base = await stack.enter_async_context(_open_base(config, folder, disk, clock, new_id))
        # What turns need to end is opened before the roles, and so is closed after their drain.
        providers = await _load_providers(stack, base, config.accounts or (DEMO,))
        supervisor = await stack.enter_async_context(Supervisor(clock=clock))
        web = await _start_roles(base, providers, supervisor)
        say(f"Arvis is ready at {web.url}" if web else "Arvis is ready")
        if web and folder.first_start:
            say(f"Log in with this link, once, within ten minutes: {await web.login_link()}")
        log.info("ready", boot=folder.boot_id, roles=list(supervisor.health()), models=_models(config))
        _warn_of_ineffective(config)
        await stopping.wait()
        log.info("stopping")


async def _start_roles(base: Base, providers: Mapping[str, Provider], supervisor: Supervisor) -> WebServer | None:
    """Build the flow around the store and start what this process is to do; the web server, if it has one."""
    config = base.config
    flow = _build_flow(base, providers)
    rooms = WebConnector(tell_others=None if base.bridge is None else base.bridge.tell)
    connectors: dict[tuple[str, str], Connector] = {(rooms.platform, rooms.name): rooms}
    web = _build_web(base, flow, rooms, supervisor) if "web" in config.roles else None
    if base.bridge is not None:
        await supervisor.start(Role("notices", base.bridge.run))
    if "workers" in config.roles:
        await supervisor.start(Role("workers", lambda up: _work(base, flow, connectors, up)))
    if "scheduler" in config.roles:
        await supervisor.start(Role("scheduler", lambda up: _keep_house(base, up)))
    if web is not None:
        await supervisor.start(Role("web", lambda up: _serve(web, base.folder, up)))
    return web


# -- parts -------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _watch_disk(config: Config, folder: DataFolder, clock: SystemClock) -> AsyncIterator[DiskWatch]:
    """Room matters where the database lies in the data folder."""
    space, ballast = partial(disk_space, folder.path), Ballast(folder.path / "ballast")
    disk = DiskWatch(space=space, ballast=ballast, clock=clock)
    async with nullcontext() if config.postgres_url else disk.watching():
        yield disk


def _end_at_once(error: StoreLost) -> None:
    """On a thread of the store: from now on nobody may be told anything, so the process ends where it stands."""
    log.critical("store_lost", error=error.what, why=error.why, fix=error.fix)
    os._exit(1)


@asynccontextmanager
async def _open_base(
    config: Config, folder: DataFolder, disk: DiskWatch, clock: SystemClock, new_id: IdMaker
) -> AsyncIterator[Base]:
    database = database_of(config)
    if (finding := await asyncio.to_thread(make_sound, database, clock.now())) is not None:
        getattr(log, finding.level)(finding.event, what=finding.what, report=finding.report and str(finding.report))
    applied = await asyncio.to_thread(bring_up_to_date, database, clock.now())
    bus = EventBus()
    emergency = Emergency(make_room=disk.make_room, lost=_end_at_once)
    async with (
        open_store(database, boot=folder.boot_id, new_id=new_id, emergency=emergency) as (store, insights),
        open_relay(database, boot=folder.boot_id) as relay,
    ):
        if applied:
            log.info("migrated", migrations=applied)
        await store.write(_seed_agents, config, clock.now())
        bridge = None if relay is None else Bridge(bus=bus, relay=relay, topics=_topics(config))
        with nullcontext() if bridge is None else bridge.passing_on():
            backups = BackupKeeper(database=database, every=config.backup.every, clock=clock)
            yield Base(config, folder, clock, new_id, bus, store, insights, bridge, backups, disk)


def _topics(config: Config) -> list[Topic]:
    """What this process wants to hear from the others."""
    wanted = {"web": Topic.CHAT, "workers": Topic.JOBS}
    return [topic for role, topic in wanted.items() if role in config.roles]


def database_of(config: Config) -> Database:
    return Database(config.database_file, config.postgres_url, config.data_dir, config.backup.keep)


async def _load_providers(stack: AsyncExitStack, base: Base, accounts: tuple[Account, ...]) -> Mapping[str, Provider]:
    """Only what an account or an agent names is imported, and off the event loop."""
    names = {account.provider for account in (*accounts, DEMO)}
    http: HttpClient | None = None
    if names - {"demo"}:
        net = await asyncio.to_thread(importlib.import_module, "arvis.net.client")
        http = await stack.enter_async_context(net.open_http_client())
    found = {point.name: point for point in entry_points(group="arvis.providers")}
    timeouts = CallTimeouts(base.config.model.timeout_seconds, base.config.model.idle_seconds)
    providers: dict[str, Provider] = {}
    for name in sorted(names):
        if name not in found:
            raise ConfigError(f"There is no provider {name}", fix=f"use one of {', '.join(sorted(found))}")
        create = await asyncio.to_thread(found[name].load)
        providers[name] = create(name=name, http=http, clock=base.clock, timeouts=timeouts)
    return providers


def _build_flow(base: Base, providers: Mapping[str, Provider]) -> MessageFlow:
    config = base.config
    runner = Runner(
        providers=providers,
        accounts=config.accounts or (DEMO,),
        clock=base.clock,
        new_id=base.new_id,
        random=random.random,
    )
    graph = agent_graph(store=base.store, runner=runner, reply_bytes=config.limits.reply_bytes)
    engine = Engine(
        store=PatientStore(store=base.store, clock=base.clock),
        graphs={graph.name: graph},
        clock=base.clock,
        bus=base.bus,
        new_id=base.new_id,
    )
    router = Router(
        fallback=config.routing.fallback,
        conductor_channel=config.routing.conductor_channel,
        owners={platform: frozenset(ids) for platform, ids in config.owners.items()},
    )
    return MessageFlow(
        admit=base.disk.admit, store=base.store, router=router, engine=engine, bus=base.bus, clock=base.clock
    )


def _build_web(base: Base, flow: MessageFlow, rooms: WebConnector, supervisor: Supervisor) -> WebServer:
    config = base.config
    return WebServer(
        config=config.web,
        limits=config.limits,
        owners=tuple(config.owners.get("web", ())),
        daemon_key=base.folder.api_key,
        inbox=flow,
        insights=base.insights,
        operations=StoreOperations(store=base.store, bus=base.bus, clock=base.clock),
        backups=base.backups,
        store=base.store,
        connector=rooms,
        bus=base.bus,
        clock=base.clock,
        new_token=_new_token,
        roles=lambda: {name: health.state is RoleState.UP for name, health in supervisor.health().items()},
        room=lambda: not base.disk.low,
    )


# -- roles -------------------------------------------------------------------------------------------------


async def _work(base: Base, flow: MessageFlow, connectors: Mapping[tuple[str, str], Connector], up: Up) -> None:
    """The workers: run jobs until cancelled, then drain."""
    settings = base.config.queue
    patient = PatientStore(store=base.store, clock=base.clock)
    deliverer = Deliverer(store=patient, connectors=connectors, clock=base.clock)
    handlers: dict[JobKind, Handler] = {JobKind.MESSAGE: flow, JobKind.ADVANCE: flow, JobKind.DELIVER: deliverer}
    queue = Queue(
        store=base.store,
        clock=base.clock,
        policy=RetryPolicy(settings.max_attempts, int(settings.retry_unit_seconds * 1000), random.random),
        handlers=handlers,
        expire=lifecycle.expire,
        workers=settings.workers,
        delivery_workers=settings.delivery_workers,
        lease_seconds=settings.lease_seconds,
        boot=base.folder.boot_id,
        node=base.folder.node_id,
    )
    forget = base.bus.subscribe(JobSettled, lambda event: queue.abandon(event.job_id))
    await queue.start()
    up()
    try:
        await queue.watch()
    finally:
        forget()
        await queue.stop()


async def _keep_house(base: Base, up: Up) -> None:
    """The scheduler: of all processes of a database, one at a time."""
    retention = base.config.retention
    keeper = RoleKeeper(
        name="scheduler",
        store=base.store,
        clock=base.clock,
        owner=base.folder.boot_id,
        node=base.folder.node_id,
    )
    housekeeping = Housekeeping(
        store=base.store,
        clock=base.clock,
        keep_finished_ms=retention.finished_jobs_days * DAY_MS,
        keep_history_ms=retention.timeline_days * DAY_MS,
        back_up=None if base.store.shared else base.backups.run_due,
    )
    up()
    await keeper.run(housekeeping.run)


async def _serve(web: WebServer, folder: DataFolder, up: Up) -> None:
    await web.start()
    try:
        with leave_address(folder, web.url):
            up()
            await web.wait_closed()
    finally:
        await web.stop()


# -- small things ------------------------------------------------------------------------------------------


def _models(config: Config) -> list[str]:
    return [f"{account.provider}/{account.model} ({account.name})" for account in config.accounts or (DEMO,)]


def _warn_of_ineffective(config: Config) -> None:
    if ineffective := ineffective_keys(config):
        log.warning("settings_without_effect", keys=ineffective, why="this version does not act upon them yet")
    for account in config.skipped_accounts:
        log.warning("account_skipped", provider=account.provider, variable=account.variable, why="not in this version")


def _check_connectors(config: Config) -> None:
    """A bot that was configured and cannot run is an error; one that only a variable asked for is left out."""
    installed = {point.name for point in entry_points(group="arvis.connectors")}
    for entry in config.connectors:
        if entry.platform in installed:
            continue
        if entry.variable is None:
            raise ConfigError(
                f"`{entry.path}` names a platform that is not available in this version: {entry.platform}",
                fix="remove it; the web page, the API and the command line are there",
            )
        log.warning("connector_skipped", platform=entry.platform, variable=entry.variable, why="not in this version")


def _stop_on_signals() -> asyncio.Event:
    """Set by the first SIGTERM or SIGINT; the second ends the process where it stands, which loses nothing."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()

    def stop() -> None:
        if stopping.is_set():
            os._exit(1)
        stopping.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    return stopping


def _new_token() -> str:
    return secrets.token_urlsafe(32)


def _seed_agents(tx: Transaction, config: Config, now: int) -> None:
    """Create the configured agents that are not there yet; the database is the truth afterwards."""
    for entry in config.agents:
        if tx.agents.by_slug(entry.slug) is not None:
            continue
        fields = entry.model_dump(exclude={"channels"})
        agent = Agent(id=tx.new_id(), **fields)
        tx.agents.add(agent, now)
        for channel in entry.channels:
            if tx.agents.binding_at(channel.platform, channel.channel) is None:
                tx.agents.bind(Binding(channel.platform, channel.channel, agent.id, channel.permission), now)

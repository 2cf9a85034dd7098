"""Starts the roles of a process in the order of their dependencies."""

from __future__ import annotations

import asyncio
import importlib
import random
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Protocol

import structlog

from arvis.app.bots import CONNECTOR_ROLES, Bots, build_supervisor
from arvis.app.foundation import Base, new_token, spending_limits
from arvis.app.speech import Speech
from arvis.app.telemetry import traced
from arvis.app.tools import Tools
from arvis.app.work_on_demand import LateDeliverer, LateHandler, LateInbox, Work
from arvis.bots.supervisor import BotSupervisor
from arvis.bus import EventBus
from arvis.config.sections import Retention
from arvis.domain.changes import ChangeTopic
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import StoreError
from arvis.domain.events import Changed, JobSettled
from arvis.domain.jobs import JobKind
from arvis.engine import lifecycle
from arvis.housekeeping import Housekeeping, KeepTimes
from arvis.llm.budgets import BudgetSession
from arvis.llm.selection import DEMO
from arvis.message_indexing import MessageIndexer
from arvis.messaging import owner_alerts
from arvis.notifications import Notifier, Observations
from arvis.ports.http import Fetcher
from arvis.ports.provider import Providers
from arvis.ports.store import Store, Transaction
from arvis.process.data_folder import DataFolder, leave_address
from arvis.process.leases import Holding, RoleLeaseManager
from arvis.process.logging import erase_details
from arvis.process.on_demand import OnDemand
from arvis.process.stalls import LoopWatch
from arvis.process.supervisor import Role, Supervisor
from arvis.queue.queue import Handler, Noticed, Queue, RetryPolicy
from arvis.scheduler.scheduler import Scheduler
from arvis.services import roles
from arvis.web.auth.api_keys import roles_of
from arvis.web.event_counts import EventCounts
from arvis.web.http.limits import message_limit
from arvis.web.latency import LatencySeries, Observers
from arvis.web.server import Handling, WebServer

log = structlog.get_logger(__name__)

DAY_MS = 24 * 3600 * 1000
#: The interval in seconds of the checks for a first erasure or knowledge base, on a database that several processes
#: share. A process that is the only user of its database learns of them from its own events, and also checks once a
#: minute.
_SHARED_SECONDS = 5.0
_ALONE_SECONDS = 60.0

Up = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Outside:
    """The resources through which roles reach other systems. They are opened before the roles, and closed after the
    roles have drained."""

    providers: Providers
    tools: Tools
    bots: Bots
    speech: Speech
    watch: LoopWatch


async def start_roles(base: Base, outside: Outside, supervisor: Supervisor) -> WebServer | None:
    """Build the parts and start the roles of this process. Return the web server, or None if the process does not have
    the role `web`."""
    config, bots = base.config, outside.bots
    embedder = outside.tools.embedder
    work: OnDemand[Work] = OnDemand(
        "arvis.app.work:build_work",
        base=base,
        providers=outside.providers,
        toolbox=outside.tools.box,
        bots=bots,
        speech=outside.speech,
        embedder=embedder,
    )
    inbox = LateInbox(work=work, store=base.store)
    bot_supervisor = build_supervisor(base, bots, inbox)
    web = _web(base, outside, inbox, bot_supervisor, supervisor, embedder=embedder) if "web" in config.roles else None
    if base.bridge is not None:
        await supervisor.start(Role("notices", base.bridge.run))
        await supervisor.start(Role("settings", base.settings.follow, required=False))
        if "workers" in config.roles:
            # Only processes that share a database need this role. In a single process, the code that changes an account
            # also updates the list of accounts.
            await supervisor.start(Role("accounts", lambda up: base.accounts.follow(base.bus, up), required=False))
    if "workers" in config.roles:
        # This role starts before the workers and so stops after them: people see the typing indicator and the status
        # during the drain.
        await supervisor.start(Role("presence", lambda up: _show_presence(base, work, up), required=False))
        kinds = set(JobKind) - {JobKind.DELIVER}
        handlers: dict[JobKind, Handler] = {kind: LateHandler(work=work, kind=kind) for kind in kinds}
        await supervisor.start(Role("folders", lambda up: _keep_folders(base, outside.tools, up), required=False))
        traces = await traced(base, handlers, supervisor)
        await supervisor.start(Role("workers", lambda up: _work(base, traces, work, up)))
    if "scheduler" in config.roles:
        await supervisor.start(Role("scheduler", lambda up: _run_scheduler(base, outside, up)))
    if CONNECTOR_ROLES & set(config.roles):
        # This role starts after the workers and so stops before them: no events arrive during the last deliveries.
        await supervisor.start(Role("bots", bot_supervisor.run))
    if web is not None:
        await supervisor.start(Role("web", lambda up: _serve(web, base.folder, up)))
    return web


def _announce_changes(bus: EventBus, topics: Collection[str]) -> None:
    for topic in topics:
        bus.publish(Changed(topic))


def _web(
    base: Base,
    outside: Outside,
    inbox: LateInbox,
    bot_supervisor: BotSupervisor,
    supervisor: Supervisor,
    *,
    embedder: OnDemand[Any],
) -> WebServer:
    config, bots = base.config, outside.bots
    observers = Observers(
        latency=LatencySeries(
            insights=base.insights, store=base.store, clock=base.clock, zone=config.scheduler.timezone
        ),
        counts=EventCounts(since=base.clock.now()),
    )

    codes: OnDemand[Any] = OnDemand(
        "arvis.web.auth.sessions:LoginCodes", store=base.store, clock=base.clock, new_token=new_token
    )

    async def new_code() -> str:
        code: str = await (await codes.get()).new_code()
        return code

    def handling(link: Callable[[str], str]) -> OnDemand[Handling]:
        return OnDemand(
            "arvis.app.web:build_web",
            base=base,
            inbox=inbox,
            providers=outside.providers,
            toolbox=outside.tools.box,
            bots=bots,
            bot_supervisor=bot_supervisor,
            supervisor=supervisor,
            stalls=lambda: outside.watch.stalls,
            observers=observers,
            login_link=link,
            embedder=embedder,
        )

    return WebServer(
        config=config.web,
        bus=base.bus,
        max_frame=message_limit(config.limits).size,
        listeners=(bots.rooms, observers.latency, observers.counts),
        new_code=new_code,
        handling=handling,
    )


async def _keep_folders(base: Base, tools: Tools, up: Up) -> None:
    up()
    await tools.keep_folders(base.clock, base.bus)


async def _show_presence(base: Base, work: OnDemand[Work], up: Up) -> None:
    """Show typing indicators and drafts. Start at the first work, or at once if an earlier process has left drafts."""
    up()
    if await base.store.read(_has_drafts):
        await work.get()
    await (await work.used()).show_presence()


def _has_drafts(tx: Transaction) -> bool:
    return bool(tx.drafts.open(1))


async def _work(base: Base, handlers: Mapping[JobKind, Handler], work: OnDemand[Work], up: Up) -> None:
    """Run jobs until cancelled, then drain the queue."""
    settings = base.config.queue
    deliverer = LateDeliverer(work=work)
    queue = Queue(
        store=base.store,
        clock=base.clock,
        policy=RetryPolicy(settings.max_attempts, int(settings.retry_base_seconds * 1000), random.random),
        handlers={
            **{kind: Noticed(handler=each, bus=base.bus) for kind, each in handlers.items()},
            JobKind.DELIVER: deliverer,
        },
        expire=lifecycle.expire,
        rescued=BudgetSession(store=base.store, limits=partial(spending_limits, base), clock=base.clock).book_left,
        workers=settings.workers,
        delivery_workers=settings.delivery_workers,
        lease_seconds=settings.lease_seconds,
        boot=base.folder.boot_id,
        node=base.folder.node_id,
        sent=deliverer.show,
        changed=partial(_announce_changes, base.bus),
    )
    forget = base.bus.subscribe(JobSettled, lambda event: queue.abandon(event.job_id))
    await base.store.write(owner_alerts.choose_place, base.config.alert_channel, base.clock.now())
    await base.store.write(roles.settle_roles, base.config.owners, roles_of(base.config.web.api_keys), base.clock.now())
    await queue.start()
    up()
    try:
        await queue.watch()
    finally:
        forget()
        await queue.stop()


class Duty(Protocol):
    """A task of the process with the role `scheduler`."""

    async def run(self, holding: Holding) -> None:
        """Work until cancelled."""
        ...


async def _erase(base: Base, eraser: OnDemand[Duty], holding: Holding) -> None:
    """Wait for the first erasure request, then run the eraser."""
    await _wait_for_first(base, "erasures", ChangeTopic.PEOPLE, _is_erasure_open)
    await (await eraser.get()).run(holding)


async def _embed(base: Base, indexer: OnDemand[Duty], holding: Holding) -> None:
    """Wait until a model for embeddings is configured, then run the indexer. Do not wait if vectors of a former model
    must be deleted."""
    if not await _may_have_vectors(base.store):
        await base.settings.until(lambda config: config.embeddings.choice is not None)
    await (await indexer.get()).run(holding)


async def _consolidate(base: Base, consolidator: OnDemand[Duty], holding: Holding) -> None:
    """Wait until a budget for the consolidation of facts is configured, then run the consolidation."""
    await base.settings.until(lambda config: bool(config.memory.consolidation_daily_usd))
    await (await consolidator.get()).run(holding)


async def _may_have_vectors(store: Store) -> bool:
    """Return False if no vectors are stored. While the database is not available, return True, so that the indexer
    checks again."""
    try:
        return await store.read(_are_vectors_stored)
    except StoreError as error:
        log.warning("duty_failed", duty="embeddings", error=error.what, why=error.why)
        return True


def _are_vectors_stored(tx: Transaction) -> bool:
    return tx.embeddings.are_stored()


def _is_erasure_open(tx: Transaction) -> bool:
    return tx.erasures.next_open() is not None


async def _index_knowledge(base: Base, indexer: OnDemand[Duty], holding: Holding) -> None:
    """Wait for the first knowledge base, then run the indexer."""
    if not base.config.knowledge.folders:
        await _wait_for_first(base, "knowledge", ChangeTopic.KNOWLEDGE, _is_knowledge_stored)
    await (await indexer.get()).run(holding)


def _is_knowledge_stored(tx: Transaction) -> bool:
    return tx.knowledge.are_any()


async def _wait_for_first(base: Base, duty: str, topic: ChangeTopic, found: Callable[[Transaction], bool]) -> None:
    """Wait until `found` returns True. Check now, after each change of the topic, and at regular intervals. While the
    database is not available, check again later."""
    with base.bus.signal(Changed, when=lambda event: event.topic == topic) as changed:
        while True:
            try:
                if await base.store.read(found):
                    return
            except StoreError as error:
                log.warning("duty_failed", duty=duty, error=error.what, why=error.why)
            await changed.wait(_SHARED_SECONDS if base.store.shared else _ALONE_SECONDS)


async def _run_scheduler(base: Base, outside: Outside, up: Up) -> None:
    """Run the scheduler, the clean-up, the search indexes, embeddings, erasures and notifications while this process
    has the role. Of all processes that use the database, only one has the role at a time."""
    tools = outside.tools
    lease = RoleLeaseManager(
        name="scheduler",
        store=base.store,
        clock=base.clock,
        owner=base.folder.boot_id,
        node=base.folder.node_id,
    )
    scheduler = Scheduler(
        store=base.store,
        bus=base.bus,
        clock=base.clock,
        poll_seconds=base.config.scheduler.poll_seconds,
        zone=base.config.scheduler.timezone,
    )
    housekeeping = _build_housekeeping(base)
    indexer = MessageIndexer(store=base.store, bus=base.bus, clock=base.clock)
    eraser: OnDemand[Duty] = OnDemand(
        "arvis.erasing:Eraser",
        store=base.store,
        bus=base.bus,
        clock=base.clock,
        sessions=base.folder.sessions,
        purge_messages=indexer.purge_now,
        erase_logs=erase_details,
        remove_profiles=tools.remove_unused_profiles,
    )
    embedding: OnDemand[Duty] = OnDemand("arvis.app.embedding:build_indexer", base=base, embedder=tools.embedder)
    knowledge: OnDemand[Duty] = OnDemand(
        "arvis.app.knowledge:build_indexer", base=base, fetcher=partial(_fetcher_of, tools)
    )
    consolidator: OnDemand[Duty] = OnDemand(
        "arvis.app.consolidation:build_consolidator", base=base, providers=outside.providers
    )
    notifier = _build_notifier(base)

    async def work(holding: Holding) -> None:
        async with asyncio.TaskGroup() as duties:
            duties.create_task(scheduler.run(holding))
            duties.create_task(housekeeping.run(holding))
            duties.create_task(indexer.run(holding))
            duties.create_task(_erase(base, eraser, holding))
            duties.create_task(_embed(base, embedding, holding))
            duties.create_task(_index_knowledge(base, knowledge, holding))
            duties.create_task(_consolidate(base, consolidator, holding))
            duties.create_task(notifier.run(holding))

    up()
    await lease.run(work)


def _build_housekeeping(base: Base) -> Housekeeping:
    return Housekeeping(
        store=base.store,
        clock=base.clock,
        keep=_keep_times(base.config.retention),
        tool_servers=[server.name for server in base.config.mcp.servers],
        back_up=None if base.store.shared else base.backups.run_due,
    )


async def _fetcher_of(tools: Tools) -> Fetcher:
    """Return the fetcher of public addresses. The first call, for the first web page, builds the toolbox."""
    fetcher: Fetcher = await (await tools.box.get()).network()
    return fetcher


def _keep_times(retention: Retention) -> KeepTimes:
    return KeepTimes(
        finished_jobs=retention.finished_jobs_days * DAY_MS,
        history=retention.timeline_days * DAY_MS,
        compacted=retention.compacted_days * DAY_MS,
        deliveries=retention.deliveries_days * DAY_MS,
        usage=retention.usage_days * DAY_MS,
        audit=retention.audit_days * DAY_MS,
        facts=retention.facts_days * DAY_MS,
    )


def _build_notifier(base: Base) -> Notifier:
    config = base.config

    async def newest_backup() -> int | None:
        return next((each.created_at for each in await base.backups.all()), None)

    observations = Observations(
        disk_low=lambda: base.disk.low,
        newest_backup=None if base.store.shared else newest_backup,
        backup_every=config.backup.every,
        accounts=lambda: {account.name for account in base.accounts.usable if account.provider != DEMO.provider},
        limits=partial(spending_limits, base),
        clock=base.clock,
    )
    mailer = None
    if config.email.host is not None:
        mails = importlib.import_module("arvis.notifications.mail")
        mailer = mails.Mailer(settings=config.email, host_url=config.web.public_url)
    return Notifier(store=base.store, bus=base.bus, clock=base.clock, observations=observations, mailer=mailer)


async def _serve(web: WebServer, folder: DataFolder, up: Up) -> None:
    await web.start()
    try:
        with leave_address(folder, web.url):
            up()
            await web.wait_closed()
    finally:
        await web.stop()

"""Starts the roles of a process in the order of their dependencies."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Collection, Mapping
from functools import partial

from arvis.app.bots import CONNECTOR_ROLES, Bots, build_supervisor
from arvis.app.build import build_flow, build_inbox, build_notifier, build_web, spending_limits
from arvis.app.foundation import Base
from arvis.app.speech import Speech
from arvis.app.telemetry import traced
from arvis.app.tools import Toolbox
from arvis.bus import EventBus
from arvis.delivery import Deliverer, LateReplies, Presence
from arvis.domain.dataclass import dataclass
from arvis.domain.events import Changed, JobSettled
from arvis.domain.jobs import JobKind
from arvis.engine import lifecycle
from arvis.erasing import Eraser
from arvis.housekeeping import Housekeeping, KeepTimes
from arvis.llm.budgets import BudgetSession
from arvis.message_flow import MessageFlow
from arvis.message_indexing import MessageIndexer
from arvis.messaging import owner_alerts
from arvis.ports.provider import Providers
from arvis.process.data_folder import DataFolder, leave_address
from arvis.process.leases import Holding, RoleLeaseManager
from arvis.process.logging import erase_details
from arvis.process.stalls import LoopWatch
from arvis.process.supervisor import Role, Supervisor
from arvis.queue.outages import RetryingStore
from arvis.queue.queue import Handler, Noticed, Queue, RetryPolicy
from arvis.scheduler.scheduler import ScheduleHandler, Scheduler
from arvis.scheduler.scripts import ScriptRunner
from arvis.services import people
from arvis.web.auth.api_keys import roles_of
from arvis.web.server import WebServer

DAY_MS = 24 * 3600 * 1000

Up = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Outside:
    """The resources through which roles reach other systems. They are opened before the roles, and closed after the
    roles have drained."""

    providers: Providers
    tools: Toolbox
    bots: Bots
    speech: Speech
    watch: LoopWatch


async def start_roles(base: Base, outside: Outside, supervisor: Supervisor) -> WebServer | None:
    """Build the parts and start the roles of this process. Return the web server, or None if the process does not have
    the role `web`."""
    config, bots = base.config, outside.bots
    flow = build_flow(base, outside.providers, outside.tools, bots.fleet, outside.speech)
    inbox = build_inbox(base, outside.tools)
    bot_supervisor = build_supervisor(base, bots, inbox)
    web = None
    if "web" in config.roles:
        web = build_web(
            base,
            inbox,
            outside.providers,
            outside.tools,
            bots=bots,
            bot_supervisor=bot_supervisor,
            supervisor=supervisor,
            stalls=lambda: outside.watch.stalls,
        )
    if base.bridge is not None:
        await supervisor.start(Role("notices", base.bridge.run))
        await supervisor.start(Role("settings", base.settings.follow, required=False))
        if "workers" in config.roles:
            # A single process does not need this role, because the code that changes an account also updates the list
            # of accounts of its own process.
            await supervisor.start(Role("accounts", lambda up: base.accounts.follow(base.bus, up), required=False))
    if "workers" in config.roles:
        presence = Presence(store=base.store, bus=base.bus, connector_of=bots.fleet.connector_of, clock=base.clock)
        # This role starts before the workers and so stops after them: people see the typing indicator and the status
        # during the drain.
        await supervisor.start(Role("presence", presence.run, required=False))
        handlers = await traced(base, _handlers(base, flow, outside.tools), supervisor)
        await supervisor.start(Role("workers", lambda up: _work(base, handlers, bots, presence, up)))
    if "scheduler" in config.roles:
        await supervisor.start(Role("scheduler", lambda up: _run_scheduler(base, up)))
    if CONNECTOR_ROLES & set(config.roles):
        # This role starts after the workers and so stops before them: no events arrive during the last deliveries.
        await supervisor.start(Role("bots", bot_supervisor.run))
    if web is not None:
        await supervisor.start(Role("web", lambda up: _serve(web, base.folder, up)))
    return web


def _announce_changes(bus: EventBus, topics: Collection[str]) -> None:
    for topic in topics:
        bus.publish(Changed(topic))


def _handlers(base: Base, flow: MessageFlow, tools: Toolbox) -> Mapping[JobKind, Handler]:
    """Return the handler of each kind of job except deliveries, which have a separate handler."""
    patient = RetryingStore(store=base.store, clock=base.clock)
    scripts = ScriptRunner(store=patient, fetcher=tools.fetcher, clock=base.clock)
    begun = ScheduleHandler(runs=flow, scripts=scripts)
    kinds = (JobKind.MESSAGE, JobKind.ADVANCE, JobKind.COMPACT)
    begun_kinds = (JobKind.CRON, JobKind.HEARTBEAT, JobKind.WEBHOOK)
    return {**dict.fromkeys(kinds, flow), **dict.fromkeys(begun_kinds, begun)}


async def _work(base: Base, handlers: Mapping[JobKind, Handler], bots: Bots, presence: Presence, up: Up) -> None:
    """Run jobs until cancelled, then drain the queue."""
    settings = base.config.queue
    patient = RetryingStore(store=base.store, clock=base.clock)
    rules = base.config.delivery
    deliverer = Deliverer(
        store=patient,
        connector_of=bots.fleet.connector_of,
        clock=base.clock,
        bus=base.bus,
        late_replies=LateReplies(after=rules.late_after, late=rules.late, answer_within=rules.answer_within),
        release=presence.release,
        backoff=presence.backoff,
    )
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
    await base.store.write(
        people.settle_roles, base.config.owners, roles_of(base.config.web.api_keys), base.clock.now()
    )
    await queue.start()
    up()
    try:
        await queue.watch()
    finally:
        forget()
        await queue.stop()


async def _run_scheduler(base: Base, up: Up) -> None:
    """Run the scheduler, the clean-up, the search index, erasures and notifications while this process has the role. Of
    all processes that use the database, only one has the role at a time."""
    retention = base.config.retention
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
    housekeeping = Housekeeping(
        store=base.store,
        clock=base.clock,
        keep=KeepTimes(
            finished_jobs=retention.finished_jobs_days * DAY_MS,
            history=retention.timeline_days * DAY_MS,
            compacted=retention.compacted_days * DAY_MS,
            deliveries=retention.deliveries_days * DAY_MS,
            usage=retention.usage_days * DAY_MS,
            audit=retention.audit_days * DAY_MS,
            facts=retention.facts_days * DAY_MS,
        ),
        back_up=None if base.store.shared else base.backups.run_due,
    )

    indexer = MessageIndexer(store=base.store, bus=base.bus, clock=base.clock)
    eraser = Eraser(
        store=base.store,
        bus=base.bus,
        clock=base.clock,
        sessions=base.folder.path / "sessions",
        erase_logs=erase_details,
    )
    notifier = build_notifier(base)

    async def work(holding: Holding) -> None:
        async with asyncio.TaskGroup() as duties:
            duties.create_task(scheduler.run(holding))
            duties.create_task(housekeeping.run(holding))
            duties.create_task(indexer.run(holding))
            duties.create_task(eraser.run(holding))
            duties.create_task(notifier.run(holding))

    up()
    await lease.run(work)


async def _serve(web: WebServer, folder: DataFolder, up: Up) -> None:
    await web.start()
    try:
        with leave_address(folder, web.url):
            up()
            await web.wait_closed()
    finally:
        await web.stop()

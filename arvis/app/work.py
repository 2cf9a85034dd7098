"""Builds the parts that handle messages and other work, at the first message or job of this process."""

from __future__ import annotations

import random
from collections.abc import Collection
from functools import lru_cache, partial

from arvis.actions.context import Limits
from arvis.app.bots import Bots
from arvis.app.embedding import meaning_of
from arvis.app.foundation import Base, prices_of, spending_limits
from arvis.app.graphs import GraphParts, build_graphs, drawn_graphs
from arvis.app.speech import Speech
from arvis.app.toolbox import Toolbox, build_sandbox, build_workbench
from arvis.app.work_on_demand import Work
from arvis.approvals import approvers_of
from arvis.bots.connectors import ConnectorPool
from arvis.config import Config
from arvis.delivery import Deliverer, LateReplies, Presence
from arvis.domain.jobs import JobKind
from arvis.domain.messages import Address
from arvis.engine.engine import Engine
from arvis.extensions import read_declarations
from arvis.graphs.agent.files import FileRules
from arvis.graphs.agent.tools import ToolRules
from arvis.inbox.accept import InboxRules
from arvis.inbox.inbox import InboxService
from arvis.llm.budgets import BudgetSession
from arvis.llm.embedding import Embedder
from arvis.llm.model_limits import ModelLimits, may_see
from arvis.llm.runner import Runner
from arvis.media import MediaReader
from arvis.message_flow import MessageFlow
from arvis.ports.connector import FetchError, FetchesFiles
from arvis.ports.embeddings import MeaningOf, no_meaning
from arvis.ports.provider import Providers
from arvis.process.clock import RandomBits
from arvis.process.on_demand import OnDemand
from arvis.process.subprocesses import GuardedPrograms
from arvis.queue.outages import RetryingStore, until_done
from arvis.queue.queue import Handler
from arvis.routing import Router
from arvis.scheduler.scripts import ScheduleHandler, ScriptRunner
from arvis.services.allowances import Allowed
from arvis.services.people import new_code
from arvis.skills import Skill


def build_work(
    *,
    base: Base,
    providers: Providers,
    toolbox: OnDemand[Toolbox],
    bots: Bots,
    speech: Speech,
    embedder: OnDemand[Embedder],
) -> Work:
    # Permission checks read the declarations in transactions, and a transaction must not wait for files.
    read_declarations()
    box = toolbox.now()
    flow = build_flow(base, providers, box, bots.fleet, speech, meaning=meaning_of(base, embedder))
    presence = Presence(store=base.store, bus=base.bus, connector_of=bots.fleet.connector_of, clock=base.clock)
    return Work(
        inbox=build_inbox(base, box, meaning=meaning_of(base, embedder)),
        handlers=_handlers(base, flow, box),
        deliverer=_deliverer(base, bots, presence),
        show_presence=partial(presence.run, lambda: None),
    )


def _handlers(base: Base, flow: MessageFlow, tools: Toolbox) -> dict[JobKind, Handler]:
    """Return the handler of each kind of job except deliveries, which have a separate handler."""
    patient = RetryingStore(store=base.store, clock=base.clock)
    scripts = ScriptRunner(store=patient, fetcher=tools.network, clock=base.clock)
    begun = ScheduleHandler(runs=flow, scripts=scripts)
    kinds = (JobKind.MESSAGE, JobKind.ADVANCE, JobKind.COMPACT)
    begun_kinds = (JobKind.CRON, JobKind.HEARTBEAT, JobKind.WEBHOOK)
    return {**dict.fromkeys(kinds, flow), **dict.fromkeys(begun_kinds, begun)}


def _deliverer(base: Base, bots: Bots, presence: Presence) -> Deliverer:
    rules = base.config.delivery
    return Deliverer(
        store=RetryingStore(store=base.store, clock=base.clock),
        connector_of=bots.fleet.connector_of,
        clock=base.clock,
        bus=base.bus,
        late_replies=LateReplies(after=rules.late_after, late=rules.late, answer_within=rules.answer_within),
        release=presence.release,
        backoff=presence.backoff,
    )


def build_runner(base: Base, providers: Providers) -> Runner:
    config = base.config
    return Runner(
        providers=providers,
        accounts=base.accounts.current,
        clock=base.clock,
        new_id=base.new_id,
        random=random.random,
        prices=prices_of(config),
        limits=ModelLimits(
            windows=config.context_windows, replies=config.reply_tokens, reply=config.limits.reply_tokens
        ),
        sees=lru_cache(maxsize=256)(lambda provider, model: may_see(provider, model, config.vision_models)),
        first_byte=config.model.first_byte_seconds,
    )


def build_flow(
    base: Base,
    providers: Providers,
    tools: Toolbox,
    fleet: ConnectorPool,
    speech: Speech,
    *,
    meaning: MeaningOf = no_meaning,
) -> MessageFlow:
    config = base.config
    patient = RetryingStore(store=base.store, clock=base.clock)
    budget = BudgetSession(store=patient, limits=partial(spending_limits, base), clock=base.clock)
    graphs = GraphParts(
        store=patient,
        runner=build_runner(base, providers),
        budget=budget,
        tools=tools.rules,
        skills=partial(_current_skills, base),
        new_id=base.new_id,
        files=_file_rules(base, tools.rules, fleet, speech),
        summarizer=config.model.summarizer,
        reply_bytes=config.limits.reply_bytes,
        continuations=config.limits.continuations,
        speaker=speech.speaker,
        loops=config.limits.max_iterations,
        bench=build_workbench(base),
        plugins=tools.plugins,
        meaning=meaning,
        insights=base.insights,
    )
    engine = Engine(
        store=patient,
        graphs=build_graphs(graphs),
        clock=base.clock,
        bus=base.bus,
        new_id=base.new_id,
        drawn=drawn_graphs(graphs).find,
    )
    return MessageFlow(
        store=patient,
        engine=engine,
        bus=base.bus,
        clock=base.clock,
        zone=config.scheduler.timezone,
        limits=reply_limits(config),
        answer_within=config.delivery.answer_within,
    )


def reply_limits(config: Config) -> Limits:
    bounds = config.limits
    return Limits(
        delegation_depth=bounds.delegation_depth,
        delegation_fan_out=bounds.delegation_fan_out,
        delegation_jobs=bounds.delegation_jobs,
        crons_per_agent=bounds.crons_per_agent,
        heartbeats_per_agent=bounds.heartbeats_per_agent,
    )


def _file_rules(base: Base, tools: ToolRules, fleet: ConnectorPool, speech: Speech) -> FileRules:
    async def fetch(address: Address, source: str, most: int) -> bytes:
        connector = fleet.connector_of(address)
        if not isinstance(connector, FetchesFiles):
            raise FetchError("the bot that received the file no longer exists", permanent=True)
        return await connector.fetch(source, most)

    reader = MediaReader(
        programs=GuardedPrograms(),
        sandbox=build_sandbox(base),
        transcriber=speech.transcriber,
        minutes=speech.minutes,
    )
    most = base.config.limits.attachment_bytes
    return FileRules(
        fetch=fetch, media=reader, sessions=tools.sessions, most_bytes=most, allowed=allowed_of(base.config)
    )


def allowed_of(config: Config) -> Allowed:
    limits = config.limits
    return Allowed(messages_per_minute=limits.messages_per_minute, bytes_per_day=limits.upload_bytes_per_day)


def build_inbox(base: Base, tools: Toolbox, *, meaning: MeaningOf = no_meaning) -> InboxService:
    """Return the inbox to which every connector of this process passes the events of its platform."""
    config = base.config
    router = Router(
        rules=lambda: base.settings.current().routing,
        owners={platform: frozenset(ids) for platform, ids in config.owners.items()},
    )
    rules = InboxRules(
        zone=config.scheduler.timezone,
        answer_within=config.delivery.answer_within,
        approvers=approvers_of(config.approvals.approvers),
        allowed=allowed_of(config),
        commands=tools.plugins.hints,
    )
    return InboxService(
        admit=base.disk.admit,
        store=base.store,
        router=router,
        bus=base.bus,
        clock=base.clock,
        rules=rules,
        new_code=partial(new_code, RandomBits()),
        meaning=meaning,
    )


async def _current_skills(base: Base) -> Collection[Skill]:
    return (await until_done(base.clock, base.skills.current)).active

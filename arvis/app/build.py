"""Builds parts of the daemon from the base: the flow of messages, the inbox, and the web server."""

from __future__ import annotations

import importlib
import random
import secrets
from collections.abc import Callable, Collection
from functools import partial

from arvis.actions.context import Limits
from arvis.app.administration import Doctor, InstalledChoices
from arvis.app.bots import Bots
from arvis.app.foundation import Base
from arvis.app.graphs import GraphParts, build_graphs, drawn_graphs
from arvis.app.speech import Speech
from arvis.app.tools import Toolbox, build_sandbox, build_workbench
from arvis.approvals import approvers_of
from arvis.bots.connectors import ConnectorPool
from arvis.bots.supervisor import BotSupervisor
from arvis.config import Config
from arvis.domain.messages import Address
from arvis.domain.money import SpendingLimits
from arvis.engine.engine import Engine
from arvis.graphs.agent.files import FileRules
from arvis.graphs.agent.tools import ToolRules
from arvis.inbox import InboxRules, InboxService
from arvis.llm import DEMO, Runner
from arvis.llm.accounts import AccountService
from arvis.llm.budgets import BudgetSession
from arvis.llm.model_limits import ModelLimits, may_see
from arvis.llm.prices import Price, Prices
from arvis.media import MediaReader
from arvis.message_flow import MessageFlow
from arvis.notifications import Notifier, Observations
from arvis.operations import StoreOperations
from arvis.ports.connector import FetchError, FetchesFiles
from arvis.ports.inbox import Inbox
from arvis.ports.provider import Providers
from arvis.process.clock import RandomBits
from arvis.process.secrets import Argon2Passwords
from arvis.process.stalls import Stalls
from arvis.process.subprocesses import GuardedPrograms
from arvis.process.supervisor import RoleState, Supervisor
from arvis.queue.outages import RetryingStore, until_done
from arvis.routing import Router
from arvis.services.allowances import Allowed
from arvis.services.people import new_code
from arvis.skills import Skill
from arvis.skills.importing import Importer
from arvis.speech import UtteranceRules, utterance_detector
from arvis.web.dependencies import AdminServices, WebDependencies
from arvis.web.server import WebServer


def build_flow(base: Base, providers: Providers, tools: Toolbox, fleet: ConnectorPool, speech: Speech) -> MessageFlow:
    config = base.config
    runner = Runner(
        providers=providers,
        accounts=base.accounts.current,
        clock=base.clock,
        new_id=base.new_id,
        random=random.random,
        prices=_prices(config),
        limits=ModelLimits(
            windows=config.context_windows, replies=config.reply_tokens, reply=config.limits.reply_tokens
        ),
        sees=lambda provider, model: may_see(provider, model, config.vision_models),
        first_byte=config.model.first_byte_seconds,
    )
    patient = RetryingStore(store=base.store, clock=base.clock)
    budget = BudgetSession(store=patient, limits=partial(spending_limits, base), clock=base.clock)
    graphs = GraphParts(
        store=patient,
        runner=runner,
        budget=budget,
        tools=tools.rules,
        skills=partial(_current_skills, base),
        new_id=base.new_id,
        files=_file_rules(base, tools.rules, fleet, speech),
        summarizer=config.model.summarizer,
        reply_bytes=config.limits.reply_bytes,
        speaker=speech.speaker,
        loops=config.limits.max_iterations,
        bench=build_workbench(base),
        plugins=tools.plugins,
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


def spending_limits(base: Base) -> SpendingLimits:
    """Return the budgets of the current settings."""
    config = base.settings.current()
    return config.budgets.limits(config.scheduler.timezone)


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


def build_inbox(base: Base, tools: Toolbox) -> InboxService:
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
    )


async def _current_skills(base: Base) -> Collection[Skill]:
    return (await until_done(base.clock, base.skills.current)).active


def build_notifier(base: Base) -> Notifier:
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


def build_web(
    base: Base,
    inbox: Inbox,
    providers: Providers,
    tools: Toolbox,
    *,
    bots: Bots,
    bot_supervisor: BotSupervisor,
    supervisor: Supervisor,
    stalls: Callable[[], Stalls],
) -> WebServer:
    config = base.config
    importer = Importer(fetcher=tools.fetcher, store=base.store, registry=base.skills, clock=base.clock)
    deps = WebDependencies(
        config=config.web,
        limits=config.limits,
        zone=config.scheduler.timezone,
        spending=partial(spending_limits, base),
        owners=tuple(config.owners.get("web", ())),
        all_owners=config.owners,
        daemon_key=base.folder.api_key,
        inbox=inbox,
        insights=base.insights,
        operations=StoreOperations(
            store=base.store,
            bus=base.bus,
            clock=base.clock,
            approvers=approvers_of(config.approvals.approvers),
        ),
        backups=base.backups,
        accounts=_account_service(base, providers),
        bots=bots.service,
        bot_connector=bots.fleet.connector,
        secrets=base.secrets,
        passwords=Argon2Passwords(),
        store=base.store,
        connector=bots.rooms,
        bus=base.bus,
        clock=base.clock,
        new_token=new_token,
        roles=lambda: {name: health.state is RoleState.UP for name, health in supervisor.health().items()},
        bot_health=bot_supervisor.health,
        stalls=stalls,
        room=lambda: not base.disk.low,
        skills=importer,
        admin=_admin(base, tools),
        speech=_speech_rules(config),
        detector=utterance_detector(config.speech.buffer.languages),
    )
    return WebServer(deps=deps)


def _admin(base: Base, tools: Toolbox) -> AdminServices:
    choices = InstalledChoices(
        registry=tools.rules.registry,
        permit=tools.rules.permit,
        prices=_prices(base.config),
        accounts=lambda: base.accounts.usable,
        config=base.settings.current,
    )
    doctor = Doctor(config=base.config, folder=base.folder.path, programs=GuardedPrograms())
    return AdminServices(settings=base.settings, logs=base.folder.logs, examine=doctor, choices=choices)


def _prices(config: Config) -> Prices:
    return Prices(own={model: Price(**entry.model_dump()) for model, entry in config.model_prices.items()})


def _account_service(base: Base, providers: Providers) -> AccountService:
    return AccountService(
        book=base.accounts,
        store=base.store,
        secrets=base.secrets,
        providers=providers,
        bus=base.bus,
        clock=base.clock,
    )


def _speech_rules(config: Config) -> UtteranceRules:
    """Return the rules that turn speech into messages. The limit in characters is at most a quarter of
    `limits.message_bytes`, because one character takes up to four bytes."""
    bounds = config.speech.buffer
    return UtteranceRules(
        pause=bounds.pause_seconds,
        silence=bounds.silence_seconds,
        longest=bounds.longest_seconds,
        least=bounds.least_characters,
        most=max(1, min(UtteranceRules().most, config.limits.message_bytes // 4)),
    )


def new_token() -> str:
    return secrets.token_urlsafe(32)

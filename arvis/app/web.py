"""Builds the web application, at the first request to this process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from arvis.app.administration import Doctor, InstalledChoices
from arvis.app.bots import Bots
from arvis.app.embedding import meaning_of
from arvis.app.foundation import Base, new_token, prices_of, spending_limits
from arvis.app.toolbox import Toolbox, build_sandbox, skill_files
from arvis.app.work import allowed_of
from arvis.approvals import approvers_of
from arvis.bots.supervisor import BotSupervisor
from arvis.config import Config
from arvis.extensions import read_declarations
from arvis.llm.accounts import AccountService
from arvis.llm.embedding import Embedder
from arvis.operations import StoreOperations
from arvis.ports.inbox import Inbox
from arvis.ports.provider import Providers
from arvis.process.on_demand import OnDemand
from arvis.process.secrets import Argon2Passwords
from arvis.process.stalls import Stalls
from arvis.process.subprocesses import GuardedPrograms
from arvis.process.supervisor import RoleState, Supervisor
from arvis.skills.importing import Importer
from arvis.skills.sources import Sources
from arvis.speech import UtteranceRules, utterance_detector
from arvis.web.dependencies import AdminServices, WebDependencies
from arvis.web.latency import Observers
from arvis.web.wiring import Assembly


def build_web(
    *,
    base: Base,
    inbox: Inbox,
    providers: Providers,
    toolbox: OnDemand[Toolbox],
    bots: Bots,
    bot_supervisor: BotSupervisor,
    supervisor: Supervisor,
    stalls: Callable[[], Stalls],
    observers: Observers,
    login_link: Callable[[str], str],
    embedder: OnDemand[Embedder],
) -> Assembly:
    """Return the parts that serve requests. `login_link` returns the login address for a code."""
    # A thread reads these files, so that neither permission checks in transactions nor the first response waits for them.
    threading.Thread(target=read_declarations, name="arvis-declarations", daemon=True).start()
    tools, config = toolbox.now(), base.config
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
            allowed=allowed_of(config),
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
        skills=_importer(base, tools),
        admin=_admin(base, tools),
        tool_servers=tools.servers.now(),
        addresses=tools.network,
        speech=_speech_rules(config),
        detector=utterance_detector(config.speech.buffer.languages),
        meaning=meaning_of(base, embedder),
        mask=base.redact,
    )
    return Assembly(deps, observers, login_link)


def _importer(base: Base, tools: Toolbox) -> Importer:
    return Importer(
        sources=Sources(network=tools.network, sandbox=build_sandbox(base)),
        files=skill_files(base),
        store=base.store,
        registry=base.skills,
        clock=base.clock,
    )


def _admin(base: Base, tools: Toolbox) -> AdminServices:
    choices = InstalledChoices(
        registry=tools.rules.registry,
        permit=tools.rules.permit,
        prices=prices_of(base.config),
        accounts=lambda: base.accounts.usable,
        config=base.settings.current,
        servers=lambda: tools.servers.now().names,
    )
    doctor = Doctor(config=base.config, folder=base.folder.path, programs=GuardedPrograms())
    return AdminServices(settings=base.settings, logs=base.folder.logs, examine=doctor, choices=choices)


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

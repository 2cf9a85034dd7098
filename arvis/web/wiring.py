"""The construction of all parts of the web package."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from starlette.types import ASGIApp

from arvis.bus import EventBus
from arvis.process.on_demand import OnDemand
from arvis.services.schedules import Rules as ScheduleRules
from arvis.tools.mcp.logins import CALLBACK
from arvis.web.api.accounts import AccountRoutes
from arvis.web.api.agents import AgentRoutes, AgentStatRoutes
from arvis.web.api.api_keys import ApiKeyRoutes
from arvis.web.api.audit import AuditRoutes
from arvis.web.api.bots import BotRoutes
from arvis.web.api.clients import ClientRoutes
from arvis.web.api.connection_tests import ConnectionTestRoutes
from arvis.web.api.conversations import ConversationRoutes
from arvis.web.api.credentials import CredentialRoutes
from arvis.web.api.erasures import ErasureRoutes
from arvis.web.api.evaluations import EvaluationRoutes, SuiteRoutes
from arvis.web.api.executions import ActivityRoutes, ExecutionRoutes
from arvis.web.api.installation import BackupRoutes, DoctorRoutes, SetupRoutes
from arvis.web.api.interchange import InterchangeRoutes
from arvis.web.api.jobs import JobRoutes
from arvis.web.api.knowledge import KnowledgeRoutes
from arvis.web.api.logs import LogRoutes
from arvis.web.api.memory import MemoryRoutes
from arvis.web.api.message_input import MessageParser
from arvis.web.api.messages import DeliveryRoutes, MessageRoutes, StatusWaiter
from arvis.web.api.notifications import NotificationRoutes
from arvis.web.api.options import OptionRoutes
from arvis.web.api.overview import OverviewRoutes
from arvis.web.api.people import PeopleRoutes
from arvis.web.api.projects import ProjectRoutes
from arvis.web.api.questions import QuestionRoutes
from arvis.web.api.rewind import RewindRoutes
from arvis.web.api.schedules import ScheduleRoutes
from arvis.web.api.sessions import LoginRoutes, SessionRoutes
from arvis.web.api.settings import SettingRoutes
from arvis.web.api.skills import SkillRoutes
from arvis.web.api.summaries import SummaryRoutes
from arvis.web.api.tool_servers import ToolServerRoutes
from arvis.web.api.usage import UsageRoutes
from arvis.web.api.users import UserRoutes
from arvis.web.api.variables import VariableRoutes
from arvis.web.api.webhooks import WebhookRoutes
from arvis.web.api.workflow_runs import RunDependencies, WorkflowRunRoutes
from arvis.web.api.workflows import WorkflowRoutes
from arvis.web.application import EndpointHandler, build_application
from arvis.web.auth.api_keys import ApiKeyCache
from arvis.web.auth.authorization import Authorizer
from arvis.web.auth.failed_logins import FailedLogins
from arvis.web.auth.open_access import OpenAccess
from arvis.web.auth.sessions import LoginService, SessionLifetime, Sessions
from arvis.web.dependencies import WebDependencies
from arvis.web.http.endpoints import Endpoint
from arvis.web.http.idempotency import Idempotency
from arvis.web.http.identity import OWNER_ID, PLATFORM
from arvis.web.http.rate_limits import LoginLimiter
from arvis.web.http.static_files import Page
from arvis.web.incoming_webhooks import IncomingWebhookRoutes, WebhookReceiver
from arvis.web.latency import Observers
from arvis.web.mcp.routes import McpRoutes
from arvis.web.mcp.tools import ArvisTools
from arvis.web.middleware import guards_of
from arvis.web.openai.routes import CompletionDependencies, CompletionRoutes
from arvis.web.realtime.socket import Handshake, SocketRoute
from arvis.web.realtime.speech import SpeechBuffers
from arvis.web.realtime.subscriptions import Subscriptions
from arvis.web.system_routes import ReadinessProbe, SystemRoutes


class Assembly:
    """The parts of the web package that serve requests. Each part is created once. Implements `Handling`. `observers`
    listen to the bus from the start of the daemon on. `login_link` returns the login address for a code."""

    def __init__(self, deps: WebDependencies, observers: Observers, login_link: Callable[[str], str]) -> None:
        self._deps = deps
        self._counts = observers.counts
        self.sessions = Sessions(
            store=deps.store,
            clock=deps.clock,
            bus=deps.bus,
            new_token=deps.new_token,
            life=SessionLifetime(idle=deps.config.session_idle_timeout, whole=deps.config.session_max_age),
        )
        self.parser = MessageParser(inbox=deps.inbox, limits=deps.limits, new_token=deps.new_token, clock=deps.clock)
        self._failures = FailedLogins(clock=deps.clock, store=deps.store)
        self._gate = Authorizer(
            keys=ApiKeyCache(daemon_key=deps.daemon_key, keys=deps.config.api_keys, store=deps.store, clock=deps.clock),
            sessions=self.sessions,
            store=deps.store,
            clock=deps.clock,
            cookie=deps.cookie,
            owners=frozenset(deps.owners),
            failures=self._failures,
        )
        self.access = OpenAccess(renew=self._gate.renew)
        self.board = StatusWaiter(access=self.access)
        self._latency = observers.latency
        self.watching = Subscriptions(
            insights=deps.insights,
            store=deps.store,
            clock=deps.clock,
            zone=deps.zone,
            limits=deps.spending,
        )
        self.mcp = self._mcp()
        others = [
            *self._messages().endpoints(),
            *DeliveryRoutes(store=deps.store, gate=self._gate).endpoints(),
            *self._resources(),
            *self._tool_servers(login_link),
            *self._access(login_link),
            *self.mcp.endpoints(),
            *self._completions().endpoints(),
        ]
        self.endpoints = (*self._system(others).endpoints(), *others)
        self.application = self._application()

    @contextlib.contextmanager
    def listening(self, bus: EventBus) -> Iterator[None]:
        with self.access.listening(bus), self.board.listening(bus), self.watching.listening(bus):
            yield

    def end_waits(self) -> None:
        self.board.close()

    async def close(self) -> None:
        await self.mcp.close()

    def _messages(self) -> MessageRoutes:
        return MessageRoutes(
            parser=self.parser,
            insights=self._deps.insights,
            operations=self._deps.operations,
            store=self._deps.store,
            gate=self._gate,
            board=self.board,
            clock=self._deps.clock,
            timeouts=self._deps.timeouts,
            bus=self._deps.bus,
        )

    def _completions(self) -> CompletionRoutes:
        deps = self._deps
        completion_deps = CompletionDependencies(
            parser=self.parser,
            store=deps.store,
            operations=deps.operations,
            insights=deps.insights,
            gate=self._gate,
            board=self.board,
            bus=deps.bus,
            clock=deps.clock,
            timeouts=deps.timeouts,
            message_bytes=deps.limits.message_bytes,
        )
        return CompletionRoutes(deps=completion_deps)

    def _mcp(self) -> McpRoutes:
        deps = self._deps
        tools = ArvisTools(
            parser=self.parser,
            insights=deps.insights,
            gate=self._gate,
            board=self.board,
            clock=deps.clock,
            timeouts=deps.timeouts,
            meaning=deps.meaning,
        )
        return McpRoutes(tools=tools, message_bytes=deps.limits.message_bytes)

    def _resources(self) -> list[Endpoint]:
        deps = self._deps
        insights, operations, store, clock = deps.insights, deps.operations, deps.store, deps.clock
        return [
            *JobRoutes(insights=insights, operations=operations, gate=self._gate).endpoints(),
            *ExecutionRoutes(insights=insights, operations=operations, gate=self._gate).endpoints(),
            *QuestionRoutes(insights=insights, operations=operations, gate=self._gate).endpoints(),
            *AgentRoutes(insights=insights, store=store, gate=self._gate, clock=clock).endpoints(),
            *ConversationRoutes(insights=insights, operations=operations, gate=self._gate).endpoints(),
            *RewindRoutes(insights=insights, operations=operations, store=store, gate=self._gate).endpoints(),
            *AuditRoutes(insights=insights).endpoints(),
            *BackupRoutes(backups=deps.backups).endpoints(),
            *self._money(),
            *self._overview().endpoints(),
            *NotificationRoutes(insights=insights, store=store, clock=clock).endpoints(),
            *AccountRoutes(insights=insights, service=deps.accounts, clock=clock).endpoints(),
            *BotRoutes(service=deps.bots).endpoints(),
            *self._hooks(),
            *CredentialRoutes(store=store, gate=self._gate, clock=clock).endpoints(),
            *VariableRoutes(insights=insights, store=store, secrets=deps.secrets, clock=clock).endpoints(),
            *MemoryRoutes(
                insights=insights, store=store, gate=self._gate, clock=clock, meaning=deps.meaning
            ).endpoints(),
            *KnowledgeRoutes(
                insights=insights,
                store=store,
                gate=self._gate,
                clock=clock,
                meaning=deps.meaning,
                addresses=deps.addresses,
            ).endpoints(),
            *SummaryRoutes(insights=insights, store=store, clock=clock).endpoints(),
            *self._schedules().endpoints(),
            *ProjectRoutes(insights=insights, store=store, gate=self._gate, clock=clock).endpoints(),
            *ActivityRoutes(store=store, clock=clock).endpoints(),
            *SkillRoutes(importer=deps.skills, gate=self._gate).endpoints(),
            *SuiteRoutes(store=store, gate=self._gate, clock=clock, mask=deps.mask).endpoints(),
            *EvaluationRoutes(store=store, gate=self._gate, clock=clock).endpoints(),
            *self._people().endpoints(),
            *self._personal_data(),
            *self._admin(),
            *self._workflows(),
        ]

    def _tool_servers(self, login_link: Callable[[str], str]) -> list[Endpoint]:
        def address_of(path: str) -> str:
            return f"{login_link('').partition('/#')[0]}{path}"

        deps = self._deps
        routes = ToolServerRoutes(servers=deps.tool_servers, gate=self._gate, bus=deps.bus, address_of=address_of)
        return routes.endpoints()

    def _schedule_rules(self) -> ScheduleRules:
        bounds = self._deps.limits
        return ScheduleRules(
            zone=self._deps.zone,
            crons_per_agent=bounds.crons_per_agent,
            heartbeats_per_agent=bounds.heartbeats_per_agent,
            reminders_per_person=bounds.reminders_per_person,
        )

    def _schedules(self) -> ScheduleRoutes:
        deps = self._deps
        return ScheduleRoutes(
            insights=deps.insights,
            store=deps.store,
            gate=self._gate,
            bus=deps.bus,
            clock=deps.clock,
            rules=self._schedule_rules(),
        )

    def _workflows(self) -> list[Endpoint]:
        deps = self._deps
        workflows = WorkflowRoutes(
            insights=deps.insights,
            store=deps.store,
            gate=self._gate,
            clock=deps.clock,
            choices=deps.admin.choices,
        )
        run_deps = RunDependencies(
            insights=deps.insights,
            operations=deps.operations,
            store=deps.store,
            gate=self._gate,
            board=self.board,
            bus=deps.bus,
            clock=deps.clock,
            timeouts=deps.timeouts,
        )
        return [*workflows.endpoints(), *WorkflowRunRoutes(deps=run_deps).endpoints()]

    def _hooks(self) -> list[Endpoint]:
        deps = self._deps
        calls = WebhookReceiver(store=deps.store, secrets=deps.secrets, clock=deps.clock, room=deps.room)
        webhooks = WebhookRoutes(
            insights=deps.insights,
            store=deps.store,
            gate=self._gate,
            secrets=deps.secrets,
            clock=deps.clock,
        )
        platform_hooks = IncomingWebhookRoutes(connector_of=deps.bot_connector, inbox=deps.inbox, calls=calls)
        return [*platform_hooks.endpoints(), *webhooks.endpoints()]

    def _admin(self) -> list[Endpoint]:
        deps, admin = self._deps, self._deps.admin
        setup = SetupRoutes(
            insights=deps.insights,
            store=deps.store,
            accounts=deps.accounts,
            bots=deps.bots,
            clock=deps.clock,
            password=deps.config.password is not None,
        )
        stats = AgentStatRoutes(insights=deps.insights, store=deps.store, clock=deps.clock, zone=deps.zone)
        return [
            *SettingRoutes(service=admin.settings, insights=deps.insights, gate=self._gate).endpoints(),
            *LogRoutes(folder=admin.logs).endpoints(),
            *DoctorRoutes(examine=admin.examine, clock=deps.clock).endpoints(),
            *OptionRoutes(choices=admin.choices).endpoints(),
            *ConnectionTestRoutes(accounts=deps.accounts, bots=deps.bots, choices=admin.choices).endpoints(),
            *setup.endpoints(),
            *stats.endpoints(),
        ]

    def _personal_data(self) -> list[Endpoint]:
        deps = self._deps
        erasures = ErasureRoutes(store=deps.store, gate=self._gate, backups=deps.backups, clock=deps.clock)
        interchange = InterchangeRoutes(
            store=deps.store, gate=self._gate, bus=deps.bus, clock=deps.clock, rules=self._schedule_rules()
        )
        return [*erasures.endpoints(), *interchange.endpoints()]

    def _people(self) -> PeopleRoutes:
        deps = self._deps
        owners = {**deps.all_owners, PLATFORM: (OWNER_ID, *deps.owners)}
        return PeopleRoutes(
            insights=deps.insights,
            store=deps.store,
            gate=self._gate,
            clock=deps.clock,
            sessions=self.sessions,
            owners=owners,
        )

    def _money(self) -> list[Endpoint]:
        deps = self._deps
        clients = ClientRoutes(
            insights=deps.insights, store=deps.store, gate=self._gate, clock=deps.clock, zone=deps.zone
        )
        usage = UsageRoutes(insights=deps.insights, clock=deps.clock, zone=deps.zone)
        return [*usage.endpoints(), *clients.endpoints()]

    def _overview(self) -> OverviewRoutes:
        deps = self._deps
        return OverviewRoutes(
            insights=deps.insights,
            accounts=deps.accounts,
            bots=deps.bots,
            latency=self._latency,
            clock=deps.clock,
            zone=deps.zone,
            limits=deps.spending,
        )

    def _access(self, login_link: Callable[[str], str]) -> list[Endpoint]:
        """Return the routes of logins, users and keys."""
        deps, limiter = self._deps, LoginLimiter(clock=self._deps.clock)
        service = self._password_service(limiter)
        logins = LoginRoutes(
            sessions=self.sessions,
            limiter=limiter,
            service=service,
            gate=self._gate,
            clock=deps.clock,
            login_link=login_link,
            secure=deps.over_tls,
            failures=self._failures,
        )
        users = UserRoutes(
            store=deps.store,
            clock=deps.clock,
            sessions=self.sessions,
            service=service,
            code_for=logins.code_for,
            owners=deps.owners,
        )
        keys = ApiKeyRoutes(store=deps.store, clock=deps.clock, bus=deps.bus, new_token=deps.new_token)
        listed = SessionRoutes(store=deps.store, sessions=self.sessions, clock=deps.clock)
        return [*logins.endpoints(), *listed.endpoints(), *users.endpoints(), *keys.endpoints()]

    def _password_service(self, limiter: LoginLimiter) -> LoginService:
        deps, configured = self._deps, self._deps.config.password
        return LoginService(
            store=deps.store,
            clock=deps.clock,
            passwords=deps.passwords,
            limiter=limiter,
            sessions=self.sessions,
            configured=None if configured is None else configured.get_secret_value(),
        )

    def _system(self, others: list[Endpoint]) -> SystemRoutes:
        deps = self._deps
        return SystemRoutes(
            metrics=OnDemand(
                "arvis.web.monitoring:Metrics", deps=deps, sockets=lambda: deps.connector.sockets, counts=self._counts
            ),
            stalls=deps.stalls,
            probe=ReadinessProbe(
                store=deps.store, clock=deps.clock, roles=deps.roles, bots=deps.bot_health, room=deps.room
            ),
            others=others,
        )

    def _socket(self) -> SocketRoute:
        deps = self._deps
        return SocketRoute(
            gate=self._gate,
            greeter=Handshake(gate=self._gate, new_token=deps.new_token),
            parser=self.parser,
            inbox=deps.inbox,
            insights=deps.insights,
            connector=deps.connector,
            timeouts=deps.timeouts,
            watching=self.watching,
            access=self.access,
            listening=SpeechBuffers(parser=self.parser, clock=deps.clock, rules=deps.speech, detector=deps.detector),
        )

    def _handler(self) -> EndpointHandler:
        deps = self._deps
        once = Idempotency(store=deps.store, secrets=deps.secrets, clock=deps.clock)
        return EndpointHandler(
            gate=self._gate, counts=self._counts, large_body=self.parser.body_limit, idempotency=once, bus=deps.bus
        )

    def _application(self) -> ASGIApp:
        deps, page = self._deps, Page(self._deps.page_folder)

        def opens(path: str) -> bool:
            return path == CALLBACK or page.opens(path)

        return build_application(
            handler=self._handler(),
            endpoints=self.endpoints,
            page=page,
            socket=self._socket(),
            guards=guards_of(deps.config, cookie=deps.cookie, opens=opens, clock=deps.clock, new_token=deps.new_token),
        )

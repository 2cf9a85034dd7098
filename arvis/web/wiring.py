"""The parts of this floor, put together once: what each is made of, and nothing of what they do."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp

from arvis.services.schedules import Rules as ScheduleRules
from arvis.web.api.accounts import AccountRoutes
from arvis.web.api.activity import ActivityRoutes
from arvis.web.api.agents import AgentRoutes, AgentStatRoutes
from arvis.web.api.api_keys import ApiKeyRoutes
from arvis.web.api.approvals import WaitRoutes
from arvis.web.api.audit import AuditRoutes
from arvis.web.api.backups import BackupRoutes
from arvis.web.api.bots import BotRoutes
from arvis.web.api.clients import ClientRoutes
from arvis.web.api.connection_tests import ConnectionTestRoutes
from arvis.web.api.conversations import ConversationRoutes
from arvis.web.api.doctor import DoctorRoutes
from arvis.web.api.executions import ExecutionRoutes
from arvis.web.api.jobs import JobRoutes
from arvis.web.api.logs import LogRoutes
from arvis.web.api.memory import MemoryRoutes
from arvis.web.api.message_input import MessageParser
from arvis.web.api.message_status import StatusWaiter
from arvis.web.api.messages import DeliveryRoutes, MessageRoutes
from arvis.web.api.options import ChoiceRoutes
from arvis.web.api.overview import OverviewRoutes
from arvis.web.api.people import PeopleRoutes
from arvis.web.api.projects import ProjectRoutes
from arvis.web.api.schedules import ScheduleRoutes
from arvis.web.api.sessions import LoginRoutes, SessionRoutes
from arvis.web.api.settings import SettingRoutes
from arvis.web.api.setup import SetupRoutes
from arvis.web.api.skills import SkillRoutes
from arvis.web.api.summaries import CompactionRoutes
from arvis.web.api.usage import UsageRoutes
from arvis.web.api.users import UserRoutes
from arvis.web.api.variables import VariableRoutes
from arvis.web.api.webhooks import WebhookRoutes
from arvis.web.api.workflow_runs import Rooms as RunRooms
from arvis.web.api.workflow_runs import WorkflowRunRoutes
from arvis.web.api.workflows import WorkflowRoutes
from arvis.web.application import Counter, build_application
from arvis.web.auth.api_keys import ApiKeyCache
from arvis.web.auth.authorization import Authorizer
from arvis.web.auth.failed_logins import Failures
from arvis.web.auth.open_access import OpenAccess
from arvis.web.auth.passwords import LoginService
from arvis.web.auth.sessions import Life, Sessions
from arvis.web.dependencies import WebDependencies
from arvis.web.http.endpoints import Endpoint
from arvis.web.http.idempotency import Idempotency
from arvis.web.http.identity import OWNER_ID, PLATFORM
from arvis.web.http.rate_limits import LoginLimiter
from arvis.web.http.static_files import Page
from arvis.web.incoming_webhooks.receiver import HookCalls, HookRoutes
from arvis.web.latency import LatencySeries
from arvis.web.mcp.routes import McpRoutes
from arvis.web.mcp.tools import ArvisTools
from arvis.web.middleware import guards_of
from arvis.web.monitoring.health import ReadinessProbe, SystemRoutes
from arvis.web.monitoring.metrics import Metrics
from arvis.web.openai.routes import CompletionRoutes, Rooms
from arvis.web.realtime.socket import Handshake, SocketRoute
from arvis.web.realtime.speech import Listening
from arvis.web.realtime.subscriptions import Watching


class Assembly:
    """All parts, made once. `login_link` makes the address that carries a login code."""

    def __init__(self, around: WebDependencies, *, login_link: Callable[[str], str]) -> None:
        self._around = around
        self.connector = around.connector
        self.metrics = Metrics(around, sockets=lambda: self.connector.sockets)
        self.sessions = Sessions(
            store=around.store,
            clock=around.clock,
            bus=around.bus,
            new_token=around.new_token,
            life=Life(idle=around.config.session_idle_timeout, whole=around.config.session_max_age),
        )
        self.intake = MessageParser(inbox=around.inbox, limits=around.limits, new_token=around.new_token)
        self._failures = Failures(clock=around.clock, store=around.store)
        self._gate = Authorizer(
            keys=ApiKeyCache(
                daemon_key=around.daemon_key, keys=around.config.api_keys, store=around.store, clock=around.clock
            ),
            sessions=self.sessions,
            store=around.store,
            clock=around.clock,
            cookie=around.cookie,
            owners=frozenset(around.owners),
            failures=self._failures,
        )
        self.access = OpenAccess(renew=self._gate.renew)
        self.board = StatusWaiter(access=self.access)
        self.pace = LatencySeries(insights=around.insights, store=around.store, clock=around.clock, zone=around.zone)
        self.watching = Watching(
            insights=around.insights,
            store=around.store,
            clock=around.clock,
            zone=around.zone,
            limits=around.spending,
        )
        self.mcp = self._mcp()
        others = [
            *self._messages().endpoints(),
            *DeliveryRoutes(store=around.store, gate=self._gate).endpoints(),
            *self._resources(),
            *self._access(login_link),
            *self.mcp.endpoints(),
            *self._completions().endpoints(),
        ]
        self.endpoints = (*self._system(others).endpoints(), *others)
        self.application = self._application()

    def _messages(self) -> MessageRoutes:
        return MessageRoutes(
            intake=self.intake,
            insights=self._around.insights,
            operations=self._around.operations,
            store=self._around.store,
            gate=self._gate,
            board=self.board,
            clock=self._around.clock,
            patience=self._around.patience,
        )

    def _completions(self) -> CompletionRoutes:
        around = self._around
        rooms = Rooms(
            intake=self.intake,
            store=around.store,
            operations=around.operations,
            insights=around.insights,
            gate=self._gate,
            board=self.board,
            bus=around.bus,
            clock=around.clock,
            patience=around.patience,
            message_bytes=around.limits.message_bytes,
        )
        return CompletionRoutes(around=rooms)

    def _mcp(self) -> McpRoutes:
        around = self._around
        tools = ArvisTools(
            intake=self.intake,
            insights=around.insights,
            gate=self._gate,
            board=self.board,
            clock=around.clock,
            patience=around.patience,
        )
        return McpRoutes(tools=tools, message_bytes=around.limits.message_bytes)

    def _resources(self) -> list[Endpoint]:
        insights, operations = self._around.insights, self._around.operations
        return [
            *JobRoutes(insights=insights, operations=operations, gate=self._gate).endpoints(),
            *ExecutionRoutes(insights=insights, operations=operations, gate=self._gate).endpoints(),
            *WaitRoutes(insights=insights, operations=operations, gate=self._gate).endpoints(),
            *self._agents().endpoints(),
            *ConversationRoutes(insights=insights, operations=operations, gate=self._gate).endpoints(),
            *AuditRoutes(insights=insights).endpoints(),
            *BackupRoutes(backups=self._around.backups).endpoints(),
            *self._money(),
            *self._overview().endpoints(),
            *AccountRoutes(insights=insights, desk=self._around.accounts, clock=self._around.clock).endpoints(),
            *BotRoutes(desk=self._around.bots).endpoints(),
            *self._hooks(),
            *self._variables().endpoints(),
            *self._memory().endpoints(),
            *CompactionRoutes(insights=insights, store=self._around.store, clock=self._around.clock).endpoints(),
            *self._schedules().endpoints(),
            *self._projects(),
            *SkillRoutes(importer=self._around.skills, gate=self._gate).endpoints(),
            *self._people().endpoints(),
            *self._house(),
            *self._workflows(),
        ]

    def _schedules(self) -> ScheduleRoutes:
        around = self._around
        bounds = around.limits
        rules = ScheduleRules(
            zone=around.zone,
            crons_per_agent=bounds.crons_per_agent,
            heartbeats_per_agent=bounds.heartbeats_per_agent,
            reminders_per_person=bounds.reminders_per_person,
        )
        return ScheduleRoutes(
            insights=around.insights,
            store=around.store,
            gate=self._gate,
            bus=around.bus,
            clock=around.clock,
            rules=rules,
        )

    def _workflows(self) -> list[Endpoint]:
        around = self._around
        workflows = WorkflowRoutes(
            insights=around.insights,
            store=around.store,
            gate=self._gate,
            clock=around.clock,
            choices=around.house.choices,
        )
        rooms = RunRooms(
            insights=around.insights,
            operations=around.operations,
            store=around.store,
            gate=self._gate,
            board=self.board,
            bus=around.bus,
            clock=around.clock,
            patience=around.patience,
        )
        return [*workflows.endpoints(), *WorkflowRunRoutes(around=rooms).endpoints()]

    def _hooks(self) -> list[Endpoint]:
        around = self._around
        calls = HookCalls(store=around.store, secrets=around.secrets, clock=around.clock, room=around.room)
        webhooks = WebhookRoutes(
            insights=around.insights,
            store=around.store,
            gate=self._gate,
            secrets=around.secrets,
            clock=around.clock,
        )
        door = HookRoutes(connector_of=around.bot_connector, inbox=around.inbox, calls=calls)
        return [*door.endpoints(), *webhooks.endpoints()]

    def _projects(self) -> list[Endpoint]:
        around = self._around
        projects = ProjectRoutes(insights=around.insights, store=around.store, gate=self._gate, clock=around.clock)
        return [*projects.endpoints(), *ActivityRoutes(store=around.store, clock=around.clock).endpoints()]

    def _house(self) -> list[Endpoint]:
        around, house = self._around, self._around.house
        setup = SetupRoutes(
            insights=around.insights,
            store=around.store,
            accounts=around.accounts,
            bots=around.bots,
            clock=around.clock,
            password=around.config.password is not None,
        )
        stats = AgentStatRoutes(insights=around.insights, store=around.store, clock=around.clock, zone=around.zone)
        return [
            *SettingRoutes(desk=house.settings, insights=around.insights, gate=self._gate).endpoints(),
            *LogRoutes(folder=house.logs).endpoints(),
            *DoctorRoutes(examine=house.examine, clock=around.clock).endpoints(),
            *ChoiceRoutes(choices=house.choices).endpoints(),
            *ConnectionTestRoutes(accounts=around.accounts, bots=around.bots, choices=house.choices).endpoints(),
            *setup.endpoints(),
            *stats.endpoints(),
        ]

    def _people(self) -> PeopleRoutes:
        around = self._around
        owners = {**around.all_owners, PLATFORM: (OWNER_ID, *around.owners)}
        return PeopleRoutes(
            insights=around.insights,
            store=around.store,
            gate=self._gate,
            clock=around.clock,
            sessions=self.sessions,
            owners=owners,
        )

    def _agents(self) -> AgentRoutes:
        around = self._around
        return AgentRoutes(insights=around.insights, store=around.store, gate=self._gate, clock=around.clock)

    def _memory(self) -> MemoryRoutes:
        around = self._around
        return MemoryRoutes(insights=around.insights, store=around.store, gate=self._gate, clock=around.clock)

    def _variables(self) -> VariableRoutes:
        around = self._around
        return VariableRoutes(insights=around.insights, store=around.store, secrets=around.secrets, clock=around.clock)

    def _money(self) -> list[Endpoint]:
        around = self._around
        clients = ClientRoutes(
            insights=around.insights, store=around.store, gate=self._gate, clock=around.clock, zone=around.zone
        )
        usage = UsageRoutes(insights=around.insights, clock=around.clock, zone=around.zone)
        return [*usage.endpoints(), *clients.endpoints()]

    def _overview(self) -> OverviewRoutes:
        around = self._around
        return OverviewRoutes(
            insights=around.insights,
            accounts=around.accounts,
            bots=around.bots,
            pace=self.pace,
            clock=around.clock,
            zone=around.zone,
            limits=around.spending,
        )

    def _access(self, login_link: Callable[[str], str]) -> list[Endpoint]:
        """Logins, users and keys."""
        around, limiter = self._around, LoginLimiter(clock=self._around.clock)
        desk = self._password_desk(limiter)
        logins = LoginRoutes(
            sessions=self.sessions,
            limiter=limiter,
            desk=desk,
            gate=self._gate,
            clock=around.clock,
            login_link=login_link,
            secure=around.over_tls,
            failures=self._failures,
        )
        users = UserRoutes(
            store=around.store,
            clock=around.clock,
            sessions=self.sessions,
            desk=desk,
            code_for=logins.code_for,
            owners=around.owners,
        )
        keys = ApiKeyRoutes(store=around.store, clock=around.clock, bus=around.bus, new_token=around.new_token)
        listed = SessionRoutes(store=around.store, sessions=self.sessions, clock=around.clock)
        return [*logins.endpoints(), *listed.endpoints(), *users.endpoints(), *keys.endpoints()]

    def _password_desk(self, limiter: LoginLimiter) -> LoginService:
        around, configured = self._around, self._around.config.password
        return LoginService(
            store=around.store,
            clock=around.clock,
            passwords=around.passwords,
            limiter=limiter,
            sessions=self.sessions,
            configured=None if configured is None else configured.get_secret_value(),
        )

    def _system(self, others: list[Endpoint]) -> SystemRoutes:
        around = self._around
        return SystemRoutes(
            metrics=self.metrics,
            probe=ReadinessProbe(
                store=around.store, clock=around.clock, roles=around.roles, bots=around.bot_health, room=around.room
            ),
            others=others,
        )

    def _socket(self) -> SocketRoute:
        around = self._around
        return SocketRoute(
            gate=self._gate,
            greeter=Handshake(gate=self._gate, new_token=around.new_token),
            intake=self.intake,
            inbox=around.inbox,
            insights=around.insights,
            connector=self.connector,
            patience=around.patience,
            watching=self.watching,
            access=self.access,
            listening=Listening(intake=self.intake, clock=around.clock, rules=around.speech, detector=around.detector),
        )

    def _counter(self) -> Counter:
        around = self._around
        once = Idempotency(store=around.store, secrets=around.secrets, clock=around.clock)
        return Counter(
            gate=self._gate, metrics=self.metrics, large_body=self.intake.body_limit, idempotency=once, bus=around.bus
        )

    def _application(self) -> ASGIApp:
        around, page = self._around, Page(self._around.page_folder)
        return build_application(
            counter=self._counter(),
            endpoints=self.endpoints,
            page=page,
            socket=self._socket(),
            guards=guards_of(
                around.config, cookie=around.cookie, opens=page.opens, clock=around.clock, new_token=around.new_token
            ),
        )

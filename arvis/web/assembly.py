"""The parts of this floor, put together once: what each is made of, and nothing of what they do."""

from __future__ import annotations

from collections.abc import Callable

from starlette.types import ASGIApp

from arvis.agents.timetable import Rules as ScheduleRules
from arvis.web.accounts import AccountRoutes
from arvis.web.activity import ActivityRoutes
from arvis.web.agent_stats import AgentStatRoutes
from arvis.web.agents import AgentRoutes
from arvis.web.api_keys import ApiKeyRoutes
from arvis.web.application import Counter, build_application
from arvis.web.assets import Page
from arvis.web.audit import AuditRoutes
from arvis.web.backups import BackupRoutes
from arvis.web.billing import ClientRoutes
from arvis.web.bots import BotRoutes
from arvis.web.catalog import CatalogRoutes
from arvis.web.choices import ChoiceRoutes
from arvis.web.compactions import CompactionRoutes
from arvis.web.completions import CompletionRoutes, Rooms
from arvis.web.deliveries import DeliveryRoutes
from arvis.web.doctor import DoctorRoutes
from arvis.web.drafts import Intake
from arvis.web.endpoints import Endpoint
from arvis.web.executions import ExecutionRoutes
from arvis.web.failures import Failures
from arvis.web.fences import guards_of
from arvis.web.gate import Gate
from arvis.web.greeting import Greeter
from arvis.web.hook_calls import HookCalls
from arvis.web.hooks import HookRoutes
from arvis.web.idempotency import Idempotency
from arvis.web.identity import OWNER_ID, PLATFORM
from arvis.web.jobs import JobRoutes
from arvis.web.keys import KeyRing
from arvis.web.limiter import LoginLimiter
from arvis.web.logins import LoginRoutes
from arvis.web.logs import LogRoutes
from arvis.web.mcp import McpRoutes
from arvis.web.mcp_tools import HouseTools
from arvis.web.memory import MemoryRoutes
from arvis.web.messages import MessageRoutes
from arvis.web.metrics import Metrics
from arvis.web.open_access import OpenAccess
from arvis.web.overview import OverviewRoutes
from arvis.web.pace_of_answers import PaceOfAnswers
from arvis.web.password_desk import PasswordDesk
from arvis.web.people import PeopleRoutes
from arvis.web.projects import ProjectRoutes
from arvis.web.readiness import ReadinessProbe
from arvis.web.schedules import ScheduleRoutes
from arvis.web.session_list import SessionRoutes
from arvis.web.sessions import Life, Sessions
from arvis.web.settings import SettingRoutes
from arvis.web.setup import SetupRoutes
from arvis.web.skills import SkillRoutes
from arvis.web.socket import SocketRoute
from arvis.web.speech import Listening
from arvis.web.statuses import StatusBoard
from arvis.web.surroundings import Surroundings
from arvis.web.system import SystemRoutes
from arvis.web.trials import TrialRoutes
from arvis.web.usage import UsageRoutes
from arvis.web.users import UserRoutes
from arvis.web.variables import VariableRoutes
from arvis.web.waits import WaitRoutes
from arvis.web.watching import Watching
from arvis.web.webhooks import WebhookRoutes
from arvis.web.workflow_runs import Rooms as RunRooms
from arvis.web.workflow_runs import WorkflowRunRoutes
from arvis.web.workflows import WorkflowRoutes


class Assembly:
    """All parts, made once. `login_link` makes the address that carries a login code."""

    def __init__(self, around: Surroundings, *, login_link: Callable[[str], str]) -> None:
        self._around = around
        self.connector = around.connector
        self.metrics = Metrics(around, sockets=lambda: self.connector.sockets)
        self.sessions = Sessions(
            store=around.store,
            clock=around.clock,
            bus=around.bus,
            new_token=around.new_token,
            life=Life(idle=around.config.session_idle, whole=around.config.session_life),
        )
        self.intake = Intake(inbox=around.inbox, limits=around.limits, new_token=around.new_token)
        self._failures = Failures(clock=around.clock, store=around.store)
        self._gate = Gate(
            keys=KeyRing(
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
        self.board = StatusBoard(access=self.access)
        self.pace = PaceOfAnswers(insights=around.insights, store=around.store, clock=around.clock, zone=around.zone)
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
        tools = HouseTools(
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
            *CatalogRoutes(insights=insights, operations=operations, gate=self._gate).endpoints(),
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
            *TrialRoutes(accounts=around.accounts, bots=around.bots, choices=house.choices).endpoints(),
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

    def _password_desk(self, limiter: LoginLimiter) -> PasswordDesk:
        around, configured = self._around, self._around.config.password
        return PasswordDesk(
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
            greeter=Greeter(gate=self._gate, new_token=around.new_token),
            intake=self.intake,
            inbox=around.inbox,
            insights=around.insights,
            connector=self.connector,
            patience=around.patience,
            watching=self.watching,
            access=self.access,
            listening=Listening(intake=self.intake, clock=around.clock, rules=around.speech, thoughts=around.thoughts),
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

"""Builds the tools and plugins that agents can have, and the services that the tools use."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from arvis.app.embedding import meaning_of
from arvis.app.foundation import Base
from arvis.app.providers import ProviderPool
from arvis.app.search import SearchPool
from arvis.config import Config
from arvis.config.search import FALLBACK, VARIABLES
from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address
from arvis.domain.runs import Account
from arvis.graphs.agent.outgoing import OutgoingRules
from arvis.graphs.agent.tools import ToolRules
from arvis.llm.embedding import Embedder
from arvis.media import WebFileReader
from arvis.messaging.messages import WEB
from arvis.plugins import InstalledPlugins, Plugins
from arvis.ports.http import GuardedNetwork
from arvis.ports.plugin import PluginServices
from arvis.ports.tool import Tool, ToolServices
from arvis.process.on_demand import OnDemand
from arvis.process.sandbox import Bubblewrap
from arvis.process.subprocesses import GuardedPrograms
from arvis.providers.images import ApiImages
from arvis.providers.speech import BASE_URL, ApiAccess
from arvis.queue.outages import RetryingStore, until_done
from arvis.services.credentials import StoredCredentials
from arvis.services.reminders import ReminderService
from arvis.services.schedules import Rules
from arvis.skills.files import StoredSkillFiles
from arvis.tools.browser.browsers import Browsers
from arvis.tools.code import PackageSets, Workbench, daemons_interpreter
from arvis.tools.knowledge import KnowledgeTools
from arvis.tools.read_again import PastTurns
from arvis.tools.read_skill import SkillReader
from arvis.tools.registry import InstalledTools, Policy, Registry
from arvis.turns.workflow_tools import WorkflowStarter


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools and plugins of agents. `network` returns the access to hosts that people and models choose; the first
    call opens it. `services` returns the services of tools. `servers` are the tool servers (`McpServers`), and
    `browsers` the browsers of agents."""

    rules: ToolRules
    network: Callable[[], Awaitable[GuardedNetwork]]
    plugins: Plugins
    servers: OnDemand[Any]
    browsers: Browsers
    services: Callable[[], Awaitable[ToolServices]]


class _ServerTools:
    """The `ToolSource` of the tool servers. They are built when an agent has a tool of a server, whose name has a dot.
    An owner may add the first server at run time."""

    def __init__(self, *, servers: OnDemand[Any]) -> None:
        self._servers = servers

    async def find(self, names: Sequence[str]) -> Sequence[Tool]:
        if not any("." in name for name in names):
            return ()
        found: Sequence[Tool] = await (await self._servers.get()).find(names)
        return found

    async def all(self) -> Sequence[Tool]:
        found: Sequence[Tool] = await (await self._servers.get()).all()
        return found


async def _begin_login(base: Base, servers: OnDemand[Any], server: str) -> str | None:
    from arvis.app.tool_servers import login_text  # noqa: PLC0415 (a daemon without servers does not need it)

    return await login_text(base, await servers.get(), server)


def build_toolbox(
    *,
    base: Base,
    providers: ProviderPool,
    embedder: OnDemand[Embedder],
    stack: AsyncExitStack,
    servers: OnDemand[Any],
) -> Toolbox:
    """Return the toolbox. `stack` closes the services that tools have opened, and `servers` are the tool servers."""
    services = _Services(stack=stack, base=base, providers=providers)
    config = base.config
    rules = ToolRules(
        registry=Registry(
            sources=[
                PastTurns(store=base.store),
                SkillReader(files=skill_files(base)),
                KnowledgeTools(insights=base.insights, meaning=meaning_of(base, embedder)),
                InstalledTools(services=services.get),
                _ServerTools(servers=servers),
            ]
        ),
        permit=lambda tool: Policy(rules=base.settings.current().approvals.policy).permit(tool),
        outgoing=OutgoingRules(
            hosts=_private_hosts(config) | _search_hosts(config),
            private_hosts=_private_hosts(config),
            ruled=lambda tool: Policy(rules=base.settings.current().approvals.policy).ruled(tool),
            links_bare_hosts=_links_bare_hosts,
        ),
        sessions=base.folder.sessions,
        secrets=base.secrets,
        timezone=config.scheduler.timezone,
        rounds=config.limits.max_tool_rounds,
        approval_ms=config.approvals.deadline,
        on_expiry=config.approvals.on_expiry,
        begin_login=partial(_begin_login, base, servers),
    )
    plugins = InstalledPlugins(
        services=PluginServices(RetryingStore(store=base.store, clock=base.clock), base.clock, services.get)
    )
    return Toolbox(rules, services.network, plugins, servers, services.browsers, services.get)


class _Services:
    """The services of tools. Each service is created when the first tool needs it."""

    def __init__(self, *, stack: AsyncExitStack, base: Base, providers: ProviderPool) -> None:
        self._stack = stack
        self._base = base
        self._providers = providers
        self._made: ToolServices | None = None
        self._network: GuardedNetwork | None = None
        self._opening = asyncio.Lock()
        self.browsers = Browsers(
            settings=base.config.browser,
            folder=base.folder.browser,
            sandbox=Bubblewrap(hidden=[base.folder.path], disk=base.config.browser.profile_bytes, files=None),
            dialer=self.network,
            clock=base.clock,
        )
        stack.push_async_callback(self.browsers.close)

    async def network(self) -> GuardedNetwork:
        async with self._opening:
            if self._network is None:
                net = await asyncio.to_thread(importlib.import_module, "arvis.net.fetcher")
                opening = net.open_fetcher(allow=self._base.config.tools.allow_hosts)
                network: GuardedNetwork = await self._stack.enter_async_context(opening)
                self._network = network
            return self._network

    async def get(self) -> ToolServices:
        if self._made is None:
            base, fetcher = self._base, await self.network()
            sandbox = build_sandbox(base)
            # With this store, a running tool waits while the database is unavailable. With the usual store, the tool
            # would return an error to the model.
            patient = RetryingStore(store=base.store, clock=base.clock)
            self._made = ToolServices(
                store=patient,
                clock=base.clock,
                fetcher=fetcher,
                http=self._providers.http,
                sandbox=sandbox,
                secrets=base.secrets,
                search=SearchPool(
                    settings=lambda: base.settings.current().search,
                    store=patient,
                    secrets=base.secrets,
                    http=self._providers.http,
                    clock=base.clock,
                ),
                reader=WebFileReader(programs=GuardedPrograms(), sandbox=sandbox),
                skills=skill_files(base),
                credentials=StoredCredentials(store=patient, secrets=base.secrets),
                images=_images(base, self._providers),
                workflows=WorkflowStarter(store=patient, bus=base.bus, clock=base.clock),
                reminders=ReminderService(
                    store=patient, bus=base.bus, clock=base.clock, rules=schedule_rules(base.config)
                ),
                browser=self.browsers,
            )
        return self._made


def skill_files(base: Base) -> StoredSkillFiles:
    return StoredSkillFiles(
        skills=lambda: until_done(base.clock, base.skills.current),
        store=base.store,
        folder=base.folder.path / "skill-files",
        clock=base.clock,
    )


def _images(base: Base, providers: ProviderPool) -> ApiImages | None:
    """Return the image service; None if no model is set."""
    settings = base.config.images
    if settings.model is None:
        return None

    def access() -> ApiAccess | None:
        wanted = settings.account
        found = (each for each in base.accounts.current() if _makes_pictures(each, wanted))
        account = next(found, None)
        return None if account is None else ApiAccess(account.base_url or BASE_URL, account.api_key)

    return ApiImages(
        http=providers.http,
        access=access,
        model=settings.model,
        size=settings.size,
        seconds=settings.timeout_seconds,
    )


def _makes_pictures(account: Account, wanted: str | None) -> bool:
    if wanted is not None:
        return account.name == wanted and (account.base_url is not None or account.provider == "openai")
    return account.provider == "openai"


def _private_hosts(config: Config) -> frozenset[str]:
    """Return the private hosts, without ports, that the configuration lets tools reach."""
    hosts = {urlsplit(f"//{host}").hostname for host in config.tools.allow_hosts}
    return frozenset(host.lower() for host in hosts if host)


def _search_hosts(config: Config) -> frozenset[str]:
    """Return the hosts, without ports, that the configuration names for searches."""
    hosts = {urlsplit(address).hostname for name in (*VARIABLES, FALLBACK) if (address := config.search.address(name))}
    return frozenset(host.lower() for host in hosts if host)


def schedule_rules(config: Config) -> Rules:
    bounds = config.limits
    return Rules(
        zone=config.scheduler.timezone,
        crons_per_agent=bounds.crons_per_agent,
        heartbeats_per_agent=bounds.heartbeats_per_agent,
        reminders_per_person=bounds.reminders_per_person,
    )


def build_sandbox(base: Base) -> Bubblewrap:
    """Return a sandbox that hides the data folder and has the limits of the configuration."""
    limits = base.config.limits
    return Bubblewrap(hidden=[base.folder.path], disk=limits.workspace_bytes, files=limits.workspace_files)


#: The platforms whose clients show `name.host.example` in a text without a link: Discord, and the dashboard and other
#: clients of the API, which show GitHub's Markdown. Programs of other platforms may make a link of it.
_WITHOUT_BARE_LINKS = frozenset({WEB, "discord"})


def _links_bare_hosts(place: Address) -> bool:
    return place.platform not in _WITHOUT_BARE_LINKS


#: Settings of pip and of proxies that are passed on from the daemon's environment.
_PIP = ("PIP_INDEX_URL", "PIP_TRUSTED_HOST", "PIP_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")


def build_workbench(base: Base) -> Workbench:
    sandbox, interpreter = build_sandbox(base), daemons_interpreter()
    packages = PackageSets(
        folder=base.folder.path / "code",
        sandbox=sandbox,
        interpreter=interpreter,
        allowed=base.config.tools.packages,
        settings={name: os.environ[name] for name in _PIP if name in os.environ},
    )
    return Workbench(sandbox, interpreter, packages, skills=skill_files(base))

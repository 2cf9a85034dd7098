"""Opens the tools and plugins that agents can have. The toolbox itself is built at the first message or request."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import structlog

from arvis.app.foundation import Base
from arvis.app.providers import ProviderPool
from arvis.bus import EventBus
from arvis.config.servers import STORED_SERVERS
from arvis.domain.agents import AgentStatus
from arvis.domain.changes import ChangeTopic
from arvis.domain.dataclass import dataclass
from arvis.domain.erasures import ERASED_FOLDERS_MS, ERASED_PROFILES
from arvis.domain.errors import StoreError
from arvis.domain.events import Changed
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction
from arvis.ports.tool import ToolServices, ToolSource
from arvis.process.logging import erase_details
from arvis.process.on_demand import OnDemand

log = structlog.get_logger(__name__)

#: The seconds between two removals of unused browser profiles and erased folders.
FOLDER_SECONDS = 3600.0
#: The file in a folder with the erasures that were carried out there.
_DONE = "erasures.json"


@dataclass(frozen=True, slots=True)
class Tools:
    """The tools and plugins of agents. `box` is the `Toolbox`. `embedder` embeds texts, and `slow` are the tool sources
    whose first use takes long."""

    box: OnDemand[Any]
    embedder: OnDemand[Any]
    slow: Sequence[ToolSource]
    store: Store
    #: The parents of the browser profiles of agents, and of the folders of conversations.
    profiles: Path
    sessions: Path

    async def warm(self) -> None:
        """Query the slow sources before their first use, and load the plugins that agents use, so that `/help` lists
        their commands."""
        if names := await self.store.read(_plugins_of_agents):
            await (await self.box.get()).plugins.find(names)
        for source in self.slow:
            await source.all()

    async def keep_folders(self, clock: Clock, bus: EventBus) -> None:
        """Remove unused and erased browser profiles, the folders of erased conversations, and erased texts of logs. Do
        this now, every hour, and after changes of people. Each process removes only its own profiles, folders and
        texts."""
        with bus.signal(Changed, when=lambda event: event.topic == ChangeTopic.PEOPLE) as changed:
            while True:
                try:
                    await self.remove_unused_profiles()
                    await self.remove_erased_folders(clock.now())
                except (StoreError, OSError) as error:
                    log.warning("duty_failed", duty="folders", error=str(error))
                await _first_of(changed.wait(), clock.sleep(FOLDER_SECONDS))

    async def remove_unused_profiles(self) -> None:
        """Remove the browser profiles of agents that no longer exist, and the profiles that an erasure has marked since
        the last removal. Raise `StoreError` or `OSError`."""
        living, erased = await self.store.read(_agents_of_profiles)
        done = await asyncio.to_thread(_read_done, self.profiles)
        found = await asyncio.to_thread(_names_in, self.profiles)
        gone = {each for each in found if each not in living or erased.get(each) != done.get(each)}
        if gone:
            # The toolbox is built only if there is a profile to remove.
            await (await self.box.get()).browsers.forget(gone)
        if erased != done:
            await asyncio.to_thread(_write_done, self.profiles, erased)

    async def remove_erased_folders(self, now: int) -> None:
        """Remove the folders and files of conversations that other processes have erased, and the texts of the log
        files of this process. Raise `StoreError` or `OSError`."""
        if not self.store.shared:
            return
        erased = dict.fromkeys(await self.store.read(_ended_erasures, now - ERASED_FOLDERS_MS), "done")
        done = await asyncio.to_thread(_read_done, self.sessions)
        if missing := [each for each in erased if each not in done]:
            erasing = await asyncio.to_thread(importlib.import_module, "arvis.erasing")
            for each in missing:
                await erasing.remove_folders(self.store, self.sessions, each)
            await asyncio.to_thread(erase_details)
        if erased != done:
            await asyncio.to_thread(_write_done, self.sessions, erased)


async def _first_of(*waits: Coroutine[Any, Any, Any]) -> None:
    """Wait until one of these has ended, and cancel the others."""
    tasks = [asyncio.create_task(each) for each in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def _names_in(folder: Path) -> frozenset[str]:
    try:
        return frozenset(each.name for each in folder.iterdir() if each.is_dir())
    except FileNotFoundError:
        return frozenset()


def _read_done(folder: Path) -> Mapping[str, str]:
    """Return the erasures that were carried out in this folder, by the id of the agent. An unreadable file counts as empty:
    then profiles are removed again."""
    try:
        found = json.loads((folder / _DONE).read_text())
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_done(folder: Path, erased: Mapping[str, str]) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / _DONE).write_text(json.dumps(erased))


def _ended_erasures(tx: Transaction, since: int) -> Sequence[str]:
    return tx.erasures.ended_since(since)


def _agents_of_profiles(tx: Transaction) -> tuple[frozenset[str], Mapping[str, str]]:
    """Return the ids of the agents that exist, and the erasures of browser profiles."""
    living = frozenset(agent.id for agent in tx.agents.all() if agent.status is not AgentStatus.ARCHIVED)
    return living, json.loads(tx.kv.get(ERASED_PROFILES) or "{}")


@asynccontextmanager
async def open_tools(base: Base, providers: ProviderPool) -> AsyncIterator[Tools]:
    """Yield the tools, and at the end close everything that the tools opened. The daemon opens the tools before the
    roles, so that the tools stay open until the roles have drained."""
    async with AsyncExitStack() as stack:
        config = base.config

        async def services() -> ToolServices:
            made: ToolServices = await (await box.get()).services()
            return made

        servers: OnDemand[Any] = OnDemand(
            "arvis.app.tool_servers:build_servers", base=base, services=services, stack=stack
        )
        embedder: OnDemand[Any] = OnDemand("arvis.app.embedding:build_embedder", base=base, providers=providers)
        box: OnDemand[Any] = OnDemand(
            "arvis.app.toolbox:build_toolbox",
            base=base,
            providers=providers,
            embedder=embedder,
            stack=stack,
            servers=servers,
        )
        if config.tools.allow_hosts:
            # The rules are read at the start, so that an invalid rule is reported now and not at the first fetch of a
            # model.
            guard = await asyncio.to_thread(importlib.import_module, "arvis.net.guard")
            guard.read_rules(allow=config.tools.allow_hosts)
        present = bool(config.mcp.servers) or await base.store.read(_has_stored_servers)
        yield Tools(
            box,
            embedder,
            [await servers.get()] if present else [],
            base.store,
            base.folder.browser,
            base.folder.sessions,
        )


def _has_stored_servers(tx: Transaction) -> bool:
    return tx.kv.get(STORED_SERVERS) is not None


def _plugins_of_agents(tx: Transaction) -> list[str]:
    return sorted({name for agent in tx.agents.all() for name in agent.plugins})

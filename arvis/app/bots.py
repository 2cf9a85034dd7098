"""Builds the registry of bots, the connectors of the bots, and the supervisor that runs the bots."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from arvis.app.foundation import Base
from arvis.app.work_on_demand import FencedInbox
from arvis.bots.connectors import ConnectorFactory, ConnectorPool, connector_services
from arvis.bots.registry import BotRegistry
from arvis.bots.service import BotService
from arvis.bots.supervisor import BotSupervisor, RunnerParts
from arvis.commands.hints import command_hints
from arvis.domain.dataclass import dataclass
from arvis.messaging import owner_alerts
from arvis.web.realtime.connector import WebConnector

#: The roles that need connectors. They run the bots, send deliveries, or receive webhooks.
CONNECTOR_ROLES = frozenset({"connectors", "workers", "web"})


@dataclass(frozen=True, slots=True)
class Bots:
    """The objects that manage the bots. `rooms` is the connector `web`; the `fleet` also contains it."""

    rooms: WebConnector
    fleet: ConnectorPool
    registry: BotRegistry
    service: BotService


@asynccontextmanager
async def open_bots(base: Base) -> AsyncIterator[Bots]:
    """Yield the objects that manage the bots, and close the connectors at the end. The daemon opens the connectors
    before the roles, so that they stay open until the roles have drained. Raise `ConfigError` if a bot of the
    configuration cannot be created."""
    rooms = WebConnector(notify_others=None if base.bridge is None else base.bridge.send)
    maker = ConnectorFactory(services=connector_services(base.config, base.clock, command_hints()))
    registry = BotRegistry(configured=base.config.bots, store=base.store, secrets=base.secrets)
    fleet = ConnectorPool(registry=registry, maker=maker, own=[rooms])
    service = BotService(
        registry=registry, maker=maker, store=base.store, secrets=base.secrets, bus=base.bus, clock=base.clock
    )
    try:
        if CONNECTOR_ROLES & set(base.config.roles):
            await registry.learn()
            await fleet.open()
        yield Bots(rooms, fleet, registry, service)
    finally:
        await fleet.close()


def build_supervisor(base: Base, bots: Bots, inbox: FencedInbox) -> BotSupervisor:
    """Return the supervisor of the bots. In a process with the role `connectors`, it runs the bots. In all other
    processes, it only updates the connectors when the registry changes."""
    running = RunnerParts(
        inbox_for=inbox.fenced_by,
        tell_owner=owner_alerts.alert_bot_problem,
        owner=base.folder.boot_id,
        node=base.folder.node_id,
        random=random.random,
    )
    return BotSupervisor(
        registry=bots.registry,
        fleet=bots.fleet,
        store=base.store,
        bus=base.bus,
        clock=base.clock,
        running=running if "connectors" in base.config.roles else None,
    )

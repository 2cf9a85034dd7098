"""The connectors of this process: one object a bot, for whoever sends, fetches or takes web hooks, whoever runs it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from arvis.bots.registry import BotRegistry, BotSpec, Key
from arvis.config.schema import Config, ConnectorEntry
from arvis.domain.errors import ConfigError
from arvis.domain.messages import Address
from arvis.ports.clock import Clock
from arvis.ports.connector import (
    BadSetting,
    BotSettings,
    CommandHint,
    Connector,
    ConnectorServices,
    CreateConnector,
    Guarantee,
)

# Makes connectors of bots. Who makes them is found by entry points and imported with the first bot of the platform,
# on a thread: the library of one platform takes a second and a half.


class ConnectorFactory:
    """`services` is what every connector is made with."""

    def __init__(self, *, services: ConnectorServices) -> None:
        self._services = services
        self._points: Mapping[str, EntryPoint] = {point.name: point for point in entry_points(group="arvis.connectors")}
        self._loaded: dict[str, CreateConnector] = {}
        self._loading = asyncio.Lock()

    @property
    def platforms(self) -> Sequence[str]:
        """Those that this installation has connectors for."""
        return sorted(self._points)

    async def make(self, spec: BotSpec) -> Connector:
        """Raises `BadSetting`, or `ConfigError` when it cannot be made whatever its settings are."""
        if spec.trouble:
            raise ConfigError(spec.trouble)
        create = await self._create_of(spec.platform)
        (made,) = await asyncio.gather(self._made(create, spec), return_exceptions=True)
        if isinstance(made, BadSetting | asyncio.CancelledError):
            raise made
        if isinstance(made, BaseException):
            raise _broken(spec.platform, made, spec.without_secrets(str(made))) from None
        return made

    async def _made(self, create: CreateConnector, spec: BotSpec) -> Connector:
        return create(BotSettings(spec.name, spec.values), self._services)

    async def _create_of(self, platform: str) -> CreateConnector:
        async with self._loading:
            if platform not in self._loaded:
                loading = asyncio.to_thread(_load, self._point(platform))
                (loaded,) = await asyncio.gather(loading, return_exceptions=True)
                if isinstance(loaded, ConfigError | asyncio.CancelledError):
                    raise loaded
                if isinstance(loaded, BaseException):
                    raise _broken(platform, loaded, str(loaded)) from None
                self._loaded[platform] = loaded
            return self._loaded[platform]

    def _point(self, platform: str) -> EntryPoint:
        if platform not in self._points:
            known = ", ".join(self.platforms) or "none"
            what = f"There is no connector for the platform {platform}"
            raise ConfigError(
                what, why=f"This installation has: {known}.", fix="Remove the bot, or install a connector."
            )
        return self._points[platform]


def connector_services(config: Config, clock: Clock, commands: Sequence[CommandHint]) -> ConnectorServices:
    """What the configuration says to all connectors; `commands` are those that platforms may show."""
    return ConnectorServices(
        clock=clock,
        commands=commands,
        max_parts=config.delivery.max_parts,
        guarantee=Guarantee(config.delivery.telegram),
        public_url=config.web.public_url,
    )


def misconfigured(entry: ConnectorEntry, error: BadSetting | ConfigError) -> ConfigError:
    """The same about a bot of the configuration, with the place where it is written."""
    if isinstance(error, ConfigError):
        what = f"`{entry.path}` cannot be used: {error.what}"
        return ConfigError(what, why=_place(entry, "") + (f": {error.why}" if error.why else ""), fix=error.fix)
    return ConfigError(f"`{entry.path}.{error.key}` {error.text}", why=_place(entry, error.key), fix=error.fix)


def describe(error: BadSetting | ConfigError) -> str:
    """As a sentence for a bot's state."""
    if isinstance(error, BadSetting):
        return f"The setting `{error.key}` {error.text}. {error.fix}".strip()
    return " ".join(part for part in (f"{error.what.rstrip('.')}.", error.why, error.fix) if part)


def _place(entry: ConnectorEntry, key: str) -> str:
    """The line of a key, or of the entry's first key where it is missing."""
    name = key.partition(".")[0].partition("[")[0]
    return entry.places.get(name) or next(iter(entry.places.values()), entry.path)


def _load(point: EntryPoint) -> CreateConnector:
    try:
        create: CreateConnector = point.load()
    except ImportError as missing:
        package = missing.name or str(missing)
        what = f"The connector for {point.name} needs a package that is missing: {package}"
        fix = f"Install it with `pip install 'arvis[{point.name}]'`, then start again."
        raise ConfigError(what, fix=fix) from None
    except SystemExit as end:
        raise ConfigError(f"The connector for {point.name} is broken: it ended with {end.code}") from None
    return create


def _broken(platform: str, defect: BaseException, text: str) -> ConfigError:
    """A connector may be anybody's code: it must not break the others."""
    why = f"{type(defect).__name__}: {text}"[:300]
    return ConfigError(f"The connector for {platform} is broken", why=why, fix="Mend or remove that package.")


log = logging.getLogger(__name__)

#: Seconds in which a connector has to close.
_CLOSING = 5.0


@dataclass(frozen=True, slots=True)
class Bot:
    """`connector` is None for a bot that is off, or that cannot be made, which `trouble` then says why."""

    spec: BotSpec
    connector: Connector | None
    trouble: str = ""


class ConnectorPool:
    """`own` are connectors that are there always, such as the web."""

    def __init__(self, *, registry: BotRegistry, maker: ConnectorFactory, own: Sequence[Connector] = ()) -> None:
        self._registry = registry
        self._maker = maker
        self._own: dict[Key, Connector] = {(connector.platform, connector.name): connector for connector in own}
        self._bots: dict[Key, Bot] = {}

    @property
    def bots(self) -> Sequence[Bot]:
        return tuple(self._bots.values())

    def bot(self, key: Key) -> Bot | None:
        return self._bots.get(key)

    def connector_of(self, address: Address) -> Connector | None:
        """None when there is no such bot, or it is off or cannot be made."""
        return self.connector(address.platform, address.connector)

    def connector(self, platform: str, name: str) -> Connector | None:
        key = (platform, name)
        if (own := self._own.get(key)) is not None:
            return own
        bot = self._bots.get(key)
        return None if bot is None else bot.connector

    async def open(self) -> None:
        """Make every bot that the book knows. Raises `ConfigError` for one that is written in the configuration and cannot
        be made; one that only a variable asked for, or that is stored, stays with its trouble."""
        for spec in self._registry.specs:
            bot, error = await self._made(spec)
            entry = self._registry.entry(*spec.key)
            if error is not None and entry is not None and entry.variable is None:
                raise misconfigured(entry, error)
            self._bots[spec.key] = bot

    async def put(self, spec: BotSpec) -> Bot:
        """Make a bot anew. Whoever sends goes on with its former connector until the new one is there."""
        former = self._bots.get(spec.key)
        self._bots[spec.key], _ = await self._made(spec)
        await _closed(former)
        return self._bots[spec.key]

    async def drop(self, key: Key) -> None:
        await _closed(self._bots.pop(key, None))

    async def close(self) -> None:
        """Close all connectors, at once."""
        bots, self._bots = self._bots, {}
        await asyncio.gather(*(_closed(bot) for bot in bots.values()))

    async def _made(self, spec: BotSpec) -> tuple[Bot, BadSetting | ConfigError | None]:
        if not spec.enabled:
            return Bot(spec, None), None
        try:
            return Bot(spec, await self._maker.make(spec)), None
        except (BadSetting, ConfigError) as error:
            log.warning("The bot %s of %s cannot be used: %s", spec.name, spec.platform, describe(error))
            return Bot(spec, None, describe(error)), error


async def _closed(bot: Bot | None) -> None:
    """What goes wrong while a connector closes is told, and concerns nobody else."""
    if bot is None or bot.connector is None:
        return
    closing = asyncio.create_task(bot.connector.close())
    await asyncio.wait({closing}, timeout=_CLOSING)
    if not closing.done():
        closing.cancel()
    elif not closing.cancelled() and (failure := closing.exception()) is not None:
        log.error("the bot %s of %s did not close: %r", bot.spec.name, bot.spec.platform, type(failure).__name__)

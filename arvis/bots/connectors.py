"""The connectors of this process. Every process has a connector for each bot, so that it can send, fetch files and
receive webhooks even if another process runs the bot."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint

from arvis.bots.registry import BotRegistry, BotSpec, Key
from arvis.config.schema import BotEntry, Config
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ConfigError, MissingPackage
from arvis.domain.messages import Address
from arvis.extensions import CONNECTORS, installed
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
from arvis.ports.extras import missing_package


class ConnectorFactory:
    """The factory of connectors. It finds a platform's `create` function by its entry point. For the first bot of a
    platform, a thread imports the function, because the import can take more than a second. Each connector gets
    `services`."""

    def __init__(self, *, services: ConnectorServices) -> None:
        self._services = services
        self._points: Mapping[str, EntryPoint] = installed(CONNECTORS)
        self._loaded: dict[str, CreateConnector] = {}
        self._loading = asyncio.Lock()

    @property
    def platforms(self) -> Sequence[str]:
        """The platforms for which this installation has connectors."""
        return sorted(self._points)

    async def make(self, spec: BotSpec) -> Connector:
        """Make a connector. Raise `BadSetting` for a setting that cannot be used. Raise `ConfigError` if the connector
        cannot be made for another reason."""
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
                what, why=f"Installed connectors: {known}.", fix="Remove the bot, or install a connector."
            )
        return self._points[platform]


def connector_services(config: Config, clock: Clock, commands: Sequence[CommandHint]) -> ConnectorServices:
    """Return the services and settings that all connectors share. `commands` are the text commands that platforms can
    show."""
    return ConnectorServices(
        clock=clock,
        commands=commands,
        max_parts=config.delivery.max_parts,
        guarantee=Guarantee(config.delivery.telegram),
        public_url=config.web.public_url,
    )


def misconfigured(entry: BotEntry, error: BadSetting | ConfigError) -> ConfigError:
    """Return the error about a configured bot, with the line of the bot in the configuration file."""
    if isinstance(error, ConfigError):
        what = f"`{entry.path}` cannot be used: {error.what}"
        return ConfigError(what, why=_place(entry, "") + (f": {error.why}" if error.why else ""), fix=error.fix)
    return ConfigError(f"`{entry.path}.{error.key}` {error.text}", why=_place(entry, error.key), fix=error.fix)


def describe(error: BadSetting | ConfigError) -> str:
    """Return the error as text for a bot's status."""
    if isinstance(error, BadSetting):
        return f"The setting `{error.key}` {error.text}. {error.fix}".strip()
    return " ".join(part for part in (f"{error.what.rstrip('.')}.", error.why, error.fix) if part)


def _place(entry: BotEntry, key: str) -> str:
    """Return the position of a key in the file. If the entry does not contain the key, return the position of the
    entry's first key."""
    name = key.partition(".")[0].partition("[")[0]
    return entry.places.get(name) or next(iter(entry.places.values()), entry.path)


def _load(point: EntryPoint) -> CreateConnector:
    try:
        create: CreateConnector = point.load()
    except ModuleNotFoundError as missing:
        part = f"The connector for {point.name}"
        raise missing_package(part, missing.name or str(missing), point.name) from None
    except SystemExit as end:
        raise ConfigError(
            f"The connector for {point.name} cannot be loaded: its code tried to exit with the code {end.code}"
        ) from None
    return create


def _broken(platform: str, defect: BaseException, text: str) -> ConfigError:
    """Return the error about a connector whose code raised an unexpected exception. The code may be third-party code,
    so its errors must not affect other bots."""
    why = f"{type(defect).__name__}: {text}"[:300]
    return ConfigError(
        f"The connector for {platform} is broken", why=why, fix="Update the package of the connector, or uninstall it."
    )


log = logging.getLogger(__name__)

#: The time limit (s) for closing a connector.
_CLOSING = 5.0


@dataclass(frozen=True, slots=True)
class Bot:
    """A bot with its connector. The connector is None if the bot is off or the connector cannot be made. If it cannot
    be made, `trouble` is the reason."""

    spec: BotSpec
    connector: Connector | None
    trouble: str = ""


class ConnectorPool:
    """The connectors of all bots. `own` are connectors that always exist, such as the connector of the dashboard."""

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
        """Return the connector of an address; None if the bot does not exist, is off, or cannot be made."""
        return self.connector(address.platform, address.connector)

    def connector(self, platform: str, name: str) -> Connector | None:
        key = (platform, name)
        if (own := self._own.get(key)) is not None:
            return own
        bot = self._bots.get(key)
        return None if bot is None else bot.connector

    async def open(self) -> None:
        """Make the connectors of all bots in the registry. Raise `ConfigError` if a bot of the configuration file
        cannot be made. If a bot comes from an environment variable or the database, or if only a package is missing,
        store the error as the bot's `trouble` instead: all other bots then work."""
        for spec in self._registry.specs:
            bot, error = await self._made(spec)
            entry = self._registry.entry(*spec.key)
            optional = entry is None or entry.variable is not None or isinstance(error, MissingPackage)
            if error is not None and entry is not None and not optional:
                raise misconfigured(entry, error)
            self._bots[spec.key] = bot

    async def put(self, spec: BotSpec) -> Bot:
        """Make the connector of a bot again. The old connector is used until the new connector is ready."""
        former = self._bots.get(spec.key)
        self._bots[spec.key], _ = await self._made(spec)
        await _closed(former)
        return self._bots[spec.key]

    async def drop(self, key: Key) -> None:
        await _closed(self._bots.pop(key, None))

    async def close(self) -> None:
        """Close the connectors of all bots at the same time."""
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
    """Close the connector of a bot within `_CLOSING` seconds. Log an error instead of raising it."""
    if bot is None or bot.connector is None:
        return
    closing = asyncio.create_task(bot.connector.close())
    await asyncio.wait({closing}, timeout=_CLOSING)
    if not closing.done():
        closing.cancel()
    elif not closing.cancelled() and (failure := closing.exception()) is not None:
        log.error("the bot %s of %s did not close: %r", bot.spec.name, bot.spec.platform, type(failure).__name__)

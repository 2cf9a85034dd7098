"""Makes connectors of bots. Who makes them is found by entry points and imported with the first bot of the platform, on a
thread: the library of one platform takes a second and a half."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points

from arvis.bots.book import BotSpec
from arvis.config.schema import Config, ConnectorEntry
from arvis.domain.errors import ConfigError
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


class ConnectorMaker:
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


def in_words(error: BadSetting | ConfigError) -> str:
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

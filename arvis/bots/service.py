"""The owner's operations on bots: add, change, remove, restart, check. A change is written first; then the processes
that run bots are notified.

A token is encrypted before it is stored, and is sent only to its platform.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from arvis.bots.connectors import ConnectorFactory, describe
from arvis.bots.registry import BotRegistry, BotSpec, Key, Source, is_secret, opened_of, request_restart, seal_all
from arvis.bus import EventBus
from arvis.domain.dataclass import dataclass, replace
from arvis.domain.errors import ConfigError, Conflict, NotFound, SecretLost, Unprocessable
from arvis.domain.events import BotsChanged
from arvis.domain.platforms import BotStatus, StoredBot
from arvis.messaging.owner_alerts import resolve_bot_problems
from arvis.ports.clock import Clock
from arvis.ports.connector import BadSetting, ChecksSetup, Connector, SetupFinding
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store, Transaction

#: The time limit (s) of a check.
_PATIENCE = 20.0

_FIELDS = "GET /openapi.json describes every field."

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BotChanges:
    """The changes of a bot. A setting or secret with the value None is removed; settings and secrets without an entry
    stay unchanged. `enabled` is None if it stays unchanged."""

    settings: Values = field(default_factory=dict)
    secrets: Values = field(default_factory=dict, repr=False)
    enabled: bool | None = None


class BotService:
    """The owner's operations on bots. They raise `Unprocessable` for values that cannot be used, `NotFound` for an
    unknown bot, and `Conflict` for changes of a bot that the configuration defines."""

    def __init__(
        self,
        *,
        registry: BotRegistry,
        maker: ConnectorFactory,
        store: Store,
        secrets: SecretBox,
        bus: EventBus,
        clock: Clock,
    ) -> None:
        self._registry = registry
        self._maker = maker
        self._store = store
        self._secrets = secrets
        self._bus = bus
        self._clock = clock

    @property
    def registry(self) -> BotRegistry:
        return self._registry

    async def statuses(self) -> Mapping[Key, BotStatus]:
        """Return the stored state of each bot, which the process that runs it has reported."""
        found = await self._store.read(_statuses)
        return {(status.platform, status.name): status for status in found}

    def spec(self, platform: str, name: str) -> BotSpec:
        spec = self._registry.spec(platform, name)
        if spec is None:
            raise _no_bot(platform, name)
        return spec

    async def add(self, platform: str, name: str, given: BotChanges) -> BotSpec:
        self._refuse_configured(platform, name)
        now = self._clock.now()
        bot = StoredBot("", platform, name, "{}", "", given.enabled is not False, now, now)
        bot = await self._with(bot, given.settings, given.secrets)
        if not await self._store.write(_add, bot):
            raise Conflict(
                f"There is a bot {name} for {platform} already.", fix="Change the existing bot, or choose another name."
            )
        return await self._published(platform, name)

    async def change(self, platform: str, name: str, changes: BotChanges) -> BotSpec:
        """Change a stored bot. It can be turned on or off even if its settings are invalid."""
        stored = await self._stored(platform, name)
        enabled = stored.enabled if changes.enabled is None else changes.enabled
        bot = replace(stored, enabled=enabled, updated_at=max(self._clock.now(), stored.updated_at + 1))
        if changes.settings or changes.secrets:
            bot = await self._changed(bot, changes)
        await self._store.write(_update, bot)
        return await self._published(platform, name)

    async def remove(self, platform: str, name: str) -> None:
        if not await self._store.write(_remove, platform, name, self._clock.now()):
            self._refuse_configured(platform, name)
            raise _no_bot(platform, name)
        await self._publish_change()

    async def restart(self, platform: str, name: str) -> BotSpec:
        """Restart a bot in the process that runs it. This is also possible for a bot of the configuration."""
        self.spec(platform, name)
        await self._store.write(request_restart, platform, name, self._clock.now())
        return await self._published(platform, name)

    async def check(self, platform: str, name: str) -> Sequence[SetupFinding]:
        """Ask the platform if the bot is set up correctly, and return the findings. An error of the check is also a
        finding."""
        return await examine(self.spec(platform, name), self._maker)

    async def check_new(self, platform: str, name: str, given: BotChanges) -> Sequence[SetupFinding]:
        """Check a bot that is not stored. Raise `Unprocessable` for values that cannot be used."""
        settings, secrets = _merged({}, given.settings), _merged({}, given.secrets)
        _refuse_plain_secrets(settings)
        spec = BotSpec(platform, name, {**settings, **secrets}, source=Source.PRODUCT)
        # Encrypting the secrets also adds them to the log filter, which masks them.
        await asyncio.to_thread(seal_all, self._secrets, secrets)
        await self._try(spec)
        return await examine(spec, self._maker)

    async def _changed(self, bot: StoredBot, changes: BotChanges) -> StoredBot:
        before = json.loads(bot.settings)
        settings, secrets = _merged(before, changes.settings), await self._secrets_of(bot, changes)
        _refuse_redirection(before, settings, secrets, changes.secrets)
        return await self._with(bot, settings, secrets)

    async def _with(self, bot: StoredBot, settings: Values, secrets: Values) -> StoredBot:
        """Return the bot with these settings and encrypted secrets. Values that are None are left out. Raise
        `Unprocessable` if the bot's connector does not accept the values."""
        settings, secrets = _merged({}, settings), _merged({}, secrets)
        _refuse_plain_secrets(settings)
        await self._try(BotSpec(bot.platform, bot.name, {**settings, **secrets}, source=Source.PRODUCT))
        # A thread encrypts the secrets, because the first call may make a key and write it to the disk.
        sealed = await asyncio.to_thread(seal_all, self._secrets, secrets)
        return replace(bot, settings=json.dumps(settings), secrets=sealed)

    async def _try(self, spec: BotSpec) -> None:
        """Raise `Unprocessable` if no connector can be made with these settings."""
        try:
            connector = await self._maker.make(spec)
        except BadSetting as bad:
            raise Unprocessable(f"`{bad.key}` {bad.text}.", fix=bad.fix or _FIELDS) from None
        except ConfigError as error:
            raise Unprocessable(f"{error.what}.", why=error.why, fix=error.fix) from None
        await _close(connector)

    async def _stored(self, platform: str, name: str) -> StoredBot:
        stored = await self._store.read(_get, platform, name)
        if stored is None:
            self._refuse_configured(platform, name)
            raise _no_bot(platform, name)
        return stored

    async def _secrets_of(self, stored: StoredBot, changes: BotChanges) -> dict[str, Any]:
        """Return the bot's secrets after the changes. If the stored secrets cannot be decrypted, return only the new
        secrets; the connector then reports the secrets that are missing."""
        try:
            opened = await asyncio.to_thread(opened_of, stored, self._secrets)
        except SecretLost:
            opened = {}
        return _merged(opened, changes.secrets)

    def _refuse_configured(self, platform: str, name: str) -> None:
        if self._registry.entry(platform, name) is not None:
            raise Conflict(
                f"The bot {name} of {platform} comes from the configuration.",
                fix="Change config.yaml or the environment variables that define the bot, and restart Arvis.",
                code="configured",
            )

    async def _published(self, platform: str, name: str) -> BotSpec:
        await self._publish_change()
        return self.spec(platform, name)

    async def _publish_change(self) -> None:
        await self._registry.learn()
        self._bus.publish(BotsChanged())


async def examine(spec: BotSpec, maker: ConnectorFactory) -> Sequence[SetupFinding]:
    """Make a connector for the check, and return its findings about the bot's setup."""
    try:
        connector = await maker.make(spec)
    except (BadSetting, ConfigError) as error:
        return [SetupFinding("error", describe(error))]
    if not isinstance(connector, ChecksSetup):
        await _close(connector)
        return [SetupFinding("ok", f"The platform {spec.platform} has nothing to check")]
    (found,) = await asyncio.gather(asyncio.wait_for(connector.check(), _PATIENCE), return_exceptions=True)
    await _close(connector)
    if isinstance(found, TimeoutError):
        return [SetupFinding("error", f"No answer within {_PATIENCE:g} seconds", "Check the network, then try again.")]
    if isinstance(found, BaseException):
        return [SetupFinding("error", spec.without_secrets(f"{type(found).__name__}: {found}"[:300]))]
    return found


async def _close(connector: Connector) -> None:
    await asyncio.gather(connector.close(), return_exceptions=True)


def _merged(known: Values, changes: Values) -> dict[str, Any]:
    return {name: value for name, value in {**known, **changes}.items() if value is not None}


def _refuse_plain_secrets(settings: Values) -> None:
    if found := [name for name in settings if is_secret(name)]:
        fix = "Send the secret in `secrets`. Arvis encrypts secrets and never shows them."
        raise Unprocessable(f"`settings.{found[0]}` is a secret.", fix=fix)


def _refuse_redirection(before: Values, after: Values, secrets: Values, given: Values) -> None:
    """Raise `Unprocessable` if the address changes but a secret does not, because the bot would send the stored secret
    to the new server."""
    moved = [name for name in {*before, *after} if name.endswith("url") and before.get(name) != after.get(name)]
    if moved and (kept := [name for name in secrets if name not in given]):
        fix = "Send the secret again, together with the new address."
        raise Unprocessable(
            f"`secrets.{kept[0]}` is missing.", why="The stored secret was entered for another address.", fix=fix
        )


def _no_bot(platform: str, name: str) -> NotFound:
    fix = "`arvis bots list` and GET /api/bots list the bots."
    return NotFound(f"There is no bot {name} for {platform}.", fix=fix)


# -- transaction scripts -----------------------------------------------------------------------------------


def _statuses(tx: Transaction) -> list[BotStatus]:
    return tx.bots.statuses()


def _get(tx: Transaction, platform: str, name: str) -> StoredBot | None:
    return tx.bots.get(platform, name)


def _add(tx: Transaction, bot: StoredBot) -> bool:
    return tx.bots.add(replace(bot, id=tx.new_id()))


def _update(tx: Transaction, bot: StoredBot) -> None:
    tx.bots.update(bot)
    if not bot.enabled:
        resolve_bot_problems(tx, bot.platform, bot.name, bot.updated_at)


def _remove(tx: Transaction, platform: str, name: str, now: int) -> bool:
    resolve_bot_problems(tx, platform, name, now)
    return tx.bots.remove(platform, name)

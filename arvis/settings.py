"""Manages the settings that owners change in the dashboard. The settings are stored in the database and follow the same
rules as the configuration file. The dashboard shows the source of each value.

The environment overrides the dashboard, and the dashboard overrides the file. Some settings take effect immediately
(`current`); all others are read only at the start. A stored value that is no longer valid does not prevent a start. The
daemon ignores and reports the value.
"""

from __future__ import annotations

import asyncio
import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import structlog

from arvis.bus import EventBus
from arvis.config import Config
from arvis.config.catalog import Setting, keys_at_once, with_values_of
from arvis.config.loading import Loaded, Origin, OriginKind, look
from arvis.config.stored import KEY, Changes, Sifted, settings_with, sift, stored_changes
from arvis.domain.changes import ChangeTopic
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import ConfigError, Conflict, Unprocessable
from arvis.domain.events import Changed, Event, NoticesMissed, SettingsChanged
from arvis.domain.versions import Version, Versioned, version_before
from arvis.ports.clock import Clock
from arvis.ports.store import Store, Transaction

log = structlog.get_logger(__name__)

#: The id under which versions of the settings are stored in the table `versions`.
_ROW = "config"
#: The seconds after which the stored values are read again even without a notice of a change, because a notice may be
#: lost.
_LOOK_AGAIN = 60.0
#: The value with which `change` sets a setting to null. (The value None removes the stored value.)
_NULL = "null"
#: The maximum length of all stored values together, in characters of JSON.
_MOST = 100_000


@dataclass(frozen=True, slots=True)
class Shown:
    """A setting in the form in which the dashboard shows it."""

    setting: Setting
    #: The value in effect now.
    value: Any
    #: The value that will be in effect after the next start.
    next_value: Any
    origin: Origin
    #: The reason why the value from the dashboard is ignored; empty if it is not ignored.
    problem: str = ""

    @property
    def pending(self) -> bool:
        return bool(self.value != self.next_value)


@dataclass(frozen=True, slots=True)
class Overview:
    """All settings in the form in which the dashboard shows them."""

    shown: Sequence[Shown]
    #: The reason why the configuration of the next start is invalid; empty if it is valid. If it is invalid, each
    #: `next_value` is the current value, because the value after the next start is unknown.
    problem: str = ""


class SettingsService:
    """The access to the settings. `given` is the configuration that the file and the environment contained at the
    start. Await `begin` before any other method."""

    def __init__(
        self, *, given: Config, store: Store, bus: EventBus, clock: Clock, environ: Callable[[], Mapping[str, str]]
    ) -> None:
        self._given = given
        self._running = given
        self._current = given
        self._store = store
        self._bus = bus
        self._clock = clock
        self._environ = environ
        self._learning = asyncio.Lock()
        self._applied = asyncio.Condition()
        self._problems: Mapping[str, str] = {}

    @property
    def file(self) -> str | None:
        return None if self._given.config_file is None else str(self._given.config_file)

    def current(self) -> Config:
        """Return the configuration that is in effect. It is the configuration of the start, with later changes of
        settings that take effect immediately."""
        return self._current

    async def until(self, holds: Callable[[Config], bool]) -> None:
        """Wait until the configuration in effect fulfils this condition."""
        async with self._applied:
            await self._applied.wait_for(lambda: holds(self._current))

    async def begin(self) -> Config:
        """Return the configuration for this start, made from the values of the file, the environment and the
        database."""
        changes = await self._store.read(_stored)
        sifted = await asyncio.to_thread(self._sifted, changes)
        for key, why in sifted.problems.items():
            fix = "set it again on the Configuration page of the dashboard, or reset it there"
            log.warning("setting_passed_over", key=key, why=why, fix=fix)
        self._problems = sifted.problems
        self._running = self._current = sifted.config
        return sifted.config

    async def learn(self) -> None:
        """Read the stored values, and apply the values that take effect immediately. Raise `StoreError` if they cannot
        be read."""
        async with self._learning:  # so that values that were read earlier do not replace newer ones
            await self._learn()

    async def _learn(self) -> None:
        changes = await self._store.read(_stored)
        sifted = await asyncio.to_thread(self._sifted, changes)
        self._problems = sifted.problems
        self._current = with_values_of(self._running, sifted.config, keys_at_once())
        async with self._applied:
            self._applied.notify_all()

    async def follow(self, up: Callable[[], None]) -> None:
        """Apply the stored values after each change by another process, until cancelled. Call `up` when the values are
        applied for the first time. Raise `StoreError` if they cannot be read."""
        with self._bus.signal(SettingsChanged, NoticesMissed, Changed, when=_tells) as changed:
            await self.learn()
            up()
            while True:
                await changed.wait(_LOOK_AGAIN)
                await self.learn()

    async def overview(self) -> Overview:
        changes = await self._store.read(_stored)
        return await asyncio.to_thread(self._overview, changes)

    async def change(self, changes: Changes, *, by: str) -> None:
        """Store these values, by key. The value None removes a stored value, and the text `null` sets a setting to
        null. Raise `Unprocessable` for an invalid value. Raise `Conflict` if the environment sets the key, or if only
        the file can set it."""
        before = await self._store.read(_stored)
        kept = {key: value for key, value in before.items() if key not in changes}
        given = {key: None if value == _NULL else value for key, value in changes.items() if value is not None}
        after = {**kept, **given}
        await self._set(before, after, tuple(changes), by)

    async def undo(self, *, by: str) -> None:
        """Restore the values that were stored before the last change. Raise `Conflict` if there is no change to undo,
        and `Unprocessable` if these values are no longer valid."""
        before = await self._store.read(_stored)
        wanted = version_before(await self._store.read(_versions, 2)).data or {}
        touched = [key for key in {*before, *wanted} if before.get(key) != wanted.get(key)]
        await self._set(before, wanted, touched, by)

    async def versions(self, limit: int) -> Sequence[Version]:
        """Return the versions of the stored values, newest first. The `data` of a version contains all values."""
        return await self._store.read(_versions, limit)

    async def _set(self, before: Changes, after: Changes, touched: Sequence[str], by: str) -> None:
        await asyncio.to_thread(self._check, before, after, touched)
        await self._store.write(_keep, before, after, by, self._clock.now())
        await self.learn()
        self._bus.publish(SettingsChanged())

    def _check(self, before: Changes, after: Changes, touched: Sequence[str]) -> None:
        known = {setting.key: setting for setting in settings_with(self._given, after)}
        for key in touched:
            _refuse_unknown(key, known)
        if len(json.dumps(after)) > _MOST:
            raise Unprocessable("The settings are too large to store.", fix="Put long lists into config.yaml.")
        others = {key: value for key, value in self._sifted(before).usable.items() if key not in touched}
        wanted = {**others, **{key: after[key] for key in touched if key in after}}
        try:
            loaded = look(self._given, self._environ(), wanted)
        except ConfigError as error:
            what = error.what.replace("The configuration cannot be used", "This value cannot be set", 1)
            raise Unprocessable(f"{what}.", why=error.why, fix=error.fix or "Change the value.") from None
        for key in touched:
            _refuse_fixed(loaded.origin(known[key].path), key)

    def _sifted(self, changes: Changes) -> Sifted:
        return sift(self._given, self._environ(), changes)

    def _overview(self, changes: Changes) -> Overview:
        sifted, problem = self._sifted(changes), ""
        loaded: Loaded | None = None
        try:
            loaded = look(self._given, self._environ(), sifted.usable)
        except ConfigError as error:
            problem = f"{error.what}. {error.why} {error.fix}".strip()
        settings = settings_with(self._given, changes)
        return Overview([self._shown(setting, sifted, loaded) for setting in settings], problem)

    def _shown(self, setting: Setting, sifted: Sifted, loaded: Loaded | None) -> Shown:
        value = setting.value_in(self._current)
        if loaded is None:
            origin = Origin(OriginKind.DEFAULT if value == setting.default else OriginKind.FILE)
            return Shown(setting, value, value, origin, sifted.problems.get(setting.key, ""))
        after, origin = setting.value_in(loaded.config), loaded.origin(setting.path)
        # The command line may have set the roles and the data folder of this process. The loaded configuration does not
        # contain these options.
        after = value if setting.key in _OF_THE_COMMAND_LINE else after
        return Shown(setting, value, after, origin, sifted.problems.get(setting.key, ""))


def _tells(event: Event) -> bool:
    """Return True if the event means that settings may have changed. A process that only serves the dashboard does not
    get `SettingsChanged` from other processes. Such a process gets `Changed` with the topic `settings`."""
    return not isinstance(event, Changed) or event.topic == ChangeTopic.SETTINGS


_OF_THE_COMMAND_LINE = frozenset({"roles", "data_dir"})


def _refuse_unknown(key: str, known: Mapping[str, Setting]) -> None:
    setting = known.get(key)
    if setting is None:
        close = difflib.get_close_matches(key[:_LONGEST_KEY], list(known), n=1)
        fix = f"Did you mean `{close[0]}`?" if close else "GET /api/settings lists all settings."
        raise Unprocessable(f"There is no setting `{key[:_LONGEST_KEY]}`.", fix=fix, code="unknown_setting")
    if setting.fixed:
        fix = "Change it in config.yaml, and restart Arvis."
        raise Conflict(f"`{key}` cannot be changed here.", why=setting.fixed, fix=fix, code="not_changeable")


_LONGEST_KEY = 100


def _refuse_fixed(origin: Origin, key: str) -> None:
    if origin.kind is OriginKind.ENVIRONMENT:
        raise Conflict(
            f"`{key}` is fixed by the environment variable {origin.place}.",
            fix="Change or unset the environment variable, then restart Arvis.",
            code="fixed_by_environment",
        )


# -- scripts -----------------------------------------------------------------------------------------------


def _stored(tx: Transaction) -> Changes:
    return stored_changes(tx.settings.get(KEY))


def _versions(tx: Transaction, limit: int) -> Sequence[Version]:
    return tx.versions.newest(Versioned.SETTINGS, _ROW, limit)


def _keep(tx: Transaction, before: Changes, after: Changes, by: str, now: int) -> None:
    if _stored(tx) != before:
        raise Conflict(
            "Another person changed the settings at the same time.",
            fix="Check the current settings, and save your change again.",
        )
    if after == before:
        return
    tx.settings.put(KEY, json.dumps(after), now)
    tx.versions.keep(Versioned.SETTINGS, _ROW, dict(after), by, now, before=dict(before))

"""The registry of bots: the bots of the configuration, and the stored bots, which were added at run time.

The registry is a copy of rows of the database; it reads the rows again after each change. An unusable stored bot does
not prevent the daemon from starting.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any

from arvis.config.schema import BotEntry
from arvis.domain.dataclass import dataclass
from arvis.domain.errors import SecretLost, sentences
from arvis.domain.platforms import StoredBot
from arvis.domain.regex import regex
from arvis.ports.secrets import SecretBox
from arvis.ports.store import Store, Transaction

#: Platform and name of a bot.
Key = tuple[str, str]

_SECRET = regex(r"(token|secret|password|key)$")


class Source(StrEnum):
    CONFIGURATION = "configuration"
    PRODUCT = "product"


@dataclass(frozen=True, slots=True)
class BotSpec:
    """The desired state of a bot. If it changes, the bot is restarted. `values` are all settings of the bot except its
    name; secrets are decrypted. `revision` changes with each requested restart. If the settings cannot be read,
    `trouble` is the reason; otherwise it is empty."""

    platform: str
    name: str
    values: Mapping[str, Any] = field(repr=False)
    enabled: bool = True
    source: Source = Source.CONFIGURATION
    revision: str = ""
    trouble: str = ""

    @property
    def key(self) -> Key:
        return self.platform, self.name

    @property
    def label(self) -> str:
        return f"{self.platform}/{self.name}"

    def without_secrets(self, text: str) -> str:
        """Return the text without this bot's secrets. An error of a library can contain an address with the token."""
        secrets = [value for name, value in self.values.items() if is_secret(name) and isinstance(value, str) and value]
        for secret in sorted(secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


class BotRegistry:
    """The known bots. `configured` are the bots of the configuration file and the environment; they change only at a
    restart of the daemon. A stored bot with the name of a configured bot is ignored. Before the first `learn` the
    registry is empty."""

    def __init__(self, *, configured: Sequence[BotEntry], store: Store, secrets: SecretBox) -> None:
        self._entries = {(entry.platform, entry.name): entry for entry in configured}
        self._store = store
        self._secrets = secrets
        self._learning = asyncio.Lock()
        self._specs: Mapping[Key, BotSpec] = {}
        self._passed_over: Mapping[Key, StoredBot] = {}

    @property
    def specs(self) -> Sequence[BotSpec]:
        """All bots; the bots of the configuration come first."""
        return tuple(self._specs.values())

    def spec(self, platform: str, name: str) -> BotSpec | None:
        return self._specs.get((platform, name))

    def entry(self, platform: str, name: str) -> BotEntry | None:
        """Return the entry of a bot in the configuration; None for a stored bot."""
        return self._entries.get((platform, name))

    @property
    def passed_over(self) -> Sequence[StoredBot]:
        """The stored bots that are ignored, because bots of the configuration have the same names."""
        return tuple(self._passed_over.values())

    async def learn(self) -> None:
        """Read the stored bots. If the database cannot be read, raise `StoreError`; the registry then stays
        unchanged."""
        async with self._learning:
            rows, restarts = await self._store.read(_rows, tuple(self._entries))
            known = {key: configured_spec(entry, restarts.get(key, "")) for key, entry in self._entries.items()}
            own = [stored for stored in rows if (stored.platform, stored.name) not in known]
            # A thread decrypts the secrets, because the first call reads the key from its file and imports the library.
            opened = await asyncio.to_thread(self._opened_all, own, restarts)
            self._passed_over = {(row.platform, row.name): row for row in rows if (row.platform, row.name) in known}
            self._specs = {**known, **{spec.key: spec for spec in opened}}

    def _opened_all(self, rows: Sequence[StoredBot], restarts: Mapping[Key, str]) -> list[BotSpec]:
        return [spec_of(stored, self._secrets, restarts.get((stored.platform, stored.name), "")) for stored in rows]


def is_secret(setting: str) -> bool:
    """Return True if a setting with this name is a secret. Secrets are never shown."""
    return _SECRET.search(setting) is not None


def configured_spec(entry: BotEntry, restart: str = "") -> BotSpec:
    values = {name: value for name, value in entry.values.items() if name != "name"}
    return BotSpec(entry.platform, entry.name, values, revision=restart)


def spec_of(stored: StoredBot, box: SecretBox, restart: str = "") -> BotSpec:
    """Return the desired state of a stored bot, with decrypted secrets. If its settings or secrets cannot be read,
    `trouble` is the reason."""
    revision = f"{stored.id} {stored.updated_at} {restart}"
    shape = (stored.platform, stored.name)
    settings = _object(stored.settings)
    if settings is None or _object(stored.secrets) is None:
        trouble = "The stored settings of this bot cannot be read. Enter them again, or delete the bot."
        return BotSpec(*shape, {}, stored.enabled, Source.PRODUCT, revision, trouble)
    try:
        values = {**settings, **opened_of(stored, box)}
    except SecretLost as lost:
        trouble = sentences(lost.what, lost.why, lost.fix)
        return BotSpec(*shape, {}, stored.enabled, Source.PRODUCT, revision, trouble)
    return BotSpec(*shape, values, stored.enabled, Source.PRODUCT, revision)


def seal_all(box: SecretBox, secrets: Mapping[str, str]) -> str:
    """Return the encrypted secrets as JSON. Each secret is encrypted separately, because the log filter masks exactly
    the texts that were encrypted or decrypted."""
    return json.dumps({name: box.seal(secret) for name, secret in secrets.items()})


def opened_of(stored: StoredBot, box: SecretBox) -> dict[str, str]:
    """Return the secrets of a bot by name. Raise `SecretLost`."""
    return {name: box.open(secret) for name, secret in sealed_of(stored).items()}


def sealed_of(stored: StoredBot) -> Mapping[str, str]:
    """Return the encrypted secrets of a bot by name; an empty mapping if the row cannot be read."""
    return _object(stored.secrets) or {}


def _object(text: str) -> dict[str, Any] | None:
    """Parse a JSON object; return None for any other text."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def request_restart(tx: Transaction, platform: str, name: str, now: int) -> None:
    """Request a restart of a bot. The process that runs the bot restarts it when it reads the registry again."""
    tx.kv.put(_restart_key(platform, name), str(now), now)


def _rows(tx: Transaction, configured: Sequence[Key]) -> tuple[list[StoredBot], dict[Key, str]]:
    """Return the stored bots, and the time of the last requested restart of each bot ("" if no restart was
    requested)."""
    stored = tx.bots.all()
    keys = [*configured, *((bot.platform, bot.name) for bot in stored)]
    return stored, {key: tx.kv.get(_restart_key(*key)) or "" for key in keys}


def _restart_key(platform: str, name: str) -> str:
    return f"bot_restart:{platform}:{name}"

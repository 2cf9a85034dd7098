"""The whole configuration: `ConfigFile` as people write it, `Config` as the daemon uses it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, SecretStr

from arvis.config.sections import (
    AccountEntry,
    AgentEntry,
    Approvals,
    Backup,
    Budgets,
    Delivery,
    Limits,
    Model,
    PriceEntry,
    Queue,
    Retention,
    Routing,
    Scheduler,
    Section,
    Speech,
    Tools,
    Web,
)
from arvis.config.servers import Mcp, Telemetry
from arvis.config.values import IdList, Name, Raw, Refused, ReplyTokens, SecretReference, SecretText, TextList, Tokens
from arvis.domain.messages import Address
from arvis.domain.runs import Account

# The key `owners.alert_channel` names the channel in which owners get alerts about failures, as `platform:channel` or
# `platform/bot:channel`.

#: The key of `owners` that does not name a platform.
ALERT_CHANNEL = "alert_channel"

#: The default name of a bot.
_UNNAMED = "main"
_WEB = "web"
_PLACE = re.compile(r"([^:/\s]+)(?:/([^:/\s]+))?:(\S+)")
_FORM = "Write it as platform:channel or platform/bot:channel, as in slack:C0123ABC."


def alert_address(owners: Mapping[str, Sequence[str]], bots: Collection[tuple[str, str]]) -> Address | None:
    """Return the channel for alerts; None if none is configured. `bots` are the platforms and names of the configured
    bots. Raises `Refused`."""
    written = owners.get(ALERT_CHANNEL, ())
    if not written:
        return None
    match = _PLACE.fullmatch(written[0])
    if len(written) > 1 or match is None:
        raise Refused("must be one channel", _FORM)
    platform, name, channel = match.groups()
    names = sorted(bot for of, bot in bots if of == platform)
    if platform == _WEB:
        names = [_WEB]
    if name is None and len(names) > 1:
        raise Refused(
            f"does not say which bot of {platform} sends the alerts", f"Write {platform}/{names[0]}:{channel}."
        )
    return Address(platform, name or (names[0] if names else _UNNAMED), channel)


ALL_ROLES = ("connectors", "workers", "scheduler", "web")
SQLITE = "sqlite"

_LONE_PERCENT = re.compile(r"%(?![0-9a-fA-F]{2})")
_ESCAPES = "In the user and the password, write % as %25, @ as %40, / as %2F, : as %3A and # as %23."


def _known_roles(value: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [role for role in value if role not in ALL_ROLES]
    if unknown or not value or len(set(value)) < len(value):
        raise Refused(f"must name some of {', '.join(ALL_ROLES)}, each once")
    return tuple(role for role in ALL_ROLES if role in value)


def _database(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    if text != SQLITE and not text.startswith(("postgresql://", "postgres://")):
        raise Refused("must be sqlite or an address such as postgresql://user@host/name")
    if text.count("@") > 1 or _LONE_PERCENT.search(text):
        # The driver would cut the address in the middle of the password, and its error would quote a part of it.
        raise Refused("has a character in its user or password that must be escaped", _ESCAPES)
    return value


class Common(Section):
    """The keys that the file and the configuration in use have in common."""

    # Only objects of the subclasses are created. Building the checks of this class too would cost a few milliseconds at
    # the start.
    model_config = ConfigDict(defer_build=True)

    database: Annotated[SecretText, AfterValidator(_database)] = SecretStr(SQLITE)
    #: The key with which the secrets in the database are encrypted; None: the key in the data folder.
    encryption_key: SecretReference | None = None
    roles: Annotated[TextList, AfterValidator(_known_roles)] = ALL_ROLES
    web: Web = Web()
    #: The ids of users with full rights, by platform; and under `alert_channel` the channel for alerts.
    owners: Annotated[dict[Name, IdList], Field(default_factory=dict)]
    routing: Routing = Routing()
    queue: Queue = Queue()
    model: Model = Model()
    agents: tuple[AgentEntry, ...] = (AgentEntry(slug="helper", name="Helper"),)
    scheduler: Scheduler = Scheduler()
    speech: Speech = Speech()
    limits: Limits = Limits()
    delivery: Delivery = Delivery()
    approvals: Approvals = Approvals()
    tools: Tools = Tools()
    retention: Retention = Retention()
    backup: Backup = Backup()
    budgets: Budgets = Budgets()
    #: In this and the next three mappings, each key is a model, written as `name` or `provider/name`.
    model_prices: Annotated[dict[Name, PriceEntry], Field(default_factory=dict)]
    #: The window of a model, in tokens.
    context_windows: Annotated[dict[Name, Tokens], Field(default_factory=dict)]
    #: The maximum length of a model's reply, in tokens.
    reply_tokens: Annotated[dict[Name, ReplyTokens], Field(default_factory=dict)]
    #: True if the model accepts pictures.
    vision_models: Annotated[dict[Name, bool], Field(default_factory=dict)]
    mcp: Mcp = Mcp()
    telemetry: Telemetry = Telemetry()


class ConfigFile(Common):
    """The content of `config.yaml`, key by key."""

    model_config = ConfigDict(defer_build=False)

    data_dir: Name = "data"
    accounts: tuple[AccountEntry, ...] = ()
    bots: Annotated[dict[Name, tuple[Raw, ...]], Field(default_factory=dict)]


@dataclass(frozen=True, slots=True)
class BotEntry:
    """A bot with its settings as written. The connector's own `Config` checks them later."""

    platform: str
    name: str
    path: str
    #: The values contain the secrets themselves and not references to them, so they are not in the repr.
    values: Mapping[str, Any] = field(repr=False)
    #: The position of each key, such as `config.yaml, line 12`.
    places: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    #: The environment variable that created the entry; None if the file did.
    variable: str | None = None


class Config(Common):
    """The configuration in use. `config_file` is None if there is no file. If `accounts` is empty and no stored account
    exists, the demo provider answers."""

    model_config = ConfigDict(arbitrary_types_allowed=True, defer_build=False)

    config_file: Path | None
    data_dir: Path
    accounts: tuple[Account, ...]
    bots: tuple[BotEntry, ...]

    @property
    def postgres_url(self) -> str | None:
        """The address of the PostgreSQL database; None for SQLite in the data folder."""
        text = self.database.get_secret_value()
        return None if text == SQLITE else text

    @property
    def alert_channel(self) -> Address | None:
        """The channel in which owners get alerts; None: the last direct chat of an owner."""
        return alert_address(self.owners, {(bot.platform, bot.name) for bot in self.bots})

    @property
    def database_file(self) -> Path:
        return self.data_dir / "arvis.db"

    def secrets(self) -> frozenset[str]:
        """Return all secrets of the configuration, for the log filter."""
        return frozenset(self._secrets())

    def _secrets(self) -> Iterator[str]:
        if self.postgres_url is not None:
            yield self.postgres_url
        if self.encryption_key is not None:
            yield self.encryption_key.get_secret_value()
        if self.web.password is not None:
            yield self.web.password.get_secret_value()
        yield from (entry.key.get_secret_value() for entry in self.web.api_keys)
        yield from (account.api_key for account in self.accounts if account.api_key)
        for server in self.mcp.servers:
            yield from server.secrets()
        yield from self.telemetry.secrets()
        for bot in self.bots:
            yield from bot.secrets

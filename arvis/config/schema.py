"""Defines the whole configuration. `ConfigFile` is the form that people write, and `Config` is the form that the daemon
uses."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, SecretStr

from arvis.config.declarations import Section, setting
from arvis.config.entries import AccountEntry, AgentEntry
from arvis.config.search import Search
from arvis.config.sections import (
    Approvals,
    Backup,
    Browser,
    Budgets,
    Delivery,
    Embeddings,
    Knowledge,
    Limits,
    Memory,
    Model,
    PriceEntry,
    Queue,
    Retention,
    Routing,
    Scheduler,
    Tools,
    Web,
)
from arvis.config.servers import Email, Images, Mcp, Telemetry
from arvis.config.speech import Speech
from arvis.config.values import IdList, Name, Raw, Refused, ReplyTokens, SecretReference, SecretText, TextList, Tokens
from arvis.domain.dataclass import dataclass
from arvis.domain.messages import Address
from arvis.domain.regex import regex
from arvis.domain.runs import Account

# The key `owners.alert_channel` names the channel in which owners get alerts about failures, as `platform:channel` or
# `platform/bot:channel`.

#: The key of `owners` that does not name a platform.
ALERT_CHANNEL = "alert_channel"

#: The default name of a bot.
_UNNAMED = "main"
_WEB = "web"
_PLACE = regex(r"([^:/\s]+)(?:/([^:/\s]+))?:(\S+)")
_FORM = "Write it as platform:channel or platform/bot:channel, as in slack:C0123ABC."


def alert_address(owners: Mapping[str, Sequence[str]], bots: Collection[tuple[str, str]]) -> Address | None:
    """Return the channel for alerts; None if no channel is configured. `bots` are the platforms and names of the
    configured bots. Raise `Refused` if the channel is invalid."""
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
            f"must name the bot of {platform} that sends the alerts", f"Write {platform}/{names[0]}:{channel}."
        )
    return Address(platform, name or (names[0] if names else _UNNAMED), channel)


ALL_ROLES = ("connectors", "workers", "scheduler", "web")
SQLITE = "sqlite"

_LONE_PERCENT = regex(r"%(?![0-9a-fA-F]{2})")
_ESCAPES = "In the user and the password, write % as %25, @ as %40, / as %2F, : as %3A and # as %23."


def _known_roles(value: tuple[str, ...]) -> tuple[str, ...]:
    unknown = [role for role in value if role not in ALL_ROLES]
    if unknown or not value or len(set(value)) < len(value):
        raise Refused(f"must list one or more of {', '.join(ALL_ROLES)}, each only once")
    return tuple(role for role in ALL_ROLES if role in value)


def _database(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    if text != SQLITE and not text.startswith(("postgresql://", "postgres://")):
        raise Refused("must be sqlite or an address such as postgresql://user@host/name")
    if text.count("@") > 1 or _LONE_PERCENT.search(text):
        # The driver would cut the address in the middle of the password, and the driver's error would quote a part of
        # the password.
        raise Refused("has a character in its user or password that must be escaped", _ESCAPES)
    return value


#: The rules for every configuration file. The first lines of a new file contain them.
RULES = (
    "Environment variables override this file: ARVIS__WEB__PORT=6000 sets web.port. Lists are JSON or `a,b`.",
    "Write a secret as `env:NAME` (an environment variable) or `file:PATH` (relative to this file), never as plain text.",
    "Durations have a unit: 90s, 15m, 24h, 7d, 2w. `null` means none or no limit.",
    "`arvis config migrate` renames the keys of a file from an older version.",
)
_DATA = "It is the location of all other data."


class Common(Section):
    """The keys that both `ConfigFile` and `Config` have, in the order of the file."""

    #: Each subclass defines its own types for `data_dir`, `accounts` and `bots`.
    data_dir: Any
    database: Annotated[SecretText, AfterValidator(_database)] = setting(
        SecretStr(SQLITE),
        "sqlite (in the data folder), or postgresql://user@host/name, or env:DATABASE_URL",
        file_only=_DATA,
    )
    encryption_key: SecretReference | None = setting(
        None,
        "encrypts keys and variables that are entered in the dashboard: env:NAME or file:PATH; null: secrets.key in the data folder",
        file_only="A secret is named in config.yaml or the environment.",
    )
    roles: Annotated[TextList, AfterValidator(_known_roles)] = setting(
        ALL_ROLES,
        "with SQLite all four, in one process",
        file_only="It selects the parts that this process runs.",
    )
    web: Web = setting(Web.defaults(), file_only="A wrong value would shut you out of this page.")
    owners: dict[Name, IdList] = setting(
        {},
        "user ids with full rights; the first dashboard user is an owner, too",
        keys={
            "discord": ([], "Discord user ids with full rights"),
            "telegram": ([], "Telegram user ids with full rights"),
            "slack": ([], "Slack user ids with full rights"),
            "web": ([], "users of the dashboard and API with full rights, besides the first dashboard user"),
            ALERT_CHANNEL: (
                "",
                "the channel for alerts about failures: platform:channel or platform/bot:channel; empty: an owner's last direct chat",
            ),
        },
    )
    routing: Routing = setting(Routing.defaults(), at_once=True)
    queue: Queue = setting(Queue.defaults())
    model: Model = setting(Model.defaults())
    accounts: Any
    agents: tuple[AgentEntry, ...] = setting(
        (AgentEntry(slug="helper", name="Helper"),),
        "agents that the first start creates, in addition to the `conductor`; change them later in the dashboard or "
        "with `arvis agents`",
        own_page=True,
    )
    bots: Any
    scheduler: Scheduler = setting(Scheduler.defaults())
    speech: Speech = setting(Speech.defaults(), "docs/how-to/files-and-voice.md")
    images: Images = setting(Images.defaults(), "generated pictures: docs/how-to/files-and-voice.md")
    limits: Limits = setting(Limits.defaults())
    delivery: Delivery = setting(Delivery.defaults())
    approvals: Approvals = setting(Approvals.defaults())
    tools: Tools = setting(Tools.defaults(), file_only="It decides what agents may reach on this machine and network.")
    browser: Browser = setting(Browser.defaults(), "browser, with the extra `browser`: docs/how-to/browser.md")
    search: Search = setting(Search.defaults(), "web search: docs/how-to/web-search.md")
    embeddings: Embeddings = setting(
        Embeddings.defaults(), "searches by meaning: docs/how-to/agents-and-memory.md", at_once=True
    )
    knowledge: Knowledge = setting(
        Knowledge.defaults(),
        "documents that agents search: docs/how-to/knowledge.md",
        file_only="It decides which files of this machine agents can read.",
    )
    memory: Memory = setting(Memory.defaults(), "docs/how-to/agents-and-memory.md", at_once=True)
    retention: Retention = setting(Retention.defaults())
    backup: Backup = setting(Backup.defaults())
    budgets: Budgets = setting(
        Budgets.defaults(),
        "null: no limit; for a model without a price, only unpaired_daily_turns applies",
        at_once=True,
    )
    mcp: Mcp = setting(Mcp.defaults(), "servers of the Model Context Protocol: docs/how-to/mcp.md", own_page=True)
    telemetry: Telemetry = setting(
        Telemetry.defaults(),
        "traces for OpenTelemetry, with the extra `otel`: docs/how-to/telemetry.md",
        file_only="It decides where traces of all activity are sent.",
    )
    email: Email = setting(
        Email.defaults(),
        "e-mails about notifications: docs/how-to/notifications.md",
        file_only="It decides where reports about this installation are sent.",
    )
    # In the next four mappings, each key is a model, written as `name` or `provider/name`.
    model_prices: dict[Name, PriceEntry] = setting(
        {},
        "US dollars per million tokens by model: {input, output, cached, written}, in place of the built-in list prices",
        more=(
            "`cached` and `written` are for input from and into the vendor's cache. "
            "A model without a price counts as free."
        ),
        examples=(
            "openrouter/some/model: {input: 0.5, output: 1.5}",
            "gpt-4o: {input: 2.5, output: 10, cached: 1.25, written: null}",
        ),
    )
    context_windows: dict[Name, Tokens] = setting(
        {},
        "the context window of a model in tokens, for prompt and reply, in place of the built-in table",
        more=(
            "It also replaces the limit that the vendor names when it refuses a prompt. Set this for your own servers."
        ),
        examples=("custom/my-model: 32768",),
    )
    reply_tokens: dict[Name, ReplyTokens] = setting(
        {},
        "the longest reply of a model in tokens, in place of limits.reply_tokens",
        more="At most a quarter of the context is reserved for it.",
        examples=("anthropic/claude-sonnet-4-6: 16000",),
    )
    vision_models: dict[Name, bool] = setting(
        {},
        "true for a model that accepts pictures, in place of a guess from its name",
        more="A model that does not accept pictures gets a note that there is a picture.",
        examples=("custom/my-model: true",),
    )


class ConfigFile(Common):
    """The content of `config.yaml`, key by key."""

    data_dir: Name = setting("data", "relative to this file; --data and ARVIS_DATA_DIR override it", file_only=_DATA)
    accounts: tuple[AccountEntry, ...] = setting(
        (),
        "accounts at model vendors; of several, the one with the lowest `priority` is used first",
        more=(
            "Without accounts, ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY, GOOGLE_API_KEY (each also with "
            "suffix _1 … _50), OLLAMA_HOST, ANTHROPIC_BASE_URL and OPENAI_BASE_URL create them; `arvis accounts "
            "create` adds more. Without any account the built-in demo answers."
        ),
        examples=(
            "- {name: main, provider: openai, api_key: env:OPENAI_API_KEY, model: gpt-4o-mini, base_url: null, priority: 20}",
            "- {name: local, provider: custom, base_url: http://127.0.0.1:8080/v1, model: my-model}",
        ),
        own_page=True,
    )
    bots: dict[Name, tuple[Raw, ...]] = setting(
        {},
        "bots, a list per platform",
        more=(
            "Without any, DISCORD_TOKEN, TELEGRAM_TOKEN, SLACK_BOT_TOKEN with SLACK_APP_TOKEN create them. Every "
            "platform: name, agent, respond (mention, all, never), reply_in (auto, thread, channel), observe (how many "
            "messages of others the bot reads as context), allowed_channels, allow_bots, late_after, late. "
            "discord.md, telegram.md and slack.md in docs/how-to explain the other keys; every address of a platform "
            "has a key (api_url, gateway_url, file_url)."
        ),
        examples=(
            "telegram: [{name: main, token: env:TELEGRAM_TOKEN, agent: helper, delivery: at_least_once}]",
            "discord: [{name: main, token: env:DISCORD_TOKEN, agent: helper, respond: mention, observe: 20}]",
            "slack: [{name: main, bot_token: env:SLACK_BOT_TOKEN, app_token: env:SLACK_APP_TOKEN, agent: helper, reply_in: auto}]",
            "console: [{name: main, agent: helper, input: null, output: null}]    # the daemon's own terminal, or two files",
        ),
        own_page=True,
    )


@dataclass(frozen=True, slots=True)
class BotEntry:
    """A bot with its settings as the configuration contains them. The class `Config` of its connector checks them
    later."""

    platform: str
    name: str
    path: str
    #: The repr does not show the values, because they contain the secrets themselves and not references to secrets.
    values: Mapping[str, Any] = field(repr=False)
    #: The position of each key, such as `config.yaml, line 12`.
    places: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    #: The environment variable that defines the bot; None if the file defines it.
    variable: str | None = None


class Config(Common):
    """The configuration in use. `config_file` is None if there is no file. If `accounts` is empty and no stored account
    exists, the demo provider answers."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    config_file: Path | None
    data_dir: Path
    accounts: tuple[Account, ...]
    bots: tuple[BotEntry, ...]

    @property
    def postgres_url(self) -> str | None:
        """The address of the PostgreSQL database; None if the database is SQLite in the data folder."""
        text = self.database.get_secret_value()
        return None if text == SQLITE else text

    @property
    def alert_channel(self) -> Address | None:
        """The channel in which owners get alerts. None means the last direct chat of an owner."""
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
        if self.backup.passphrase is not None:
            yield self.backup.passphrase.get_secret_value()
        if self.web.password is not None:
            yield self.web.password.get_secret_value()
        yield from (entry.key.get_secret_value() for entry in self.web.api_keys)
        yield from (account.api_key for account in self.accounts if account.api_key)
        for server in self.mcp.servers:
            yield from server.secrets()
        yield from self.telemetry.secrets()
        yield from self.email.secrets()
        yield from self.search.secrets()
        yield from self.browser.secrets()
        for bot in self.bots:
            yield from bot.secrets

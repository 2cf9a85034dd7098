"""The sections of `config.yaml`: every key with its type, limits and default.

`loading` checks rules that depend on several sections or on the machine.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from arvis.config.values import (
    Amount,
    IdList,
    Milliseconds,
    Name,
    Positive,
    Refused,
    ReplyTokens,
    SecretText,
    Slug,
    TextList,
    Timezone,
    Url,
    Whole,
    at_least,
)
from arvis.domain.agents import Agent, Binding, Permission, graph_named
from arvis.domain.messages import Respond
from arvis.domain.money import MICROS, SpendingLimits
from arvis.domain.tools import Permit


class Section(BaseModel):
    """A part of the configuration. It is frozen, and unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True, protected_namespaces=())


class ApiKey(Section):
    """A key of the API. For a chat key, `agents` are the slugs of the agents that it may use; empty: all agents without
    risky tools."""

    key: SecretText
    role: Literal["owner", "operator", "viewer", "chat"] = "owner"
    agents: TextList = ()


def _bare_key(value: object) -> object:
    return {"key": value} if isinstance(value, str) else value


def _bare_keys(value: object) -> object:
    return [value] if isinstance(value, str) else value


class Web(Section):
    """The web server."""

    host: Annotated[str, Field(min_length=1, max_length=255)] = "127.0.0.1"
    #: 0 selects a free port.
    port: Annotated[Whole, Field(ge=0, le=65535)] = 5070
    api_keys: Annotated[tuple[Annotated[ApiKey, BeforeValidator(_bare_key)], ...], BeforeValidator(_bare_keys)] = ()
    #: The password of the first user until one is set in the dashboard.
    password: SecretText | None = None
    #: A login ends this long (ms) after its last use.
    session_idle_timeout: Annotated[Milliseconds, AfterValidator(at_least("30m"))] = 43_200_000
    #: A login ends this long (ms) after it began.
    session_max_age: Annotated[Milliseconds, AfterValidator(at_least("12h"))] = 2_592_000_000
    allowed_hosts: TextList = ()
    allowed_origins: tuple[Url, ...] = ()
    public_url: Url | None = None


class Routing(Section):
    """The agents for messages that match no rule. `fallback` is `drop` (no agent), `conductor` or an agent's slug. `drop`
    applies to groups; over the web the conductor answers instead."""

    fallback: Slug = "drop"
    conductor_channel: str | None = None


class Queue(Section):
    """The settings of the queue. At least two workers are needed, because background work never takes the last one."""

    workers: Annotated[Whole, Field(ge=2, le=256)] = 8
    max_attempts: Annotated[Whole, Field(ge=1, le=20)] = 3
    retry_base_seconds: Positive = 60
    lease_seconds: Annotated[Positive, Field(ge=1, le=3600)] = 30
    delivery_workers: Annotated[Whole, Field(ge=1, le=256)] = 8


class Model(Section):
    """Time limits of a model call in seconds: for the whole call, for the silence between two pieces, and for the
    silence before the first byte if another account could answer. `summarizer` is the model that writes summaries and
    extracts facts (None: the agent's model)."""

    summarizer: Name | None = None
    timeout_seconds: Positive = 600
    idle_seconds: Positive = 120
    first_byte_seconds: Positive = 20


class Channel(Section):
    """A channel that an agent is bound to, written `platform:channel` or as a mapping."""

    platform: str
    channel: str
    permission: Permission = Permission.FULL
    respond: Respond | None = None
    observe: Whole | None = None


def _bare_channel(value: object) -> object:
    if not isinstance(value, str):
        return value
    platform, _, channel = value.partition(":")
    return {"platform": platform, "channel": channel}


class AgentEntry(Section):
    """An agent that the first start creates; later starts use the agent in the database. `arvis.domain.agents` checks
    the values, because agents are also created elsewhere."""

    slug: str
    name: str
    role: str = "custom"
    description: str = ""
    prompt: str = ""
    model: str | None = None
    fallbacks: TextList = ()
    tools: TextList = ()
    graph: str = "agent"
    ends: str = "implicit"
    context_tokens: Whole | None = 96_000
    timezone: str | None = None
    allow_users: IdList | None = None
    on_new_message: Literal["queue", "steer", "restart"] | None = None
    plugins: TextList = ()
    handoff_to: TextList = ()
    channels: tuple[Annotated[Channel, BeforeValidator(_bare_channel)], ...] = ()

    @property
    def agent(self) -> Agent:
        """The agent, with an empty id."""
        fields = self.model_dump(exclude={"channels", "graph", "ends", "handoff_to"})
        return Agent(id="", **fields, graph=graph_named(self.graph), completion=self.ends, helpers=self.handoff_to)

    @property
    def bindings(self) -> tuple[Binding, ...]:
        """The channels in which the agent answers, with an empty agent id."""
        return tuple(
            Binding(each.platform, each.channel, "", each.permission, each.respond, each.observe)
            for each in self.channels
        )


class AccountEntry(Section):
    """An account as written; `arvis.config.accounts` converts it to the domain's `Account`. `models` are the models
    that the account serves; empty: all models of its vendor."""

    name: Name
    provider: Literal["demo", "anthropic", "openai", "google", "ollama", "openrouter", "custom", "claude_cli"]
    model: Name | None = None
    models: TextList = ()
    api_key: SecretText | None = None
    base_url: Url | None = None
    priority: Annotated[Whole, Field(ge=0, le=10_000)] = 100


class Scheduler(Section):
    poll_seconds: Annotated[Positive, Field(ge=1, le=3600)] = 10
    timezone: Timezone = "UTC"


class SpeechBuffer(Section):
    """The limits that decide when speech over the socket becomes a message."""

    #: The pause in seconds after a complete thought.
    pause_seconds: Annotated[Positive, Field(le=60)] = 1.5
    #: The silence in seconds after any other text.
    silence_seconds: Annotated[Positive, Field(le=60)] = 3
    #: The longest time in seconds from the first chunk.
    longest_seconds: Annotated[Positive, Field(le=600)] = 15
    #: A text with fewer characters waits for more text or for silence.
    least_characters: Annotated[Whole, Field(ge=0, le=1000)] = 20
    #: The languages whose words begin and end a thought; empty: all supported languages.
    languages: TextList = ()

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.pause_seconds <= self.silence_seconds <= self.longest_seconds:
            raise Refused(
                "must have `pause_seconds` of at most `silence_seconds`, and `silence_seconds` of at most "
                "`longest_seconds`"
            )
        return self


class SpeechToText(Section):
    """The engine that transcribes voice messages. `model` null: `base` for an engine on this machine, `whisper-1` for
    the API."""

    engine: Literal["none", "openai-whisper", "faster-whisper", "openai-api", "command"] = "none"
    model: Name | None = None
    language: str | None = None
    command: Name | None = None

    @model_validator(mode="after")
    def _command_is_named(self) -> Self:
        if self.engine == "command" and self.command is None:
            raise Refused("must name the `command` to run, because `engine` asks for one")
        return self


class TextToSpeech(Section):
    """The engine that reads replies to voice messages aloud."""

    engine: Literal["none", "openai-api", "command"] = "none"
    model: Name = "gpt-4o-mini-tts"
    command: Name | None = None
    voice: Name = "alloy"

    @model_validator(mode="after")
    def _command_is_named(self) -> Self:
        if self.engine == "command" and self.command is None:
            raise Refused("must name the `command` to run, because `engine` asks for one")
        return self


class Speech(Section):
    """The speech engines. `base_url` and `api_key` are used by `openai-api` for both directions."""

    stt: SpeechToText = SpeechToText()
    tts: TextToSpeech = TextToSpeech()
    base_url: Url | None = None
    api_key: SecretText | None = None
    #: The maximum length of a voice message, in minutes.
    minutes: Annotated[Positive, Field(le=600)] = 10
    #: The memory limit in MB of an engine or command that runs on this machine.
    memory_mb: Annotated[Whole, Field(ge=256, le=262_144)] = 4096
    buffer: SpeechBuffer = SpeechBuffer()


class Limits(Section):
    """The limits of messages, replies, files, turns, delegations and schedules. None: no limit."""

    message_bytes: Annotated[Whole, Field(ge=1, le=16_777_216)] = 262_144
    reply_tokens: ReplyTokens = 4_096
    reply_bytes: Annotated[Whole, Field(ge=1, le=16_777_216)] = 262_144
    attachment_bytes: Annotated[Whole, Field(ge=0, le=1_073_741_824)] = 20_971_520
    max_tool_rounds: Annotated[Whole, Field(ge=0, le=100)] = 5
    max_iterations: Annotated[Whole, Field(ge=1, le=500)] = 40
    #: The maximum depth of delegations, their maximum number in one answer, and their maximum number from one message.
    delegation_depth: Annotated[Whole, Field(ge=0, le=20)] = 3
    delegation_fan_out: Annotated[Whole, Field(ge=0, le=64)] = 5
    delegation_jobs: Annotated[Whole, Field(ge=0, le=500)] = 20
    crons_per_agent: Annotated[Whole, Field(ge=0, le=1000)] = 10
    heartbeats_per_agent: Annotated[Whole, Field(ge=0, le=1000)] = 10
    reminders_per_person: Annotated[Whole, Field(ge=0, le=1000)] = 20
    #: The limit of each member. An operator has ten times this limit; an owner has no limit.
    messages_per_minute: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = 120
    #: The limit of each member. Operators and owners have ten times this limit.
    upload_bytes_per_day: Annotated[Whole, Field(ge=1, le=1_099_511_627_776)] | None = 536_870_912
    #: The limits of the folder in which agents run programs.
    workspace_bytes: Annotated[Whole, Field(ge=1_048_576, le=1_099_511_627_776)] | None = 1_073_741_824
    workspace_files: Annotated[Whole, Field(ge=100, le=100_000_000)] | None = 20_000


class Delivery(Section):
    """The rules for late and long replies. Durations are in milliseconds."""

    answer_within: Milliseconds = 3_600_000
    late_after: Milliseconds = 900_000
    late: Literal["mark", "drop"] = "mark"
    max_parts: Annotated[Whole, Field(ge=1, le=100)] = 5
    telegram: Literal["at_least_once", "at_most_once", "reserve_then_fill"] = "at_least_once"


class Tools(Section):
    """The rules for tools."""

    #: The address of the web search.
    search_url: Url = "https://api.duckduckgo.com/"
    #: The private hosts, as `host` or `host:port`, from which agents may fetch. They may fetch from no other private
    #: host.
    allow_hosts: TextList = ()
    #: The Python packages that may be installed for the scripts of the graph `code`; `*` means any package.
    packages: TextList = ()


class Approvals(Section):
    """The rules for approvals."""

    #: The permission (`never`, `ask` or `always`) of a tool, of `server.*` or of a risk.
    policy: dict[Name, Permit] = Field(default_factory=dict)
    #: In milliseconds.
    deadline: Milliseconds = 86_400_000
    on_expiry: Literal["reject", "approve"] = "reject"
    approvers: Literal["owners", "operators"] | TextList = "owners"


class Retention(Section):
    compacted_days: Annotated[Whole, Field(ge=1, le=36_500)] = 30
    finished_jobs_days: Annotated[Whole, Field(ge=1, le=36_500)] = 30
    timeline_days: Annotated[Whole, Field(ge=1, le=36_500)] = 90
    logs_days: Annotated[Whole, Field(ge=1, le=36_500)] = 14


class Backup(Section):
    """The rules for backups. `every` is in milliseconds; `keep` is the number of backups that are kept."""

    every: Milliseconds = 86_400_000
    keep: Annotated[Whole, Field(ge=1, le=1000)] = 7


class Budgets(Section):
    """Budgets in US dollars, and turns per day for each unpaired person; null: no limit."""

    daily_usd: Amount | None = 5
    per_agent_daily_usd: Amount | None = None
    per_principal_daily_usd: Amount | None = None
    per_principal_daily_percent: Annotated[Whole, Field(ge=1, le=100)] | None = 50
    per_client_monthly_usd: Amount | None = None
    per_turn_usd: Amount | None = 1
    unpaired_daily_turns: Annotated[Whole, Field(ge=0)] | None = 50

    def limits(self, zone: str) -> SpendingLimits:
        """Return the budgets in whole micros. Days and months are those of the time zone."""
        return SpendingLimits(
            daily=_micros(self.daily_usd),
            per_agent_daily=_micros(self.per_agent_daily_usd),
            per_principal_daily=_micros(self.per_principal_daily_usd),
            share=self.per_principal_daily_percent,
            per_client_monthly=_micros(self.per_client_monthly_usd),
            per_turn=_micros(self.per_turn_usd),
            unpaired_daily_turns=self.unpaired_daily_turns,
            zone=zone,
        )


def _micros(dollars: float | None) -> int | None:
    return None if dollars is None else round(dollars * MICROS)


class PriceEntry(Section):
    """The price of a model in US dollars per million tokens."""

    input: Amount
    output: Amount
    #: The price of input that the vendor reads from its cache (null: the price of other input).
    cached: Amount | None = None
    #: The price of input that the vendor stores in its cache (null: the price of other input).
    written: Amount | None = None

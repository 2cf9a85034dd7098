"""Defines most sections of `config.yaml`. Each key has its type, limits, default and description here.

The modules `entries`, `speech` and `servers` define the sections for agents and accounts, for speech, and for servers.
`loading` checks the rules that depend on several sections or on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from arvis.config.declarations import Section, setting
from arvis.config.values import (
    Amount,
    Milliseconds,
    Name,
    Positive,
    Refused,
    ReplyTokens,
    SecretReference,
    SecretText,
    Slug,
    TextList,
    Timezone,
    Url,
    Whole,
    at_least,
)
from arvis.domain.embeddings import EmbeddingModel
from arvis.domain.money import MICROS, SpendingLimits
from arvis.domain.tools import Permit

#: The minimum number of characters of the passphrase of backups.
_SHORTEST_PASSPHRASE = 12
#: The minimum number of characters of a part of an endpoint's path or query that counts as a key. Shorter parts count
#: as words.
_SHORTEST_KEY = 12


class ApiKey(Section):
    """A key of the API."""

    key: SecretText = Field(description="env:NAME or file:PATH; the text `env:NAME` alone is a key of an owner")
    role: Literal["owner", "operator", "viewer", "chat"] = setting(
        "owner", "the rights of programs that use the key: docs/how-to/dashboard-access.md"
    )
    agents: TextList = setting(
        (), "slugs of the agents that a chat key may use; empty: all agents that have no risky tools"
    )


def _bare_key(value: object) -> object:
    return {"key": value} if isinstance(value, str) else value


def _bare_keys(value: object) -> object:
    return [value] if isinstance(value, str) else value


class Web(Section):
    """The web server."""

    host: Annotated[str, Field(min_length=1, max_length=255)] = setting(
        "127.0.0.1", "any other address needs a password or an API key"
    )
    port: Whole = setting(5070, "0 selects a free port", ge=0, le=65535)
    api_keys: Annotated[tuple[Annotated[ApiKey, BeforeValidator(_bare_key)], ...], BeforeValidator(_bare_keys)] = (
        setting((), "env:NAME (an owner's key), or {key: env:NAME, role: owner|operator|viewer|chat, agents: []}")
    )
    password: SecretText | None = setting(
        None,
        "password of the dashboard user `owner` until one is set in the dashboard: env:NAME or file:PATH; null: log in by a link",
    )
    session_idle_timeout: Annotated[Milliseconds, AfterValidator(at_least("30m"))] = setting(
        43_200_000, "a login ends this long after its last use; at least 30m"
    )
    session_max_age: Annotated[Milliseconds, AfterValidator(at_least("12h"))] = setting(
        2_592_000_000, "a login ends this long after it began; at least 12h"
    )
    allowed_hosts: TextList = setting(
        (), "host names under which browsers may open the dashboard, besides the host above"
    )
    allowed_origins: tuple[Url, ...] = setting(
        (), "other web sites whose pages may call /v1 with a key, such as https://chat.example.org"
    )
    public_url: Url | None = setting(None, "the public address of the dashboard, such as https://arvis.example.org")


class Routing(Section):
    """The agents for messages that match no rule. If the fallback is `drop`, no agent answers such a message in a
    group. In the dashboard and the API, the first agent that the person may use answers it, beginning with the
    conductor."""

    fallback: Slug = setting(
        "drop",
        "for messages that match no rule: drop, conductor or an agent's slug; in the dashboard and API, `drop` "
        "means the first agent that the person may use, beginning with the conductor",
    )
    conductor_channel: str | None = setting(None, "id of a channel in which the conductor answers; null: none")


class Queue(Section):
    workers: Whole = setting(
        8, "turns that run at the same time, at least 2: background work never takes the last worker", ge=2, le=256
    )
    max_attempts: Whole = setting(3, "the number of attempts after which a job counts as failed", ge=1, le=20)
    retry_base_seconds: Positive = setting(60, "the delay after the n-th error is 2^n times this, in seconds")
    lease_seconds: Positive = setting(30, "a worker that is silent for this long loses its job", ge=1, le=3600)
    delivery_workers: Whole = setting(8, "deliveries that are sent at the same time", ge=1, le=256)


class Model(Section):
    """The time limits of a model call, and the model for summaries and the extraction of facts."""

    summarizer: Name | None = setting(
        None, "`provider/model` that summarizes long conversations; null: the agent's own model"
    )
    timeout_seconds: Positive = setting(600, "longest duration of one model call, in seconds")
    idle_seconds: Positive = setting(120, "longest silence between two pieces of a stream, in seconds")
    first_byte_seconds: Positive = setting(
        20, "longest silence before the first byte while another account could answer, in seconds"
    )


class Embeddings(Section):
    """The model that embeds messages, facts and documents, so that searches also find texts with a similar meaning."""

    account: Name | None = setting(
        None,
        "the account of a vendor (openai, openrouter, custom, ollama or google) that gets the texts of messages, "
        "facts and documents; null: none",
    )
    model: Name | None = setting(
        None, "a model for embeddings, such as text-embedding-3-small or nomic-embed-text; null: texts are not embedded"
    )
    dimensions: Annotated[Whole, Field(ge=64, le=4096)] | None = setting(
        None, "the dimensions of a vector, if the model can shorten its vectors; null: the model's own dimensions"
    )
    texts_per_minute: Whole = setting(
        600, "the largest number of stored texts that are embedded in a minute", ge=1, le=1_000_000
    )

    @property
    def choice(self) -> EmbeddingModel | None:
        """Return the account and the model; None if texts are not embedded."""
        if self.account is None or self.model is None:
            return None
        return EmbeddingModel(self.account, self.model, self.dimensions)


class Memory(Section):
    """The memory of agents."""

    consolidation_daily_usd: Amount | None = setting(
        None,
        "the daily budget of each agent for merging duplicate and contradictory facts; null: facts are not merged",
    )


class Scheduler(Section):
    poll_seconds: Positive = setting(
        10, "longest time between two checks, in case the clock changes or a notification is lost", ge=1, le=3600
    )
    timezone: Timezone = setting("UTC", "time zone for the days and months of budgets, and for schedules without one")


class Limits(Section):
    """The limits of messages, replies, files, turns, delegations and schedules. None means no limit."""

    message_bytes: Whole = setting(262_144, "the largest message, in bytes", ge=1, le=16_777_216)
    reply_tokens: ReplyTokens = setting(
        4_096,
        "the longest reply of one model call, in tokens; a longer reply is continued, and finally cut, with a note",
    )
    continuations: Whole = setting(
        2, "the largest number of times that a reply which reached its limit of tokens is continued", ge=0, le=20
    )
    reply_bytes: Whole = setting(262_144, "the largest reply, in bytes", ge=1, le=16_777_216)
    attachment_bytes: Whole = setting(20_971_520, "the largest attachment, in bytes", ge=0, le=1_073_741_824)
    max_tool_rounds: Whole = setting(5, "the largest number of model calls with tool calls in one turn", ge=0, le=100)
    max_iterations: Whole = setting(
        40, "the largest number of times that an agent continues by itself in one task", ge=1, le=500
    )
    delegation_depth: Whole = setting(
        3, "the largest number of times that a task is passed on from agent to agent", ge=0, le=20
    )
    delegation_fan_out: Whole = setting(5, "tasks that one answer may give", ge=0, le=64)
    delegation_jobs: Whole = setting(20, "tasks that may follow from one message", ge=0, le=500)
    crons_per_agent: Whole = setting(10, "crons that one agent may have", ge=0, le=1000)
    heartbeats_per_agent: Whole = setting(10, "heartbeats that one agent may have", ge=0, le=1000)
    reminders_per_person: Whole = setting(
        20, "reminders that agents create with the tool `schedule`, per person", ge=0, le=1000
    )
    messages_per_minute: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = setting(
        120, "messages per person and minute; operators: ten times as many, owners: no limit; null: no limit"
    )
    workspace_bytes: Annotated[Whole, Field(ge=1_048_576, le=1_099_511_627_776)] | None = setting(
        1_073_741_824, "size limit of a conversation's folder, in which agents run programs; null: no limit"
    )
    workspace_files: Annotated[Whole, Field(ge=100, le=100_000_000)] | None = setting(
        20_000, "the largest number of files in a conversation's folder; null: no limit"
    )
    upload_bytes_per_day: Annotated[Whole, Field(ge=1, le=1_099_511_627_776)] | None = setting(
        536_870_912, "uploads per person and day, in bytes; operators and owners: ten times as much; null: no limit"
    )


class Delivery(Section):
    """The rules for late and long replies."""

    answer_within: Milliseconds = setting(
        3_600_000, "Arvis does not answer messages that are older than this, and no retry waits longer"
    )
    late_after: Milliseconds = setting(
        900_000, "a reply is late if it waits longer than this before Arvis first tries to send it"
    )
    late: Literal["mark", "drop"] = setting("mark", "what happens to a late reply: mark or drop")
    max_parts: Whole = setting(5, "messages for one reply; longer replies continue in a file", ge=1, le=100)
    telegram: Literal["at_least_once", "at_most_once", "reserve_then_fill"] = setting(
        "at_least_once", "at_least_once, at_most_once or reserve_then_fill"
    )


class Approvals(Section):
    """The rules for approvals."""

    deadline: Milliseconds = setting(86_400_000, "how long an approval waits for its answer")
    on_expiry: Literal["reject", "approve"] = setting("reject", "reject or approve")
    approvers: Literal["owners", "operators"] | TextList = setting(
        "owners",
        "owners, operators, or people besides the owners: [discord:1234, web:ann]; any one of them is enough",
    )
    policy: dict[Name, Permit] = setting(
        {},
        "never, ask or always, by tool (run_shell), by server.*, or by risk: read, egress, write, exec, money",
        at_once=True,
    )


class Tools(Section):
    """The rules for tools."""

    allow_hosts: TextList = setting(
        (), "private hosts (`host` or `host:port`) that agents may fetch from; all others are blocked"
    )
    packages: TextList = setting(
        (), 'Python packages that agents with the graph `code` may install; "*": any package: docs/how-to/code.md'
    )


def _endpoint(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    try:
        parts = urlsplit(text)
        usable = parts.scheme in {"http", "https", "ws", "wss"} and bool(parts.hostname)
        _ = parts.port
    except ValueError:
        usable = False
    if not usable or not text.isascii() or not text.isprintable() or " " in text:
        raise Refused(
            "must be the address of a browser's DevTools",
            "Write for example http://127.0.0.1:9222 or wss://browser.example/?token=…, or env:NAME.",
        )
    return value


class Browser(Section):
    """The browser of the tools `browser_…`."""

    executable: Name | None = setting(
        None,
        "the path of Chromium; null: chromium-headless-shell, chromium or google-chrome, the first one that is installed",
        file_only="It starts a program on this machine.",
    )
    endpoint: Annotated[SecretText, AfterValidator(_endpoint)] | None = setting(
        None,
        "a remote browser that is used instead: the http(s):// or ws(s):// address of its DevTools, or env:NAME; "
        "docs/how-to/browser.md#remote-browser",
        file_only="It receives the pages and logins of agents.",
    )
    browsers: Whole = setting(2, "browsers that run at the same time; each agent has its own", ge=1, le=32)
    pages: Whole = setting(
        8, "open pages of one agent; another page closes the one that was unused for the longest time", ge=1, le=50
    )
    memory_bytes: Whole = setting(
        2_147_483_648, "the memory of one browser; it is ended if it needs more", ge=536_870_912, le=68_719_476_736
    )
    profile_bytes: Whole = setting(
        1_073_741_824, "the profile of one agent on the disk; the browser is ended if it is larger", ge=104_857_600
    )
    idle: Milliseconds = setting(600_000, "a browser that is unused for this long is ended")
    navigation: Milliseconds = setting(30_000, "longest wait for a page")
    download_bytes: Whole = setting(26_214_400, "the largest file that is downloaded, in bytes", ge=1, le=268_435_456)
    text_chars: Whole = setting(
        12_000, "the longest part of a page that a model gets at once, in characters", ge=1_000, le=30_000
    )

    def secrets(self) -> Iterator[str]:
        """Yield the values that must never be shown: the endpoint, and its parts that may be keys."""
        if self.endpoint is None:
            return
        text = self.endpoint.get_secret_value()
        parts = urlsplit(text)
        if parts.password:
            yield from {parts.password, unquote(parts.password)}
        if parts.password or parts.query or parts.path.strip("/"):
            yield text
        inner = (*(value for _, value in parse_qsl(parts.query)), *parts.path.split("/"))
        yield from (part for part in inner if len(part) >= _SHORTEST_KEY)


def _folder(value: str) -> str:
    if not Path(value).is_absolute() or ".." in Path(value).parts:
        raise Refused("must be an absolute path", "Write for example /srv/handbook.")
    return str(Path(value))


class KnowledgeFolder(Section):
    """A folder on this machine whose files are documents of a knowledge base."""

    path: Annotated[Name, AfterValidator(_folder)] = Field(description="the absolute path of the folder")
    knowledge_base: Slug = Field(description="the slug of the knowledge base; it is created if it does not exist")
    every: Annotated[Milliseconds, AfterValidator(at_least("1m"))] = setting(
        3_600_000, "the interval of the checks for changed files; the shortest interval applies to all folders"
    )


class Knowledge(Section):
    """Knowledge bases."""

    folders: tuple[KnowledgeFolder, ...] = setting(
        (),
        "folders on this machine whose files agents can search",
        examples=("- {path: /srv/handbook, knowledge_base: handbook, every: 1h}",),
    )


class Retention(Section):
    compacted_days: Whole = setting(
        30,
        "days for which messages that a summary replaced, and inactive versions of conversations, can be restored",
        ge=1,
        le=36_500,
    )
    finished_jobs_days: Whole = setting(30, "days for which finished jobs are kept", ge=1, le=36_500)
    timeline_days: Whole = setting(90, "days for which the history of each message is kept", ge=1, le=36_500)
    deliveries_days: Whole = setting(
        90, "days for which sent deliveries are kept; their messages stay", ge=1, le=36_500
    )
    usage_days: Whole = setting(730, "days for which the receipts of model calls are kept", ge=1, le=36_500)
    audit_days: Whole = setting(730, "days for which the audit log is kept", ge=1, le=36_500)
    facts_days: Whole = setting(
        365, "days for which replaced, ended and faded facts, and the changes of facts, are kept", ge=1, le=36_500
    )
    logs_days: Whole = setting(14, "days for which log files are kept", ge=1, le=36_500)


def _passphrase(value: SecretStr) -> SecretStr:
    if len(value.get_secret_value()) < _SHORTEST_PASSPHRASE:
        raise Refused(f"must have at least {_SHORTEST_PASSPHRASE} characters", "Use several words.")
    return value


class Backup(Section):
    every: Milliseconds = setting(86_400_000, "the time between two backups")
    keep: Whole = setting(7, "the number of backups that are kept", ge=1, le=1000)
    passphrase: Annotated[SecretReference, AfterValidator(_passphrase)] | None = setting(
        None,
        "encrypts backups, which then include secrets.key: env:NAME or file:PATH, at least 12 characters; null: not encrypted",
        file_only="A secret is named in config.yaml or the environment.",
    )
    command: TextList = setting(
        (),
        "a program that runs after each backup, as a list of arguments, such as [rclone, copy, $ARVIS_BACKUP_FILE, remote:arvis]; no shell",
        file_only="It starts a program on this machine.",
    )
    command_timeout: Milliseconds = setting(3_600_000, "the program is ended after this time")


class Budgets(Section):
    """The budgets in US dollars, and the turns per day for each unpaired person. None means no limit."""

    daily_usd: Amount | None = setting(5, "all model calls of a day; null: no limit")
    per_agent_daily_usd: Amount | None = setting(None, "model calls of one agent on a day; null: no limit")
    per_principal_daily_usd: Amount | None = setting(
        None, "model calls that one person causes on a day; null: no limit"
    )
    per_principal_daily_percent: Annotated[Whole, Field(ge=1, le=100)] | None = setting(
        50, "share of daily_usd for each person except owners, once several such people are known"
    )
    per_client_monthly_usd: Amount | None = setting(None, "model calls for one customer in a month; null: no limit")
    per_turn_usd: Amount | None = setting(1, "model calls for one message; null: no limit")
    unpaired_daily_turns: Annotated[Whole, Field(ge=0)] | None = setting(
        50, "turns per day for each person who is neither paired nor listed in allow_users; null: no limit"
    )

    def limits(self, zone: str) -> SpendingLimits:
        """Return the budgets in whole micros. Days and months begin at midnight in the time zone."""
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

    input: Amount = Field(description="price of input, in US dollars per million tokens")
    output: Amount = Field(description="price of output, in US dollars per million tokens")
    cached: Amount | None = setting(
        None, "price of input that the vendor reads from its cache; null: the price of other input"
    )
    written: Amount | None = setting(
        None, "price of input that the vendor stores in its cache; null: the price of other input"
    )

"""The catalog of settings: the key, kind, default and description of each, and whether it can be changed in the
dashboard.

A test compares the descriptions with the comments of `config.yaml`; keys without a comment there are described only
here. The descriptions cannot be read from the file, because an installed Arvis has no `config.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any

from pydantic import BaseModel, SecretStr

from arvis.config.schema import ALERT_CHANNEL, SQLITE, Config, ConfigFile
from arvis.config.sections import Section
from arvis.config.values import duration_text

SET, NOT_SET = "set", "not set"

#: The sections that have separate pages and are not in the catalog.
_ELSEWHERE = frozenset({"accounts", "agents", "bots", "mcp"})
_OWNERS, _DATABASE = "owners", "database"
_PLATFORMS = ("discord", "telegram", "slack", "web", ALERT_CHANNEL)

#: The sections that can be changed only in the file, with the reason.
_FILE_ONLY: Mapping[str, str] = {
    "data_dir": "It is the location of all other data.",
    "database": "It is the location of all other data.",
    "encryption_key": "A secret is named in config.yaml or the environment.",
    "roles": "It selects the parts that this process runs.",
    "web": "A wrong value would shut you out of this page.",
    "tools": "It decides what agents may reach on this machine and network.",
    "telemetry": "It says where traces of all activity are sent.",
}
#: The single keys that can be changed only in the file, with the reason.
_KEYS_FILE_ONLY: Mapping[str, str] = {
    "speech.api_key": "A secret is named in config.yaml or the environment.",
    "speech.base_url": "A stored key would be sent to the new address.",
    "speech.stt.command": "It names a program that runs on this machine.",
    "speech.stt.model": "It may name a file on this machine.",
    "speech.tts.command": "It names a program that runs on this machine.",
}
#: The beginnings of the keys whose changes take effect immediately, because the daemon reads them at each use. Other
#: keys are read at the start.
_AT_ONCE = ("budgets.", "routing.", "approvals.policy")


class Kind(StrEnum):
    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    TEXT = "text"
    CHOICE = "choice"
    DURATION = "duration"
    LIST = "list"
    MAPPING = "mapping"
    SECRET = "secret"  # noqa: S105 - a kind of value


@dataclass(frozen=True, slots=True)
class Setting:
    """A key of the configuration, as the API and the dashboard show it."""

    key: str
    kind: Kind
    default: Any
    #: The permitted texts. If the setting is a list, its value is a list or one of these texts.
    choices: Sequence[str] = ()
    minimum: float | None = None
    maximum: float | None = None
    #: True if the value may be null.
    nullable: bool = False
    #: The reason why it cannot be changed in the dashboard; empty if it can.
    fixed: str = ""
    #: True if a change takes effect without a restart.
    at_once: bool = False

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(self.key.split("."))

    @property
    def words(self) -> str:
        return WORDS.get(self.key, "user ids with full rights" if self.path[0] == _OWNERS else "")

    def value_in(self, config: Config) -> Any:
        """Return the value as it would be written in the file. For a secret, return only whether it is set."""
        return written(self, _at(config, self.path))


@cache
def _schema() -> Mapping[str, Any]:
    return ConfigFile.model_json_schema()


def catalog(platforms: Iterable[str] = ()) -> Sequence[Setting]:
    """Return all settings, in the order of the file. `platforms` are additional platforms that can have owners."""
    return tuple(_settings(ConfigFile, (), platforms))


def _settings(section: type[BaseModel], above: tuple[str, ...], platforms: Iterable[str]) -> Iterator[Setting]:
    for name, field in section.model_fields.items():
        path = (*above, name)
        inner = field.annotation
        if not above and name in _ELSEWHERE:
            continue
        if path == (_OWNERS,):
            names = dict.fromkeys((*_PLATFORMS, *platforms))
            yield from (_setting((*path, each), {"type": "array"}, ()) for each in names)
        elif isinstance(inner, type) and issubclass(inner, Section):
            yield from _settings(inner, path, platforms)
        else:
            yield _setting(path, _schema_of(section, above, name), field.get_default(call_default_factory=True))


def _schema_of(section: type[BaseModel], above: tuple[str, ...], name: str) -> Mapping[str, Any]:
    whole = _schema()
    found: Mapping[str, Any] = (whole if not above else whole["$defs"][section.__name__])["properties"][name]
    return found


def _setting(path: tuple[str, ...], schema: Mapping[str, Any], default: Any) -> Setting:
    key = ".".join(path)
    forms = schema.get("anyOf", [schema])
    real = [form for form in forms if form.get("type") != "null"]
    bounds = {name: value for form in real for name, value in form.items() if name in _BOUNDS}
    fixed = _KEYS_FILE_ONLY.get(key) or _FILE_ONLY.get(path[0], "")
    setting = Setting(
        key=key,
        kind=_kind(key, real),
        default=None,
        choices=tuple(str(value) for form in real for value in form.get("enum", ())),
        minimum=next((bounds[name] for name in ("minimum", "ge", "exclusiveMinimum", "gt") if name in bounds), None),
        maximum=next((bounds[name] for name in ("maximum", "le") if name in bounds), None),
        nullable=len(real) < len(forms),
        fixed=fixed,
        at_once=not fixed and key.startswith(_AT_ONCE),
    )
    return _with_default(setting, default)


_BOUNDS = frozenset({"minimum", "ge", "exclusiveMinimum", "gt", "maximum", "le"})


def _with_default(setting: Setting, default: Any) -> Setting:
    fields = {name: getattr(setting, name) for name in Setting.__slots__}
    return Setting(**{**fields, "default": written(setting, default)})


def _kind(key: str, forms: Sequence[Mapping[str, Any]]) -> Kind:
    if key == "web.api_keys" or (key != _DATABASE and any(_is_secret(form) for form in forms)):
        return Kind.SECRET
    kinds = {form.get("type") for form in forms}
    if "array" in kinds:
        return Kind.LIST
    if "object" in kinds:
        return Kind.MAPPING
    if any("enum" in form for form in forms):
        return Kind.CHOICE
    if any(form.get("format") == "duration" for form in forms):
        return Kind.DURATION
    return next((kind for kind in (Kind.BOOLEAN, Kind.INTEGER, Kind.NUMBER) if kind.value in kinds), Kind.TEXT)


def _is_secret(form: Mapping[str, Any]) -> bool:
    """Return whether a value is secret, or is a mapping with secret values."""
    within = form.get("additionalProperties")
    return form.get("format") == "password" or (isinstance(within, Mapping) and within.get("format") == "password")


def written(setting: Setting, value: Any) -> Any:
    """Return a value of the configuration as plain JSON, without secrets."""
    if setting.kind is Kind.SECRET:
        return SET if value else NOT_SET
    if setting.key == _DATABASE and isinstance(value, SecretStr):
        # An address may contain a password, so only the kind of database is shown.
        return SQLITE if value.get_secret_value() == SQLITE else "postgresql"
    if setting.kind is Kind.DURATION and isinstance(value, int):
        return duration_text(value)
    return _plain(value)


def _plain(value: Any) -> Any:
    match value:
        case SecretStr():
            return SET
        case BaseModel():
            return value.model_dump(mode="json")
        case StrEnum():
            return str(value)
        case tuple() | list():
            return [_plain(item) for item in value]
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)


def _at(config: BaseModel, path: Sequence[str]) -> Any:
    value: Any = config
    for name in path:
        value = value.get(name, ()) if isinstance(value, dict) else getattr(value, name)
    return value


def with_values_of(config: Config, other: Config, keys: Iterable[str]) -> Config:
    """Return `config` with the values that `other` has for these keys."""
    for key in keys:
        config = _replaced(config, tuple(key.split(".")), _at(other, key.split(".")))
    return config


def _replaced(part: Any, path: tuple[str, ...], value: Any) -> Any:
    name, *rest = path
    if rest:
        value = _replaced(part[name] if isinstance(part, dict) else getattr(part, name), tuple(rest), value)
    return {**part, name: value} if isinstance(part, dict) else part.model_copy(update={name: value})


#: The descriptions, by dotted key.
WORDS: Mapping[str, str] = {
    "database": "sqlite (in the data folder), or postgresql://user@host/name, or env:DATABASE_URL",
    "encryption_key": (
        "encrypts keys and variables that are entered in the dashboard: env:NAME or file:PATH; null: secrets.key in the data folder"
    ),
    "roles": "with SQLite all four, in one process",
    "web.host": "any other address needs a password or an API key",
    "web.port": "0 selects a free port",
    "web.api_keys": "env:NAME (an owner's key), or {key: env:NAME, role: owner|operator|viewer|chat, agents: []}",
    "web.password": (
        "password of the dashboard user `owner` until one is set in the dashboard: env:NAME or file:PATH; null: log in by a link"
    ),
    "web.session_idle_timeout": "a login ends this long after its last use; at least 30m",
    "web.session_max_age": "a login ends this long after it began; at least 12h",
    "web.allowed_hosts": "host names under which browsers may open the dashboard, besides the host above",
    "web.allowed_origins": "other web sites whose pages may call /v1 with a key, such as https://chat.example.org",
    "web.public_url": "the public address of the dashboard, such as https://arvis.example.org",
    "owners.discord": "Discord user ids with full rights",
    "owners.telegram": "Telegram user ids with full rights",
    "owners.slack": "Slack user ids with full rights",
    "owners.web": "users of this dashboard and API with full rights, besides the first dashboard user",
    "owners.alert_channel": (
        "where owners get alerts about failures: platform:channel or platform/bot:channel; empty: their last direct chat"
    ),
    "routing.fallback": (
        "for messages that match no rule: drop, conductor or an agent's slug; in the dashboard and API, `drop` "
        "means the conductor"
    ),
    "routing.conductor_channel": "id of a channel in which the conductor answers; null: none",
    "queue.workers": "turns that run at the same time, at least 2: background work never takes the last worker",
    "queue.max_attempts": "how many times a job is tried before it counts as failed",
    "queue.retry_base_seconds": "the delay after the n-th error is 2^n times this, in seconds",
    "queue.lease_seconds": "a worker that is silent for this long loses its job",
    "queue.delivery_workers": "deliveries that are sent at the same time",
    "model.summarizer": "`provider/model` that summarizes long conversations; null: the agent's own model",
    "model.timeout_seconds": "longest duration of one model call, in seconds",
    "model.idle_seconds": "longest silence between two pieces of a stream, in seconds",
    "model.first_byte_seconds": "longest silence before the first byte while another account could answer, in seconds",
    "scheduler.poll_seconds": "longest time between two checks, in case the clock changes or a notification is lost",
    "scheduler.timezone": "time zone for the days and months of budgets, and for schedules without one",
    "speech.stt.engine": "transcribes voice messages: none, openai-whisper, faster-whisper, openai-api or command",
    "speech.stt.model": "null: base (engines on this machine), whisper-1 (openai-api); or the path of a model",
    "speech.stt.language": "such as de; null: detected automatically",
    "speech.stt.command": "for `engine: command`, such as `my-recogniser {file}`: prints the transcript",
    "speech.tts.engine": "adds a spoken reply to the reply to a voice message: none, openai-api or command",
    "speech.tts.model": "the model of openai-api that speaks",
    "speech.tts.command": "for `engine: command`: reads the text, prints the audio",
    "speech.tts.voice": "for openai-api",
    "speech.base_url": "for openai-api; null: the address of the first openai account, else OpenAI's",
    "speech.api_key": "for openai-api: env:NAME or file:PATH; null: the key of the first openai account",
    "speech.minutes": "the longest voice message, in minutes",
    "speech.memory_mb": "memory limit of an engine or command on this machine, in MB",
    "speech.buffer.pause_seconds": "pause after a complete thought that sends the message, in seconds",
    "speech.buffer.silence_seconds": "silence after anything else that sends the message, in seconds",
    "speech.buffer.longest_seconds": "longest time from the first chunk until the message is sent, in seconds",
    "speech.buffer.least_characters": "a text with fewer characters is not sent before more text or silence follows",
    "speech.buffer.languages": "languages whose words begin and end a thought: en, de, ru, zh; empty: all of them",
    "limits.message_bytes": "the largest message, in bytes",
    "limits.reply_tokens": "the longest reply of a model, in tokens; a longer reply is cut, with a note",
    "limits.reply_bytes": "the largest reply, in bytes",
    "limits.attachment_bytes": "the largest attachment, in bytes",
    "limits.max_tool_rounds": "how many model calls of one turn may call tools",
    "limits.max_iterations": "how often an agent may continue by itself in one task",
    "limits.delegation_depth": "how many times a task may be passed on from agent to agent",
    "limits.delegation_fan_out": "tasks that one answer may give",
    "limits.delegation_jobs": "tasks that may follow from one message",
    "limits.crons_per_agent": "crons that one agent may have",
    "limits.heartbeats_per_agent": "heartbeats that one agent may have",
    "limits.reminders_per_person": "reminders that agents create with the tool `schedule`, per person",
    "limits.messages_per_minute": (
        "messages per person and minute; operators: ten times as many, owners: no limit; null: no limit"
    ),
    "limits.upload_bytes_per_day": (
        "uploads per person and day, in bytes; operators and owners: ten times as much; null: no limit"
    ),
    "limits.workspace_bytes": "size limit of a conversation's folder, in which agents run programs; null: no limit",
    "limits.workspace_files": "limit of files in that folder; null: no limit",
    "delivery.answer_within": "Arvis does not answer messages that are older than this, and no retry waits longer",
    "delivery.late_after": "a reply that has waited longer than this when it is first sent is late",
    "delivery.late": "what happens to a late reply: mark or drop",
    "delivery.max_parts": "messages for one reply; longer replies continue in a file",
    "delivery.telegram": "at_least_once, at_most_once or reserve_then_fill",
    "approvals.policy": (
        "never, ask or always, by tool (run_shell), by server.*, or by risk: read, egress, write, exec, money"
    ),
    "approvals.deadline": "how long an approval waits for its answer",
    "approvals.on_expiry": "reject or approve",
    "approvals.approvers": (
        "owners, operators, or people besides the owners: [discord:1234, web:ann]; any one of them is enough"
    ),
    "tools.search_url": "the address of the search service for web_search",
    "tools.allow_hosts": "private hosts (`host` or `host:port`) that agents may fetch from; all others are blocked",
    "tools.packages": 'Python packages that scripts of graph `code` may have installed, "*" for any: docs/18-code.md',
    "retention.compacted_days": "days for which messages that a summary replaced can be restored",
    "retention.finished_jobs_days": "days for which finished jobs are kept",
    "retention.timeline_days": "days for which the history of each message is kept",
    "retention.logs_days": "days for which log files are kept",
    "backup.every": "the time between two backups",
    "backup.keep": "how many backups are kept",
    "budgets.daily_usd": "all model calls of a day; null: no limit",
    "budgets.per_agent_daily_usd": "model calls of one agent on a day; null: no limit",
    "budgets.per_principal_daily_usd": "model calls that one person causes on a day; null: no limit",
    "budgets.per_principal_daily_percent": (
        "share of daily_usd for each person except owners, once several such people are known"
    ),
    "budgets.per_client_monthly_usd": "model calls for one customer in a month; null: no limit",
    "budgets.per_turn_usd": "model calls for one message; null: no limit",
    "budgets.unpaired_daily_turns": (
        "turns per day for each person who is neither paired nor listed in allow_users; null: no limit"
    ),
    "model_prices": (
        "US dollars per million tokens by model: {input, output, cached, written}, in place of the built-in list prices"
    ),
    "context_windows": "how many tokens a model holds, prompt and reply together, in place of the built-in table",
    "reply_tokens": "how many tokens a reply of a model may have, in place of limits.reply_tokens",
    "vision_models": "which models accept pictures, in place of a guess from their names",
    "telemetry.endpoint": "the collector, such as http://127.0.0.1:4318; null: no traces are sent",
    "telemetry.headers": "headers for the collector: {authorization: env:COLLECTOR_KEY}",
    "telemetry.service_name": "service name in the traces",
    "telemetry.capture_content": "include the text of messages and the arguments and results of tools in traces",
    "data_dir": "relative to this file; --data and ARVIS_DATA_DIR override it",
}

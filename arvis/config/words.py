"""The description of each setting. tests/architecture compares it with the comments of `config.yaml`; a key without a
comment there is described only here. An installed Arvis has no `config.yaml`, so the texts cannot be read from the file."""

from __future__ import annotations

from collections.abc import Mapping

#: By dotted key.
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
        "for messages that match no rule: drop, conductor or an agent's slug; over the web `drop` means the conductor"
    ),
    "routing.conductor_channel": "id of a channel in which the conductor answers; null: none",
    "queue.workers": "turns that run at the same time, at least 2: background work never takes the last worker",
    "queue.max_attempts": "how many times a job is tried before it counts as failed",
    "queue.retry_base_seconds": "the delays between attempts are multiples of this",
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
    "speech.buffer.least_characters": "a shorter text waits for more text or for silence",
    "speech.buffer.languages": "languages whose words begin and end a thought: en, de, ru, zh; empty: all of them",
    "limits.message_bytes": "the largest message, in bytes",
    "limits.reply_tokens": "the longest reply of a model, in tokens; a longer reply is cut, with a note",
    "limits.reply_bytes": "the largest reply, in bytes",
    "limits.attachment_bytes": "the largest attachment, in bytes",
    "limits.max_tool_rounds": "how many times a model may ask for tools in one turn",
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
    "delivery.answer_within": "an older message is not answered any more, and no retry waits longer",
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

"""What each setting is, in the words of the comments of `config.yaml` (tests/architecture keeps the two the same; where no
comment stands there, these are the only ones). Files are not read for it: an installed Arvis has no `config.yaml`."""

from __future__ import annotations

from collections.abc import Mapping

#: By key, as people write it.
WORDS: Mapping[str, str] = {
    "data_dir": "relative to this file; --data and ARVIS_DATA_DIR win",
    "database": "sqlite (in the data folder), or postgresql://user@host/name, or env:DATABASE_URL",
    "secrets_key": (
        "seals keys and variables that are entered in the product: env:NAME or file:PATH; null: secrets.key in the data folder"
    ),
    "roles": "with SQLite all four, in one process",
    "web.host": "any other address needs a password or an API key",
    "web.port": "0 takes a free one",
    "web.api_keys": "env:NAME (an owner's key), or {key: env:NAME, role: owner|operator|viewer|chat, agents: []}",
    "web.allowed_hosts": "names under which browsers may reach the dashboard, besides the host above",
    "web.allowed_origins": "pages of other sites that may call /v1 with a key, such as https://chat.example.org",
    "web.public_url": "the address that people outside see, such as https://arvis.example.org",
    "web.password": (
        "of the user `owner` of the dashboard until one is set there: env:NAME or file:PATH; null: log in by a link"
    ),
    "web.session_idle": "a login ends so long after its last use, 30m at least",
    "web.session_life": "and so long after its begin, 12h at least",
    "owners.discord": "user ids of Discord with full rights",
    "owners.telegram": "user ids of Telegram with full rights",
    "owners.slack": "user ids of Slack with full rights",
    "owners.web": "users of this port with full rights, beside the first dashboard user",
    "owners.notify": (
        "where they are told what goes wrong: platform:channel or platform/bot:channel; else where they talk"
    ),
    "routing.fallback": (
        "messages that no rule matched: drop, conductor or an agent's slug; over the web `drop` means the conductor"
    ),
    "routing.conductor_channel": "the id of a channel that the conductor answers; null: none",
    "queue.workers": "turns at once, 2 at least: background work never takes the last one",
    "queue.max_attempts": "how often a job is tried before it counts as failed",
    "queue.retry_unit_seconds": "the waits between attempts are multiples of this",
    "queue.lease_seconds": "a worker that is silent for this long loses its job",
    "queue.delivery_workers": "deliveries at once",
    "telemetry.endpoint": "the collector, such as http://127.0.0.1:4318; null: nothing is told",
    "telemetry.headers": "what it wants to be sent: {authorization: env:COLLECTOR_KEY}",
    "telemetry.service_name": "the name under which it tells",
    "telemetry.content": "what people and agents say, and what tools were given, goes along",
    "model.fast": "`provider/model` that sums up long conversations; null: the agent's own",
    "model.timeout_seconds": "one whole call, in seconds",
    "model.idle_seconds": "the silence between two pieces of a stream",
    "model.first_byte_seconds": "the silence before the first byte while another account could answer",
    "scheduler.poll_seconds": "how often it is looked at least, should clocks be set or notices get lost",
    "scheduler.timezone": "whose days and months budgets count; and of schedules that name none",
    "speech.engine": "hears voice messages: none, openai-whisper, faster-whisper, openai-api or command",
    "speech.model": "null: base (of an engine that runs here), whisper-1 (of the API); or the path of a model",
    "speech.language": "such as de; null: found out",
    "speech.base_url": "of openai-api; null: that of the first openai account, else OpenAI's",
    "speech.api_key": "of openai-api: env:NAME or file:PATH; null: that of the first openai account",
    "speech.command": "of `engine: command`, such as `my-recogniser {file}`: prints what was said",
    "speech.minutes": "how long a sound may last",
    "speech.memory_mb": "what an engine that runs here may hold",
    "speech.speak": "answers a voice message with a spoken one, too: none, openai-api or command",
    "speech.speak_model": "the model that speaks, of openai-api",
    "speech.speak_command": "of `speak: command`: reads the text, prints a sound",
    "speech.voice": "of openai-api",
    "speech.buffer.pause_seconds": "behind a whole thought",
    "speech.buffer.silence_seconds": "behind anything",
    "speech.buffer.longest_seconds": "from the first chunk on",
    "speech.buffer.least_characters": "what is shorter waits for more, or for silence",
    "speech.buffer.languages": "whose words end and begin a thought: en, de, ru, zh; empty: all of them",
    "limits.message_bytes": "the largest message, in bytes",
    "limits.reply_tokens": "the largest reply of a model, in tokens; a longer one is cut and says so",
    "limits.reply_bytes": "the largest reply, in bytes",
    "limits.attachment_bytes": "the largest attachment, in bytes",
    "limits.tool_rounds": "how often a model may ask for tools in one turn",
    "limits.agent_loops": "how often an agent may go on by itself in one piece of work",
    "limits.delegation_depth": "how far a task may be handed on from agent to agent",
    "limits.delegation_fan_out": "tasks that one answer may give",
    "limits.delegation_jobs": "tasks below one question",
    "limits.crons_per_agent": "crons that one agent may have",
    "limits.heartbeats_per_agent": "heartbeats that one agent may have",
    "limits.reminders_per_person": "that agents make with the tool `schedule`",
    "limits.messages_per_minute": "of each person; operators ten times as many, owners any number; null: no limit",
    "limits.workspace_bytes": "what the folder of a conversation may hold in which programs of agents run; null: no limit",
    "limits.workspace_files": "how many files it may hold; null: no limit",
    "limits.upload_bytes_per_day": "files of each person, in bytes; operators and owners ten times as much; null: no limit",
    "delivery.answer_within": "an older message is not answered any more, and no wait is longer",
    "delivery.late_after": "a reply older than this is late",
    "delivery.late": "mark or drop",
    "delivery.max_parts": "of one reply; the rest becomes a file",
    "delivery.telegram": "at_least_once, at_most_once or reserve_then_fill",
    "approvals.policy": (
        "never, ask or always, by tool (run_shell), by server.*, or by risk: read, egress, write, exec, money"
    ),
    "approvals.deadline": "how long an approval waits for its answer",
    "approvals.on_expiry": "reject or approve",
    "approvals.approvers": (
        "owners, operators, or people besides the owners: [discord:1234, web:ann]; any one is enough"
    ),
    "tools.search_url": "what web_search asks",
    "tools.allow_hosts": "private hosts (`host` or `host:port`) that agents may fetch from all the same",
    "tools.packages": 'Python packages that scripts of graph `code` may have installed, "*" for any: docs/18-code.md',
    "retention.archive_days": "how long messages that a summary stands for can be brought back",
    "retention.finished_jobs_days": "how long jobs that have ended are kept",
    "retention.timeline_days": "how long it can be told what happened to a message",
    "retention.logs_days": "how long files of the log are kept",
    "backup.every": "the time between two backups",
    "backup.keep": "how many backups stay",
    "language": "of the daemon's own notices; without effect yet: they are English",
    "budgets.daily_usd": "all calls of a day; null: no limit",
    "budgets.per_agent_daily_usd": "those of one agent on a day; null: no limit",
    "budgets.per_principal_daily_usd": "those that one person causes on a day; null: no limit",
    "budgets.per_principal_daily_percent": "of daily_usd, for each person but owners, once several such people are known",
    "budgets.per_client_monthly_usd": "those of one client in a month; null: no limit",
    "budgets.per_turn_usd": "those of one question; null: no limit",
    "budgets.stranger_daily_turns": "questions a day of people whom nobody let in by name; null: no limit",
    "prices": (
        "US dollars per million tokens by model: {input, output, cached, written}, over the built-in list prices"
    ),
    "windows": "how many tokens a model holds, prompt and reply together, over what is known of it",
    "reply_tokens": "how many tokens a reply of a model may have, over limits.reply_tokens",
    "vision": "which models see pictures, over what is known of their names",
}

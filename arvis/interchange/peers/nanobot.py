"""Reads the home of nanobot (`~/.nanobot`)."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from arvis.domain.memory import Category
from arvis.domain.schedules import ScheduleKind
from arvis.interchange.format import PersonRef
from arvis.interchange.peers.draft import SUPPORTED, Draft, place_in
from arvis.interchange.peers.home import Row, as_list, as_map, as_text
from arvis.interchange.peers.markdown import Memories, add_memories, add_skills, prompt_of, tasks_in
from arvis.interchange.peers.people import EVERYONE, Access, access_of, admitted, owner_of
from arvis.interchange.peers.schedules import Job, add_job, interval, times_of, zone_in
from arvis.interchange.peers.transcripts import Line, Talk, add_talk, moment, text_of

_AGENT = "nanobot"
#: Keys of `channels` that are settings and not platforms.
_COMMON = frozenset(
    {
        "send_progress",
        "send_tool_hints",
        "show_reasoning",
        "extract_document_text",
        "send_max_retries",
        "transcription_provider",
        "transcription_language",
    }
)
#: The beginnings of the keys of conversations in which no person writes.
_WITHOUT_PEOPLE = ("cron:", "heartbeat", "subagent:", "dream")
_HALF_AN_HOUR = 1_800


def read_nanobot(draft: Draft) -> None:
    config = _snake(draft.home.values("config.json"))
    defaults = as_map(as_map(config.get("agents")).get("defaults"))
    workspace = _workspace(draft, defaults)
    accesses = list(_accesses(draft, as_map(config.get("channels"))))
    people = admitted(draft, _AGENT, accesses)
    zone = zone_in(draft, _AGENT, defaults.get("timezone"))
    draft.add(
        "agents", _AGENT, slug=_AGENT, name=as_text(defaults.get("bot_name")) or _AGENT, prompt=_prompt(draft, workspace),
        description="Imported from nanobot.", model=draft.model(_AGENT, _model(config, defaults)),
        timezone=zone, allow_users=people.users,
    )  # fmt: skip
    _add_memory(draft, workspace, owner_of(draft, people.people), zone)
    add_skills(draft, f"{workspace}/skills", off=as_list(defaults.get("disabled_skills")))
    _add_jobs(draft, workspace, zone)
    _add_heartbeat(draft, workspace, as_map(as_map(config.get("gateway")).get("heartbeat")), zone)
    _add_talks(draft, workspace, zone)
    _leave_rest(draft, config)


def _workspace(draft: Draft, defaults: Row) -> str:
    given = as_text(defaults.get("workspace"))
    inside = draft.home.inside(given, (".nanobot", draft.home.root.name)) if given else "workspace"
    if not inside or not draft.home.entries(inside):
        if given and inside != "workspace":
            why = "the copy does not contain this workspace; copy the workspace into the folder `workspace` of the copy"
            draft.home.leave("files", given, why)
        return "workspace"
    return inside


def _model(config: Row, defaults: Row) -> str:
    preset = as_map(as_map(config.get("model_presets")).get(as_text(defaults.get("model_preset"))))
    chosen = preset or defaults
    provider, model = as_text(chosen.get("provider")), as_text(chosen.get("model"))
    vendor = model.partition("/")[0]
    return f"{provider}/{model}" if provider not in {"", "auto", vendor} and model else model


def _prompt(draft: Draft, workspace: str) -> str:
    return prompt_of(draft, _AGENT, [f"{workspace}/{name}" for name in ("SOUL.md", "AGENTS.md", "TOOLS.md")])


# -- people --------------------------------------------------------------------------------------------------------------


def _accesses(draft: Draft, channels: Row) -> Iterator[Access]:
    approved = as_map(draft.home.values("pairing.json").get("approved"))
    for platform in sorted({*channels, *approved} - _COMMON):
        settings = as_map(channels.get(platform))
        if not settings.get("enabled") and not approved.get(platform):
            continue
        if not draft.add_bot(platform):
            continue
        entries = [*as_list(settings.get("allow_from")), *as_list(approved.get(platform))]
        direct = as_map(settings.get("dm"))
        if platform == "slack":
            entries += [EVERYONE] if direct.get("policy", "open") == "open" else as_list(direct.get("allow_from"))
        if settings.get("group_allow_from"):
            why = "lists of people and rooms that are allowed in groups are not imported; bind the agent with `arvis agents bind`"
            draft.home.leave("people", f"{platform}: groups", why)
        yield access_of(draft, platform, entries)


# -- memory --------------------------------------------------------------------------------------------------------------


def _add_memory(draft: Draft, workspace: str, owner: PersonRef | None, zone: str | None) -> None:
    now = draft.choice.now
    if (text := draft.home.text(f"{workspace}/USER.md")) is not None:
        add_memories(draft, text, Memories(_AGENT, Category.USER_PREFERENCE, owner, now))
    if (text := draft.home.text(f"{workspace}/memory/MEMORY.md")) is not None:
        add_memories(draft, text, Memories(_AGENT, Category.LEARNED_PATTERN, None, now))
    for _, entry in draft.home.lines(f"{workspace}/memory/history.jsonl"):
        day, content = as_text(entry.get("timestamp"))[:10], as_text(entry.get("content"))
        at = moment(entry.get("timestamp"), zone) or now
        if content.strip():
            add_memories(draft, content, Memories(_AGENT, Category.IMPORTANT_EVENT, owner, at, before=day))


# -- schedules -----------------------------------------------------------------------------------------------------------


def _add_jobs(draft: Draft, workspace: str, zone: str | None) -> None:
    name = next(
        (each for each in (f"{workspace}/cron/jobs.json", "cron/jobs.json") if draft.home.has(each)), "cron/jobs.json"
    )
    listed = [_snake(as_map(job)) for job in as_list(draft.home.values(name).get("jobs"))]
    jobs = {as_text(job.get("id")) or f"job-{number}": job for number, job in enumerate(listed, start=1)}
    for _, action in draft.home.lines(f"{name.rpartition('/')[0]}/action.jsonl"):
        job = _snake(as_map(action.get("params")))
        if action.get("action") == "del":
            jobs.pop(str(job.get("job_id")), None)
        elif job.get("id"):
            jobs[str(job["id"])] = job
    for key, job in sorted(jobs.items(), key=lambda each: (moment(each[1].get("created_at_ms")) or 0, each[0])):
        _add_job(draft, key, job, zone)


def _add_job(draft: Draft, key: str, job: Row, zone: str | None) -> None:
    payload, schedule = as_map(job.get("payload")), as_map(job.get("schedule"))
    label = as_text(job.get("name")) or key
    if payload.get("kind", "agent_turn") != "agent_turn":
        draft.home.leave("schedules", label, "the other program created this job for its own work, not for a person")
        return
    given = {"kind": schedule.get("kind"), "expr": schedule.get("expr"), "atMs": schedule.get("at_ms")}
    times = times_of(draft, label, given | {"everyMs": schedule.get("every_ms")})
    if times is None:
        return
    platform = as_text(payload.get("origin_channel") or payload.get("channel"))
    chat = as_text(payload.get("origin_chat_id") or payload.get("to"))
    topic = as_text(payload.get("session_key")).partition(":topic:")[2]
    place = place_in(platform, chat, topic) if platform and chat and platform not in {"cli", "websocket"} else None
    add_job(
        draft,
        Job(
            key, _AGENT, label, times, as_text(schedule.get("tz")) or zone, as_text(payload.get("message")), place,
            enabled=job.get("enabled") is not False,
        ),
    )  # fmt: skip


def _add_heartbeat(draft: Draft, workspace: str, settings: Row, zone: str | None) -> None:
    words = tasks_in(draft.home.text(f"{workspace}/HEARTBEAT.md") or "")
    if words:
        seconds = settings.get("interval_s", _HALF_AN_HOUR)
        times = interval(draft, "heartbeat", seconds * 1000 if isinstance(seconds, int) else seconds)
        if times is not None:
            enabled = settings.get("enabled") is not False
            job = Job("heartbeat", _AGENT, "heartbeat", times, zone, words, None, enabled, ScheduleKind.HEARTBEAT)
            add_job(draft, job)


# -- conversations -------------------------------------------------------------------------------------------------------


def _add_talks(draft: Draft, workspace: str, zone: str | None) -> None:
    others = 0
    for folder in (*draft.home.entries("sessions"), "sessions", f"{workspace}/sessions"):
        for file in draft.home.entries(folder):
            if file.endswith(".jsonl") and not (draft.home.root / file).is_dir():
                others += _add_talk(draft, file, zone)
    if others:
        why = f"{others} transcripts of schedules, heartbeats and helpers are not imported, because no person wrote in them"
        draft.home.leave("conversations", "sessions", why)


def _add_talk(draft: Draft, file: str, zone: str | None) -> int:
    """Add the conversation in a file. Return 1 if no person writes in this conversation, else 0."""
    rows = [row for _, row in draft.home.lines(file)]
    head = next((row for row in rows if row.get("_type") == "metadata"), {})
    key = as_text(head.get("key")) or _key_of(file)
    if key.startswith(_WITHOUT_PEOPLE):
        return 1
    platform, _, rest = key.partition(":")
    chat, _, thread = rest.partition(":")
    thread = thread.removeprefix("topic:")
    if platform not in SUPPORTED or not chat:
        known = platform in {"cli", "websocket", "api", "unified", "webui"} or not chat
        place = place_in("web", _AGENT) if known else place_in(platform.lower()[:32], chat)
    else:
        place = place_in(platform, chat, thread)
    # In a direct chat of Telegram, the chat has the id of the person. Ids of groups are negative.
    person = draft.person("telegram", chat) if platform == "telegram" and chat.isdigit() else None
    direct = person is not None or place.platform == "web" or (platform == "slack" and chat.startswith("D"))
    talk = Talk(key, _AGENT, place, direct, moment(head.get("created_at"), zone))
    add_talk(draft, talk, [line for row in rows if (line := _line(row, person, zone)) is not None])
    return 0


def _key_of(file: str) -> str:
    """Return the key of a conversation, which is encoded in its file name: in base64, or in older versions with `_` in
    place of `:`."""
    stem = file.rpartition("/")[2].removesuffix(".jsonl")
    try:
        decoded = base64.urlsafe_b64decode(stem + "=" * (-len(stem) % 4)).decode()
    except (binascii.Error, ValueError):
        decoded = ""
    return decoded if ":" in decoded and decoded.isprintable() else stem.replace("_", ":", 1)


def _line(row: Row, person: PersonRef | None, zone: str | None) -> Line | None:
    role = row.get("role")
    if row.get("_type") or row.get("_hidden_history") or role not in {"user", "assistant", "tool"}:
        return None
    text = text_of(row.get("content"))
    context = as_map(row.get("_runtime_context")).get("suffix")
    if isinstance(context, str):
        text = text.removesuffix(context).rstrip()
    at = moment(row.get("timestamp"), zone)
    if row.get("injected_event") or role == "tool":
        return Line("tool", "", at)
    author = person if role == "user" else None
    return Line(str(role), text, at, person=author, calls=bool(row.get("tool_calls")))


# -- data that is not imported -----------------------------------------------------------------------------------------


def _leave_rest(draft: Draft, config: Row) -> None:
    for name in sorted(as_map(as_map(config.get("tools")).get("mcp_servers"))):
        draft.home.leave(
            "tools", name, "tool servers are not imported; add this server to `mcp.servers` in config.yaml"
        )
    draft.home.leave(
        "tools",
        _AGENT,
        "permissions for tools are not imported; choose the tools with `arvis agents update nanobot --tools`",
    )


def _snake(value: Any) -> Any:
    """Return a value whose keys are in snake_case, because nanobot writes camelCase but reads both forms."""
    match value:
        case dict():
            return {
                "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in str(key)): _snake(each)
                for key, each in value.items()
            }
        case list():
            return [_snake(each) for each in value]
        case _:
            return value

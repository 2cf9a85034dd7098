"""Reads the home of Hermes Agent (`~/.hermes`), with its profiles."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from arvis.domain.memory import Category
from arvis.domain.regex import regex
from arvis.domain.schedules import ScheduleKind
from arvis.interchange.format import PersonRef, Place
from arvis.interchange.peers.draft import SUPPORTED, Draft, agent_slug, place_in
from arvis.interchange.peers.home import Row, as_list, as_map, as_text
from arvis.interchange.peers.markdown import Memories, add_entry, add_skills, prompt_of
from arvis.interchange.peers.people import EVERYONE, Access, access_of, admitted, owner_of
from arvis.interchange.peers.schedules import Job, add_job, cron_times, interval, single_time, zone_in
from arvis.interchange.peers.transcripts import Line, Talk, add_talk, moment, text_of

_DIVIDER = "\n§\n"
_MS = 1000
#: A line of `.env`. Only values that name people are used. All other values may be secrets and are dropped.
_VARIABLE = regex(r"(?:export\s+)?([A-Z][A-Z0-9_]*)\s*=\s*(.*)")
_PEOPLE = regex(r"(?:(?P<platform>[A-Z_]+?)_)?(?:ALLOWED_USERS|ALLOW_ALL_USERS)")
_YES = frozenset({"1", "true", "yes", "on"})
#: The sources of sessions in which a person writes to the program directly, not through a chat platform.
_LOCAL = frozenset({"cli", "tui", "api_server", "webui", "desktop", "acp", "web", "dashboard", ""})
_WITHOUT_PEOPLE = frozenset({"cron", "subagent", "delegate", "batch", "webhook", "kanban"})
_NAMED = regex(r"\[([^\[\]\n]{1,80})\] (.+)", re.DOTALL)
_ENCODED = "\x00json:"
_SESSIONS = (
    "id", "source", "user_id", "session_key", "chat_id", "chat_type", "thread_id", "display_name", "started_at",
)  # fmt: skip
_MESSAGES = (
    "session_id", "id", "role", "content", "tool_calls", "timestamp", "observed", "active", "compacted",
)  # fmt: skip


def read_hermes(draft: Draft) -> None:
    _read_profile(draft, "", "default")
    for folder in draft.home.entries("profiles"):
        _read_profile(draft, f"{folder}/", folder.rpartition("/")[2])


def _read_profile(draft: Draft, at: str, profile: str) -> None:
    """Read one profile, whose files are in the folder `at`. Each profile becomes an agent."""
    agent = agent_slug("hermes", profile)
    config, variables = draft.home.values(f"{at}config.yaml"), _variables(draft, f"{at}.env")
    people = admitted(draft, agent, list(_accesses(draft, at, config, variables)))
    zone = zone_in(draft, agent, config.get("timezone"))
    prompt = prompt_of(draft, agent, [f"{at}SOUL.md"])
    extra = as_text(as_map(config.get("agent")).get("system_prompt"))
    draft.add(
        "agents", agent, slug=agent, name="Hermes" if profile == "default" else profile,
        prompt="\n\n".join(filter(None, [prompt, extra])), description="Imported from Hermes Agent.",
        model=_model(draft, agent, config), fallbacks=_fallbacks(draft, agent, config), timezone=zone,
        allow_users=people.users,
    )  # fmt: skip
    _add_memory(draft, at, agent, owner_of(draft, people.people))
    _add_skills(draft, at, config)
    _add_jobs(draft, at, agent, zone)
    _add_talks(draft, at, agent)
    for name in sorted(as_map(config.get("mcp_servers"))):
        draft.home.leave(
            "tools", name, "tool servers are not imported; add this server to `mcp.servers` in config.yaml"
        )
    why = f"permissions for tools are not imported; choose the tools with `arvis agents update {agent} --tools`"
    draft.home.leave("tools", agent, why)


def _model(draft: Draft, agent: str, config: Row) -> str | None:
    given = config.get("model")
    chosen = {"default": given} if isinstance(given, str) else as_map(given)
    return draft.model(agent, _named_model(chosen.get("provider"), chosen.get("default") or chosen.get("model")))


def _fallbacks(draft: Draft, agent: str, config: Row) -> list[str]:
    listed = as_list(config.get("fallback_providers")) or as_list(config.get("fallback_model"))
    single = config.get("fallback_model")
    entries = [as_map(each) for each in (listed or ([single] if isinstance(single, dict) else []))]
    found = [draft.model(agent, _named_model(each.get("provider"), each.get("model"))) for each in entries]
    return [each for each in found if each is not None]


def _named_model(provider: Any, model: Any) -> str:
    vendor, name = as_text(provider), as_text(model)
    if vendor in {"", "auto"} or not name or name.startswith(f"{vendor}/"):
        return name
    return f"{vendor}/{name}"


# -- people --------------------------------------------------------------------------------------------------------------


def _variables(draft: Draft, file: str) -> dict[str, str]:
    """Return the variables of the file. Keep the values of variables that list people. Make all other values empty,
    because they may be secrets."""
    found = dict[str, str]()
    for line in (draft.home.text(file) or "").splitlines():
        parts = _VARIABLE.fullmatch(line.strip())
        if parts is not None:
            found[parts[1]] = parts[2].strip().strip("\"'") if _PEOPLE.fullmatch(parts[1]) else ""
    return found


def _accesses(draft: Draft, at: str, config: Row, variables: Row) -> Iterator[Access]:
    approved = _approved(draft, at)
    configured = {**as_map(as_map(config.get("gateway")).get("platforms")), **as_map(config.get("platforms"))}
    ends = ("_BOT_TOKEN", "_ALLOWED_USERS")
    named = {name.removesuffix(end).lower() for name in variables for end in ends if name.endswith(end)}
    groups = {name for name in named if name.endswith("_group")}
    for platform in sorted({*approved, *configured, *named} - groups - {"gateway"}):
        if not draft.add_bot(platform):
            continue
        settings = {**as_map(configured.get(platform)), **as_map(config.get(platform))}
        entries = [*approved.get(platform, ()), *_entries(settings.get("allow_from"))]
        for prefix in (platform.upper(), "GATEWAY"):
            entries += _entries(variables.get(f"{prefix}_ALLOWED_USERS"))
            entries += [EVERYONE] if as_text(variables.get(f"{prefix}_ALLOW_ALL_USERS")).lower() in _YES else []
        if settings.get("group_allow_from") or f"{platform}_group" in groups:
            why = "lists of people who are allowed in groups are not imported; bind the agent with `arvis agents bind`"
            draft.home.leave("people", f"{platform}: groups", why)
        yield access_of(draft, platform, entries)


def _approved(draft: Draft, at: str) -> dict[str, list[str]]:
    """Return the ids of paired people by platform."""
    found = dict[str, list[str]]()
    for folder in (f"{at}pairing", f"{at}platforms/pairing"):
        for file in draft.home.entries(folder):
            name = file.rpartition("/")[2]
            if name.endswith("-approved.json"):
                found.setdefault(name.removesuffix("-approved.json"), []).extend(draft.home.values(file))
    return found


def _entries(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else as_text(value).split(",")


# -- memory and skills ---------------------------------------------------------------------------------------------------


def _add_memory(draft: Draft, at: str, agent: str, owner: PersonRef | None) -> None:
    for name, category, person in (
        ("USER.md", Category.USER_PREFERENCE, owner),
        ("MEMORY.md", Category.LEARNED_PATTERN, None),
    ):
        text = draft.home.text(f"{at}memories/{name}")
        for entry in (text or "").replace("\r\n", "\n").split(_DIVIDER):
            add_entry(draft, entry.strip().strip("§").strip(), Memories(agent, category, person, draft.choice.now))


def _add_skills(draft: Draft, at: str, config: Row) -> None:
    listed = draft.home.text(f"{at}skills/.bundled_manifest") or ""
    bundled = [line.partition(":")[0].strip() for line in listed.splitlines() if line.strip()]
    off = [as_text(each) for each in as_list(as_map(config.get("skills")).get("disabled"))]
    left = add_skills(draft, f"{at}skills", off=off, own=bundled)
    if left:
        why = f"{left} skills that came with Hermes are not imported; add a skill that you need with `arvis skills create`"
        draft.home.leave("skills", f"{at}skills", why)


# -- schedules -----------------------------------------------------------------------------------------------------------


def _add_jobs(draft: Draft, at: str, agent: str, zone: str | None) -> None:
    listed = as_list(draft.home.values(f"{at}cron/jobs.json").get("jobs"))
    jobs = [as_map(each) for each in listed]
    for job in sorted(jobs, key=lambda each: (moment(each.get("created_at")) or 0, as_text(each.get("id")))):
        _add_job(draft, agent, job, zone)


def _add_job(draft: Draft, agent: str, job: Row, zone: str | None) -> None:
    key = as_text(job.get("id")) or "job"
    label = as_text(job.get("name")) or key
    schedule = as_map(job.get("schedule"))
    if job.get("no_agent"):
        draft.home.leave("schedules", label, "it runs a script without an agent; use a workflow with a webhook instead")
        return
    match schedule.get("kind"):
        case "cron":
            times = cron_times(draft, label, schedule.get("expr"))
        case "interval":
            minutes = schedule.get("minutes")
            times = interval(draft, label, minutes * 60 * _MS if isinstance(minutes, int) else minutes)
        case "once":
            times = single_time(draft, label, moment(schedule.get("run_at"), zone))
        case kind:
            draft.home.leave(
                "schedules",
                label,
                f"its schedule has the unknown kind {str(kind)[:40]!r}; create the schedule in Arvis",
            )
            return
    if times is None:
        return
    skills = [as_text(each) for each in as_list(job.get("skills"))]
    prompt = as_text(job.get("prompt")) or (
        f"Do the work that the skill {', '.join(skills)} describes." if skills else ""
    )
    enabled = job.get("enabled") is not False and job.get("state") != "paused"
    add_job(draft, Job(key, agent, label, times, zone, prompt, _target(job), enabled, ScheduleKind.CRON))
    _leave_parts(draft, f"{agent}: {label}", job, schedule)


def _target(job: Row) -> Place | None:
    """Return the place for a job's answers. If the job has several places, return the first one."""
    deliver, origin = as_text(job.get("deliver")).split(",")[0].strip(), as_map(job.get("origin"))
    if deliver == "origin" or (deliver in SUPPORTED and origin.get("platform") == deliver):
        platform, chat = as_text(origin.get("platform")), as_text(origin.get("chat_id"))
        return place_in(platform, chat, as_text(origin.get("thread_id"))) if platform and chat else None
    platform, _, rest = deliver.partition(":")
    chat, _, thread = rest.partition(":")
    return place_in(platform, chat, thread) if chat else None


def _leave_parts(draft: Draft, label: str, job: Row, schedule: Row) -> None:
    times = as_map(job.get("repeat")).get("times")
    if times is not None and schedule.get("kind") != "once":
        draft.home.leave(
            "schedules", label, f"the other program ends it after {times} runs, but Arvis repeats it until you stop it"
        )
    if job.get("script"):
        draft.home.leave("schedules", label, "the output of its script is no longer added to its prompt")
    if job.get("context_from"):
        draft.home.leave(
            "schedules", label, "the output of the job in its `context_from` is no longer added to its prompt"
        )
    if "," in as_text(job.get("deliver")):
        draft.home.leave(
            "schedules", label, "it sends its answers to several places, but Arvis sends them only to the first one"
        )


# -- conversations -------------------------------------------------------------------------------------------------------


def _add_talks(draft: Draft, at: str, agent: str) -> None:
    sessions, others = dict[str, Row](), 0
    rows = draft.home.rows(f"{at}state.db", {"sessions": _SESSIONS, "messages": _MESSAGES})
    messages = list[Row]()
    for table, row in rows:
        if table == "sessions":
            sessions[as_text(row["id"])] = row
        else:
            messages.append(row)
    for session_id, group in groupby(messages, key=lambda row: as_text(row["session_id"])):
        session = sessions.get(session_id)
        if session is None or as_text(session["source"]) in _WITHOUT_PEOPLE:
            others += 1
        else:
            _add_talk(draft, agent, session, list(group))
    if others:
        why = f"{others} transcripts of schedules and helpers are not imported, because no person wrote in them"
        draft.home.leave("conversations", f"{at}state.db", why)
    if not sessions and any(file.endswith(".jsonl") for file in draft.home.entries(f"{at}sessions")):
        why = "transcripts from before Hermes had a database are not read; start a newer Hermes once to convert them"
        draft.home.leave("conversations", f"{at}sessions", why)


def _add_talk(draft: Draft, agent: str, session: Row, rows: list[Row]) -> None:
    source, chat, user = (as_text(session[name]) for name in ("source", "chat_id", "user_id"))
    local = source in _LOCAL or not chat
    place = place_in("web", agent) if local else place_in(source.lower()[:32], chat, as_text(session["thread_id"]))
    direct = local or session["chat_type"] == "dm"
    # In a group, a session belongs to one person only if its key ends with that person.
    own = direct or as_text(session["session_key"]).endswith(f":{user}")
    known = bool(user) and not local and own
    person = draft.person(source, user, as_text(session["display_name"]) if direct else "") if known else None
    talk = Talk(as_text(session["id"]), agent, place, direct, moment(session["started_at"]))
    add_talk(draft, talk, [line for row in rows if (line := _line(row, person, direct=direct)) is not None])


def _line(row: Row, person: PersonRef | None, *, direct: bool) -> Line | None:
    """Return a message as a line. Return None if a person has withdrawn the message, or if it has an unknown role."""
    role, at = as_text(row["role"]), moment(row["timestamp"])
    if role not in {"user", "assistant", "tool"} or (row["active"] == 0 and not row["compacted"]):
        return None
    if role == "tool":
        return Line("tool", "", at)
    text, name = _text(row["content"]), ""
    if role == "user" and not direct and (named := _NAMED.fullmatch(text)) is not None:
        name, text = named[1], named[2]
    return Line(
        role, text, at, as_text(row["id"]), person if role == "user" else None, name,
        calls=as_text(row["tool_calls"]) not in {"", "[]", "null"}, overheard=bool(row["observed"]),
    )  # fmt: skip


def _text(content: Any) -> str:
    if isinstance(content, str) and content.startswith(_ENCODED):
        try:
            return text_of(json.loads(content.removeprefix(_ENCODED)))
        except (ValueError, RecursionError):
            return content.removeprefix(_ENCODED)
    return text_of(content)

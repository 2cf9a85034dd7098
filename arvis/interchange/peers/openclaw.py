"""Reads the home of OpenClaw (`~/.openclaw`): its configuration, workspaces and schedules."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from arvis.domain.dataclass import dataclass
from arvis.domain.memory import Category
from arvis.domain.regex import regex
from arvis.domain.schedules import ScheduleKind
from arvis.interchange.format import PersonRef, Place
from arvis.interchange.peers.draft import SUPPORTED, Draft, agent_slug, place_in
from arvis.interchange.peers.home import Row, as_list, as_map, as_text
from arvis.interchange.peers.markdown import Memories, add_memories, add_skills, prompt_of, tasks_in
from arvis.interchange.peers.openclaw_sessions import add_sessions
from arvis.interchange.peers.people import EVERYONE, Access, Admitted, access_of, admitted, owner_of
from arvis.interchange.peers.schedules import Job, add_job, times_of, zone_in
from arvis.interchange.peers.transcripts import moment

_CONFIGS = ("openclaw.json", "clawdbot.json", "moltbot.json")
_HOMES = (".openclaw", ".clawdbot", ".moltbot")
_PROMPT = ("SOUL.md", "IDENTITY.md", "AGENTS.md", "TOOLS.md")
_MAIN = "main"
_STATE = "state/openclaw.sqlite"
#: Entries of `channels` that are not platforms, and the platform name of OpenClaw's dashboard.
_NO_PLATFORMS = frozenset({"defaults", "modelByChannel", "webchat"})
_DAY = regex(r"\d{4}-\d{2}-\d{2}")
_NAME = regex(r"(?m)^[-*\s]*\**Name:?\**:?\s*([^\n*_(]{1,100})$")
_INTERVAL = regex(r"(\d{1,6})\s*(s|m|h|d)?")
_TARGET = regex(
    r"(?:(?:telegram|tg|discord|slack):)?(?:(?P<kind>channel|group|user|dm):)?(?P<chat>[^:\s]{1,100})(?::topic:(?P<thread>\d+))?"
)


@dataclass(frozen=True, slots=True)
class Found:
    """An agent of the home: its id in OpenClaw, its slug in Arvis, its settings, and the folder of its workspace."""

    id: str
    slug: str
    settings: Row
    workspace: str


def read_openclaw(draft: Draft) -> None:
    config = next((found for name in _CONFIGS if (found := draft.home.values(name))), {})
    agents = list(_agents(draft, config))
    if not any(draft.home.has(name) for name in _CONFIGS):
        draft.home.leave(
            "files",
            _CONFIGS[0],
            "it is missing, so names, models, bots and allow lists are unknown; add it to the copy and import again",
        )
    accesses = dict(_accesses(draft, config))
    main = next((agent.id for agent in agents if agent.id == _MAIN), agents[0].id)
    defaults = as_map(as_map(config.get("agents")).get("defaults"))
    zone = zone_in(draft, agent_slug("openclaw", main), defaults.get("userTimezone"))
    for agent in agents:
        _add_agent(draft, config, agent, accesses, main=agent.id == main, zone=zone)
    for folder in ("skills", *(f"{agent.workspace}/skills" for agent in agents)):
        add_skills(draft, folder)
    _add_jobs(draft, {agent.id: agent.slug for agent in agents}, main, zone)
    _leave_rest(draft, config)


def _agents(draft: Draft, config: Row) -> Iterator[Found]:
    """Yield the configured agents, and the agents that are no longer configured but still have sessions."""
    section = as_map(config.get("agents"))
    entries = {key: as_map(value) for key, value in as_map(section.get("entries")).items()}
    entries |= {
        as_text(each["id"]): each for each in map(as_map, as_list(section.get("list"))) if as_text(each.get("id"))
    }
    for folder in draft.home.entries("agents"):
        entries.setdefault(folder.rpartition("/")[2], {})
    for key, settings in sorted((entries or {_MAIN: {}}).items()):
        workspace = _workspace(draft, key, settings, as_map(section.get("defaults")), alone=len(entries) <= 1)
        yield Found(key, agent_slug("openclaw", key), settings, workspace)


def _workspace(draft: Draft, agent: str, settings: Row, defaults: Row, *, alone: bool) -> str:
    """Return the workspace of an agent, which is a folder in the home."""
    given, shared = as_text(settings.get("workspace")), as_text(defaults.get("workspace"))
    homes = (*_HOMES, draft.home.root.name)
    own = draft.home.inside(given, homes) if given else None
    root = (draft.home.inside(shared, homes) if shared else None) or "workspace"
    choices = [own, root] if alone or agent == _MAIN else [own, f"{root}/{agent}", f"workspace-{agent}"]
    if agent == _MAIN and not alone:
        choices[1:1] = [f"{root}/{agent}", f"workspace-{agent}"]
    found = next((each for each in choices if each and draft.home.entries(each)), None)
    if found is None:
        why = "the copy does not contain its workspace, so its prompt and memory are not imported; add the workspace to the copy"
        draft.home.leave("files", f"{agent}: {given or shared or 'workspace'}", why)
    return found or f"workspace-{agent}"


def _add_agent(
    draft: Draft,
    config: Row,
    agent: Found,
    accesses: Mapping[tuple[str, str], Access],
    *,
    main: bool,
    zone: str | None,
) -> None:
    bindings = [*as_list(config.get("bindings")), *as_list(as_map(config.get("multiAgent")).get("bindings"))]
    people = admitted(draft, agent.slug, list(_of_agent(agent.id, accesses, bindings, main=main)))
    primary, fallbacks = _models(agent.settings, as_map(as_map(config.get("agents")).get("defaults")))
    models = [draft.model(agent.slug, each) for each in fallbacks]
    identity = draft.home.text(f"{agent.workspace}/IDENTITY.md") or ""
    written = _NAME.search(identity)
    named = as_text(as_map(agent.settings.get("identity")).get("name")) or as_text(agent.settings.get("name"))
    draft.add(
        "agents", agent.slug, slug=agent.slug, name=named or (written[1].strip() if written else "") or agent.slug,
        prompt=prompt_of(draft, agent.slug, [f"{agent.workspace}/{name}" for name in _PROMPT]),
        description="Imported from OpenClaw.", model=draft.model(agent.slug, primary),
        fallbacks=[each for each in models if each], timezone=zone, allow_users=people.users,
        bindings=[{"platform": platform, "channel": channel} for platform, channel in _bound(agent.id, config, bindings, main=main)],
    )  # fmt: skip
    owner = _owner(draft, config, people)
    _add_memory(draft, agent, people, owner)
    _add_heartbeat(draft, config, agent, zone)
    add_sessions(draft, agent.id, agent.slug, people.people, owner)
    why = f"permissions for tools are not imported; choose the tools with `arvis agents update {agent.slug} --tools`"
    draft.home.leave("tools", agent.slug, why)
    if draft.home.has(f"{agent.workspace}/BOOT.md"):
        draft.home.leave(
            "schedules", f"{agent.slug}: BOOT.md", "Arvis runs no prompt at its start; create a schedule instead"
        )


def _models(settings: Row, defaults: Row) -> tuple[str, list[str]]:
    chosen = settings.get("model") or defaults.get("model")
    if isinstance(chosen, dict):
        return as_text(chosen.get("primary")), [as_text(each) for each in as_list(chosen.get("fallbacks"))]
    return as_text(chosen), []


# -- people --------------------------------------------------------------------------------------------------------------


def _accesses(draft: Draft, config: Row) -> Iterator[tuple[tuple[str, str], Access]]:
    """Yield each account, as a pair of platform and account name, with the people who may write to it."""
    groups = as_map(config.get("accessGroups"))
    paired = _paired(draft)
    for platform, settings in as_map(config.get("channels")).items():
        if platform in _NO_PLATFORMS or as_map(settings).get("enabled") is False:
            continue
        if not draft.add_bot(platform):
            continue
        accounts = as_map(as_map(settings).get("accounts")) or {"default": {}}
        for account, own in accounts.items():
            merged = {**as_map(settings), **as_map(own)}
            entries = list(_listed(platform, merged, groups))
            # Approved pairing requests count only if the policy is `pairing`, which is the default.
            direct = as_map(merged.get("dm"))
            if merged.get("dmPolicy", direct.get("policy", "pairing")) == "pairing":
                entries += paired.get((platform, account), [])
            if merged.get("groupAllowFrom"):
                why = "lists of people who are allowed in groups are not imported, because Arvis has only one list for each agent"
                draft.home.leave("people", f"{platform}/{account}: groups", why)
            yield (platform, account), access_of(draft, platform, entries)


def _listed(platform: str, settings: Row, groups: Row) -> Iterator[Any]:
    direct = as_map(settings.get("dm"))
    if settings.get("dmPolicy", direct.get("policy")) == "disabled":
        return
    for entry in as_list(settings.get("allowFrom")) or as_list(direct.get("allowFrom")):
        name = as_text(entry)
        if name.startswith("accessGroup:"):
            members = as_map(as_map(groups.get(name.partition(":")[2])).get("members"))
            yield from as_list(members.get(platform))
        else:
            yield entry


def _paired(draft: Draft) -> dict[tuple[str, str], list[str]]:
    """Return the approved people by platform and account, from the database and from files of older versions."""
    found = dict[tuple[str, str], list[str]]()
    columns = ("channel_key", "account_id", "entry")
    for _, row in draft.home.rows(_STATE, {"channel_pairing_allow_entries": columns}):
        found.setdefault((as_text(row["channel_key"]), as_text(row["account_id"])), []).append(as_text(row["entry"]))
    for file in draft.home.entries("credentials"):
        name = file.rpartition("/")[2]
        if name.endswith("-allowFrom.json"):
            platform, _, account = name.removesuffix("-allowFrom.json").partition("-")
            entries = as_list(draft.home.values(file).get("allowFrom"))
            found.setdefault((platform, account or "default"), []).extend(map(as_text, entries))
    return found


def _of_agent(
    agent: str, accesses: Mapping[tuple[str, str], Access], bindings: list[Any], *, main: bool
) -> Iterator[Access]:
    """Yield the accesses to an agent: the accesses of the accounts that are bound to the agent. The main agent also
    gets the accesses of each account that no binding assigns to an agent completely."""
    for (platform, account), access in accesses.items():
        whole = [as_map(each) for each in bindings if _matches(as_map(as_map(each).get("match")), platform, account)]
        bound = {as_text(each.get("agentId")) for each in whole}
        everything = {as_text(each.get("agentId")) for each in whole if not as_map(each.get("match")).get("peer")}
        if agent in bound or (main and not everything):
            yield access


def _matches(match: Row, platform: str, account: str) -> bool:
    return match.get("channel") == platform and match.get("accountId", account) in {account, EVERYONE}


def _bound(agent: str, config: Row, bindings: list[Any], *, main: bool) -> list[tuple[str, str]]:
    """Return the groups and channels in which an agent answers, as pairs of platform and channel id."""
    owners = dict[tuple[str, str], str]()
    for each in map(as_map, bindings):
        match = as_map(each.get("match"))
        peer, platform = as_map(match.get("peer")), as_text(match.get("channel"))
        if platform in SUPPORTED and peer.get("kind") in {"channel", "group"} and as_text(peer.get("id")):
            owners.setdefault((platform, as_text(peer.get("id"))), as_text(each.get("agentId")))
    if main:
        for place in _groups(as_map(config.get("channels"))):
            owners.setdefault(place, agent)
    return [place for place, owner in owners.items() if owner == agent]


def _groups(channels: Row) -> Iterator[tuple[str, str]]:
    for group in as_map(as_map(channels.get("telegram")).get("groups")):
        if group.lstrip("-").isdigit():
            yield "telegram", group
    for guild in as_map(as_map(channels.get("discord")).get("guilds")).values():
        for channel, settings in as_map(as_map(guild).get("channels")).items():
            if channel.isdigit() and _is_on(settings):
                yield "discord", channel
    for channel, settings in as_map(as_map(channels.get("slack")).get("channels")).items():
        if channel[:1] in {"C", "G"} and channel.isalnum() and _is_on(settings):
            yield "slack", channel


def _is_on(settings: Any) -> bool:
    return settings is not False and not {as_map(settings).get("enabled"), as_map(settings).get("allow")} & {False}


def _owner(draft: Draft, config: Row, people: Admitted) -> PersonRef | None:
    """Return the owner. This is the person whom the importing person chose, else the only person who may give owner
    commands, else the only person in the allow lists."""
    if draft.choice.owner is None:
        entries = [as_text(each) for each in as_list(as_map(config.get("commands")).get("ownerAllowFrom"))]
        parts = [each.partition(":") for each in entries if each.partition(":")[0] in SUPPORTED]
        named = [PersonRef(platform=platform, user_id=user) for platform, _, user in parts if user and user != EVERYONE]
        if len(named) == 1:
            return draft.person(named[0].platform, named[0].user_id)
    return owner_of(draft, people.people)


# -- memory --------------------------------------------------------------------------------------------------------------


def _add_memory(draft: Draft, agent: Found, people: Admitted, owner: PersonRef | None) -> None:
    """Add the facts of a workspace. If the owner is unknown and other people may use the agent, the facts are left out,
    because OpenClaw shows MEMORY.md and USER.md only in the owner's own conversation."""
    home, now = draft.home, draft.choice.now
    if owner is None and people.users != []:
        if any(home.has(f"{agent.workspace}/{name}") for name in ("MEMORY.md", "USER.md", "memory")):
            why = "it is private and was not imported, because several people may use the agent; name the owner with --owner"
            home.leave("memory", agent.slug, why)
        return
    for name, category in (("USER.md", Category.USER_PREFERENCE), ("MEMORY.md", Category.LEARNED_PATTERN)):
        if (text := home.text(f"{agent.workspace}/{name}")) is not None:
            add_memories(draft, text, Memories(agent.slug, category, owner, now))
    for file in home.below(f"{agent.workspace}/memory"):
        stem = file.rpartition("/")[2].removesuffix(".md")
        if file.endswith(".md") and (text := home.text(file)) is not None:
            day = _DAY.match(stem)
            category = Category.IMPORTANT_EVENT if day else Category.LEARNED_PATTERN
            at = (moment(day[0]) if day else None) or now
            add_memories(draft, text, Memories(agent.slug, category, owner, at, before=day[0] if day else ""))


# -- schedules -----------------------------------------------------------------------------------------------------------


def _jobs(draft: Draft) -> dict[str, Row]:
    """Return the jobs by their ids, from the file of older versions and from the database."""
    found = dict[str, Row]()
    for name in ("cron/jobs.json", "cron/jobs.json.migrated"):
        found |= {as_text(job.get("id")): job for job in map(as_map, as_list(draft.home.values(name).get("jobs")))}
    columns = ("sort_order", "job_id", "job_json", "enabled", "agent_id")
    for _, row in draft.home.rows(_STATE, {"cron_jobs": columns}):
        try:
            job = as_map(json.loads(row["job_json"]))
        except (TypeError, ValueError, RecursionError):
            draft.home.leave("schedules", as_text(row["job_id"]), "its row in the database is not JSON")
            continue
        agent = {"agentId": row["agent_id"]} if row["agent_id"] else {}
        found[as_text(row["job_id"])] = {**agent, **job, "enabled": bool(row["enabled"])}
    return found


def _add_jobs(draft: Draft, slugs: Mapping[str, str], main: str, zone: str | None) -> None:
    jobs = _jobs(draft)
    for key, job in sorted(jobs.items(), key=lambda each: (moment(each[1].get("createdAtMs")) or 0, each[0])):
        label = as_text(job.get("name")) or key
        agent = slugs.get(as_text(job.get("agentId")) or main)
        payload, schedule = as_map(job.get("payload")), as_map(job.get("schedule"))
        if agent is None:
            draft.home.leave("schedules", label, f"its agent {as_text(job.get('agentId'))} does not exist in the home")
        elif payload.get("kind") not in {"agentTurn", "systemEvent"}:
            why = f"it has work of the kind {as_text(payload.get('kind'))[:40]!r} and no prompt; use a workflow instead"
            draft.home.leave("schedules", label, why)
        elif (times := times_of(draft, label, schedule)) is not None:
            prompt = as_text(payload.get("message") or payload.get("text"))
            timezone = as_text(schedule.get("tz")) or zone
            place, enabled = _place(draft, label, as_map(job.get("delivery")), payload), job.get("enabled") is not False
            add_job(draft, Job(key, agent, label, times, timezone, prompt, place, enabled))
            if job.get("trigger"):
                draft.home.leave(
                    "schedules",
                    label,
                    "the script that decides whether the job runs is not imported, so Arvis runs the job at every time",
                )


def _place(draft: Draft, label: str, delivery: Row, payload: Row) -> Place | None:
    """Return the place for a job's answers. None means the dashboard."""
    platform = as_text(delivery.get("channel") or payload.get("channel"))
    target = _TARGET.fullmatch(as_text(delivery.get("to") or payload.get("to")))
    if delivery.get("mode") == "webhook":
        draft.home.leave(
            "schedules", label, "OpenClaw sends its answers to a web address, but Arvis sends them to the dashboard"
        )
        return None
    if platform in {"", "last", "webchat"} or target is None:
        return None
    if target["kind"] == "user" and platform != "telegram":
        draft.home.leave(
            "schedules", label, "Arvis cannot find the direct chat for its answers, so its answers go to the dashboard"
        )
        return None
    return place_in(platform, target["chat"], target["thread"] or "")


def _add_heartbeat(draft: Draft, config: Row, agent: Found, zone: str | None) -> None:
    text = tasks_in(draft.home.text(f"{agent.workspace}/HEARTBEAT.md") or "")
    if not text:
        return
    defaults = as_map(as_map(as_map(config.get("agents")).get("defaults")).get("heartbeat"))
    every = as_text({**defaults, **as_map(agent.settings.get("heartbeat"))}.get("every")) or "30m"
    parts = _INTERVAL.fullmatch(every.strip())
    enabled = parts is not None and int(parts[1]) > 0
    times = f"every {parts[1]} {parts[2] or 'm'}" if parts is not None and enabled else "every 30 m"
    name = "heartbeat"
    job = Job(name, agent.slug, name, times, zone, text, None, enabled, ScheduleKind.HEARTBEAT)
    add_job(draft, job)


# -- data that is not imported -----------------------------------------------------------------------------------------


def _leave_rest(draft: Draft, config: Row) -> None:
    for name in sorted(as_map(as_map(config.get("mcp")).get("servers"))):
        draft.home.leave(
            "tools", name, "tool servers are not imported; add this server to `mcp.servers` in config.yaml"
        )
    for name, settings in sorted(as_map(as_map(config.get("plugins")).get("entries")).items()):
        if as_map(settings).get("enabled") is not False and name not in SUPPORTED:
            draft.home.leave("plugins", name, "plugins of OpenClaw do not run in Arvis")
    if as_map(config.get("hooks")).get("enabled"):
        draft.home.leave(
            "hooks",
            "hooks",
            "webhooks are not imported; create them with `arvis webhooks create`, and update the callers",
        )
